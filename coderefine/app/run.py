"""The lifecycle of a run: lock, recover, journal, loop, publish, finish, prune, report.

`fix`, `write`, `pick`, `resume`, the hook, `suggest` and the library all call `run`; they differ in the tree, the scope
and the publisher.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.app.engine import Contents, Show, open_loop
from coderefine.app.project import Project
from coderefine.app.request import Destination, Request
from coderefine.config import NO_KEYS, masked
from coderefine.core import EMPTY, Attempt, Event, Outcome, Proposer, Stop, Views
from coderefine.core.plurals import listed
from coderefine.errors import CoderefineError, GitError, PublishError, SurroundingsError, UnrecordedError, note, noted
from coderefine.git import Repository
from coderefine.journal import Journal, Meta, lock, prune, running
from coderefine.loop.refine import refine
from coderefine.loop.state import Parts
from coderefine.project import Place, locate
from coderefine.project.protection import BENCHMARK
from coderefine.publishers import Diff, Snapshot, recover
from coderefine.reports.rows import answer_template, shown_patch
from coderefine.workspace.originals import Originals

if TYPE_CHECKING:
    from coderefine.publishers.hosts.bundle import Bundle

UNRECORDED = frozenset({"base_url", "extra_headers", "commands", "criteria", "performance", *NO_KEYS})
"""Settings that are not recorded: they may contain secrets, are separate tables, or are derived from others."""


@dataclass(frozen=True, slots=True)
class Proved:
    """A proved patch, in `outcome`, to publish. `diff`: its text; `parts`: the components that proved the patch."""

    outcome: Outcome
    diff: bytes
    parts: Parts
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Published:
    """The result of publishing. `line`: a text about it.

    `refused`: why the patch could not be written. `bundle`: the results to show on a pull request.
    """

    line: str = ""
    refused: PublishError | GitError | None = None
    bundle: Bundle | None = None


Publish = Callable[[Proved], Published]
"""A function that publishes a proved patch; if it raises PublishError or GitError, the run still ends with a report."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run: its outcome and what was published.

    `run`: name of the run. `diff`: text of the patch. `before`: content of the patched files when the run began.
    `written`: whether the working tree, the index or a branch was changed.
    """

    outcome: Outcome
    run: str = ""
    published: Published = Published()
    diff: bytes = b""
    before: Contents = field(default_factory=lambda: EMPTY)
    written: bool = False
    snapshot: Snapshot | None = None


def run(
    project: Project,
    request: Request,
    report: Callable[[RunResult], None],
    *,
    publish: Publish | None = None,
    under: Contents | None = None,
    views: Views | None = None,
    proposers: Sequence[Proposer] | None = None,
    base: Contents = EMPTY,
    earlier: Journal | None = None,
    show: Show | None = None,
    loop: Callable[[Parts], Outcome] = refine,
) -> RunResult:
    """Run the loop on `project`; publish its result, report it and return it.

    `publish` publishes a proved patch. `under`: files that differ between the working tree and the tree to check, with
    their content there. By default, both follow from the destination of `request`. For `views`, `proposers`, `show` see
    `open_loop`. `base`: the content of the files from which a given patch was made. `earlier`: the run to resume.
    `loop`: the function that returns the outcome.

    Raises PublishError if a file differs from `base`, or if an interrupted publication was completed or undone first
    though `under` is given. If publishing is refused, raises the refusal after the report.
    """
    place, destination = project.place, request.destination
    if place.git_dir is None:
        raise _without_repository(place)
    repository = Repository.open(place.top)
    destination.check(repository, project.config, (*place.scope, *project.task.judged))
    with lock(repository):
        if recovered := recover(repository):
            if under is not None:
                raise PublishError(f"{recovered}, so the tree differs from the one that was read: run again")
            project.listen(Event("note", recovered))
        journal = earlier.resumed() if earlier else _new_journal(repository, project, request)
        with running(journal), _end_recorded(journal, request):
            originals = Originals(place.top)
            if under is None:
                under = _committed(project, destination, repository)
            _note_protected_benchmarks(project)
            journal = replace(journal, under=under)
            snapshot = Snapshot(journal, repository.head(), originals, under)
            _check_base(snapshot, base)
            with open_loop(
                project, journal, originals, under, model=request.model, show=show, views=views, proposers=proposers
            ) as parts:
                outcome = loop(parts)
                journal.finish(outcome)
                next_step = _how_to_continue(journal, request)
                result = _published(outcome, parts, snapshot, publish or _publisher(project, destination), next_step)
            prune(repository)
    try:
        with _end_recorded(journal, request, result.published.line):
            report(result)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SurroundingsError(noted(error, f"the report could not be printed: {error.strerror}")) from error
    if result.published.refused:
        raise result.published.refused
    return result


def run_unrecorded(project: Project) -> Outcome:
    """Run the loop without a git repository: nothing is recorded, so nothing can be undone."""
    with open_loop(project, None, Originals(project.place.top)) as parts:
        return refine(parts)


def _new_journal(repository: Repository, project: Project, request: Request) -> Journal:
    """Begin a record with the settings of the run, so that a replay needs no configuration file and no variables.

    Settings that may contain secrets are left out.
    """
    names = [item.name for item in fields(project.config) if item.name not in UNRECORDED]
    settings = {name: value for name in names if (value := getattr(project.config, name)) is not None}
    meta = Meta(
        argv=tuple(map(masked, request.argv)),
        config={**request.record, "settings": settings},
        head=repository.resolve("HEAD"),
        scope=project.place.scope,
    )
    return Journal.create(repository, meta)


@contextmanager
def _end_recorded(journal: Journal, request: Request, published: str = "") -> Iterator[None]:
    """Record a CoderefineError in the block as the end of the run; add a text to other exceptions. Raise all again.

    The text says whether the patch was written and, after an interrupt, how to continue. `published`: a text about
    what was published before the block.
    """
    try:
        yield
    except KeyboardInterrupt:
        if journal.publication():
            line = f"interrupted after the patch was written; undo: coderefine undo {journal.run}"
        else:
            line = f"interrupted; nothing was written; {_how_to_continue(journal, request)}"
        raise KeyboardInterrupt(line) from None
    except CoderefineError as error:
        journal.failed(str(error))
        raise
    except Exception as error:
        undo = f"the patch was written; undo: coderefine undo {journal.run}"
        note(error, undo if journal.publication() else published or "nothing was written")
        raise


def _how_to_continue(journal: Journal, request: Request) -> str:
    return f"run `{request.again}` again" if request.again else f"coderefine resume {journal.run} continues it"


def _without_repository(place: Place) -> SurroundingsError:
    """Return the error for paths that are in no git repository."""
    here = locate([], Path.cwd())
    if here.git_dir is not None and here.top.is_relative_to(place.top):
        return SurroundingsError(f"{place.top} is outside this repository ({here.top}), and in no other one")
    return SurroundingsError(
        f"{place.top} is not in a git repository, so a patch could not be undone: "
        "run `git init` (`coderefine check` works without)"
    )


def _committed(project: Project, destination: Destination, repository: Repository) -> Contents:
    """Return the files in which the tree to prove differs from the working tree; report them in a note."""
    under = destination.under(repository)
    if under:
        files = (f"{path} (untracked)" if data is None else path for path, data in sorted(under.items()))
        text = f"your working tree differs from HEAD in {listed(tuple(files))}: HEAD is what is proved"
        project.listen(Event("note", text))
    return under


def _check_base(snapshot: Snapshot, base: Contents) -> None:
    """Raise PublishError if a file no longer has its content in `base`.

    The patch was applied to that content, so writing it would undo the newer change.
    """
    if changed := [path for path, data in base.items() if snapshot.judged(path) != data]:
        raise PublishError(f"{changed[0]} changed after it was read, so nothing was written: run again")


def _note_protected_benchmarks(project: Project) -> None:
    """In the performance task, report the files that the benchmark command runs: no patch may change them."""
    programs = project.protection.programs if project.task.name == "performance" else {}
    for who, named in programs.items():
        for name in sorted(named.there - project.protection.wanted) if BENCHMARK in who else ():
            project.listen(Event("note", f"{name} is named by {who}: no patch may change it"))


def _published(outcome: Outcome, parts: Parts, snapshot: Snapshot, publish: Publish, next_step: str) -> RunResult:
    """Publish the patch and return the end of the run. `next_step`: a text on what to do after an interrupt.

    Nothing is published if no attempt is better than the start, or after an interrupt. Drafted tests are published with
    the patch, but not recorded as part of it, because they are not proved.
    """
    journal, best = snapshot.journal, outcome.best
    interrupted = outcome.stop is Stop.INTERRUPTED
    before = {path: snapshot.judged(path) for path in shown_patch(outcome).files}
    if not best.number:
        line = f"nothing; {next_step}" if interrupted else _how_to_pick(outcome, journal.run)
        return RunResult(outcome, journal.run, Published(line), before=before, snapshot=snapshot)
    files = {**best.patch.files, **_drafted_tests(parts, best)}
    whole = replace(outcome, best=replace(best, patch=replace(best.patch, files=files)))
    diff = Diff(snapshot).text(whole)
    if interrupted:
        published = Published(f"nothing; the best patch so far is kept: {next_step}")
    else:
        published = _publish(publish, Proved(whole, diff, parts, snapshot))
    written = journal.publication() is not None or isinstance(published.refused, UnrecordedError)
    return RunResult(outcome, journal.run, published, diff, before, written, snapshot)


def _drafted_tests(parts: Parts, best: Attempt) -> Contents:
    """Return the files with the tests that a model drafted."""
    if not parts.advice:
        return EMPTY
    from coderefine.critics.drafted import Drafted  # loads the model's client

    files: dict[str, bytes | None] = {}
    for critic in parts.advice:
        files |= critic.file_for(best) if isinstance(critic, Drafted) else {}
    return files


def _publish(publish: Publish, proved: Proved) -> Published:
    """Publish the patch; if this is refused, return the refusal."""
    journal = proved.snapshot.journal
    try:
        _check_unedited(proved)
        return publish(proved)
    except UnrecordedError as error:
        return Published("the patch, but not the record of it", refused=error)
    except (PublishError, GitError) as error:
        if journal.publication() is not None:
            raise  # the patch was written, so this is no refusal
        return Published(f"nothing; the patch is kept: coderefine show {journal.run} --diff", refused=error)


def _check_unedited(proved: Proved) -> None:
    """Raise PublishError if a file of the tree that was checked was edited after its checks began.

    Its new content has no part in the proof, even if the patch does not change that file.
    """
    edited = [path for path in proved.parts.edited(proved.outcome.looked) if path not in proved.snapshot.under]
    if edited:
        raise PublishError(
            f"{listed(tuple(edited))} changed after the checks began, so nothing was written: "
            f"run again, or read the patch with `coderefine show {proved.snapshot.journal.run} --diff`"
        )


def _publisher(project: Project, destination: Destination) -> Publish:
    """Return the function that publishes to `destination`."""

    def publish(proved: Proved) -> Published:
        if destination.diff:
            return Published()
        return Published(destination.publisher(proved.snapshot, project.config).publish(proved.outcome))

    return publish


def _how_to_pick(outcome: Outcome, run: str) -> str:
    """Return a text on what to do about the offers of a run that wrote nothing; "" without offers."""
    if not outcome.offers:
        return ""
    that = answer_template(outcome.offers)
    quoted = shlex.quote(that) if set(that) & set('"$`\\!') else f'"{that}"'
    more = f", or coderefine pick {run} --that {quoted} keeps those that agree" if that else ""
    return f"nothing: coderefine pick {run} N proves and writes one of the offered patches{more}"
