"""One run from start to end: lock, journal, refine, publish, report."""

from __future__ import annotations

import contextlib
import os
import posixpath
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING

from coderefine.app.destination import Delivery
from coderefine.app.project import Setup, advice, critics, proposers, views
from coderefine.cli.decisions import unwritten, with_patch
from coderefine.cli.options import flags
from coderefine.cli.screen import Delivered
from coderefine.config import masked
from coderefine.core import EMPTY, Attempt, Critic, Event, Outcome, Stop, Views
from coderefine.errors import CoderefineError, PublishError, SurroundingsError

if TYPE_CHECKING:
    from coderefine.cli.screen import Screen
    from coderefine.config import Config
    from coderefine.git import Repository
    from coderefine.journal import Journal
    from coderefine.llm.client import Client
    from coderefine.loop.behaviour import Keeper
    from coderefine.loop.fast_proof import FastProof
    from coderefine.loop.special_cases import Guard
    from coderefine.loop.state import Parts
    from coderefine.publishers import Snapshot
    from coderefine.workspace.originals import Originals

UNRECORDED = frozenset({"base_url", "extra_headers", "commands", "criteria", "performance", "cost_alone"})
"""Settings that may hold secrets, are tables of their own, or are derived from others."""
NO_KEYS = frozenset({"no_model", "show_prompts", *(item.name for item in fields(Delivery))})
"""Flags that are not configuration keys."""
EXITS = {Stop.ENVIRONMENT: 2, Stop.INTERRUPTED: 130}


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for, in a form that can be recorded and resumed. `picked`: the run that offered the patch."""

    argv: tuple[str, ...]
    flags: Mapping[str, object]
    delivery: Delivery
    model: bool = True
    show_prompts: bool = False
    picked: str = ""

    @classmethod
    def of(cls, given: Mapping[str, object], **more: object) -> Request:
        """Make the request of a command line with the flags of LOOP and destination.OPTIONS.

        `more` are keys that the command itself sets. Raises UsageError when flags exclude each other.
        """
        keys = {name: value for name, value in given.items() if name not in NO_KEYS}
        ways = (not given["no_model"], bool(given["show_prompts"]))
        return cls(tuple(sys.argv[1:]), {**flags(keys), **more}, Delivery.of(given), *ways)

    @property
    def record(self) -> Mapping[str, object]:
        flags = {key: masked(value) if isinstance(value, str) else value for key, value in self.flags.items()}
        picked = {"picked": self.picked} if self.picked else {}
        return {"flags": flags, "delivery": asdict(self.delivery), "model": self.model, **picked}


def mend(setup: Setup, asked: Request, screen: Screen, *, earlier: Journal | None = None) -> int:
    """Run the loop, publish its result, and return the exit code.

    `earlier`: the run to resume. Raises PublishError, after the report, when the tree changed meanwhile.
    """
    from coderefine.journal import lock, prune
    from coderefine.publishers import recover

    repository = open_repository(setup)
    asked.delivery.check(repository, setup.config)
    asked.delivery.check_scope(repository, (*setup.place.scope, *setup.task.judged))
    with lock(repository):
        if said := recover(repository):
            screen.listen(Event("note", said))
        journal = earlier or new_journal(repository, setup, asked)
        with _owning_up(journal):
            outcome, delivered = ran(setup, asked, screen, journal)
            prune(repository)
    with _owning_up(journal):
        screen.outcome(outcome, delivered, journal.run)
    if delivered.refused:
        raise delivered.refused
    return exit_code(outcome)


@contextlib.contextmanager
def _owning_up(journal: Journal) -> Iterator[None]:
    """On an interrupt, report what became of the patch and how to go on; record an error as the end of the run."""
    try:
        yield
    except KeyboardInterrupt:
        if journal.publication():
            said = f"interrupted after the patch was written; undo: coderefine undo {journal.run}"
        else:
            said = f"interrupted; nothing was written; coderefine resume {journal.run} goes on"
        raise KeyboardInterrupt(said) from None
    except CoderefineError as error:
        journal.failed(str(error))
        raise


def open_repository(setup: Setup) -> Repository:
    from coderefine.git import Repository

    if setup.place.git_dir is None:
        raise SurroundingsError(
            f"{setup.place.top} is not in a git repository, and a patch needs one to be taken back: "
            "run `git init` (`coderefine check` works without)"
        )
    return Repository.open(setup.place.top)


def exit_code(outcome: Outcome) -> int:
    """Return 0 when no finding is left, in the tree or with the published patch."""
    return EXITS.get(outcome.stop, 0 if outcome.clean else 1)


def new_journal(repository: Repository, setup: Setup, asked: Request) -> Journal:
    from coderefine.journal import Journal, Meta

    meta = Meta(
        argv=tuple(map(masked, asked.argv)),
        config={**asked.record, "settings": _settings(setup.config)},
        head=repository.head().sha,
        scope=setup.place.scope,
    )
    return Journal.create(repository, meta)


def _settings(config: Config) -> Mapping[str, object]:
    """Return the settings that decide a run, without secrets, so that a replay needs neither file nor environment."""
    named = {item.name: getattr(config, item.name) for item in fields(config) if item.name not in UNRECORDED}
    return {name: value for name, value in named.items() if value is not None}


def ran(setup: Setup, asked: Request, screen: Screen, journal: Journal) -> tuple[Outcome, Delivered]:
    """Run the loop, record its outcome and publish it. The caller holds the lock of the repository.

    Files that a task adds to the proved patch are not recorded, because they are not proved.
    """
    from coderefine.publishers import Snapshot
    from coderefine.workspace.originals import Originals

    originals = Originals(setup.place.top)
    under = asked.delivery.under(journal.repository)
    journal = replace(journal, under=under)
    snapshot = Snapshot(journal, journal.repository.head(), originals, under)
    if under:
        setup.listen(
            Event("note", f"your working tree differs from HEAD in {_differing(under)}: HEAD is what is proved")
        )
    with reachable(setup, asked, screen, journal) as client:
        outcome, beside = refined(setup, client, journal, originals, under)
    journal.finish(outcome)
    return outcome, _delivered(setup, asked, outcome, beside, snapshot)


def _differing(under: Mapping[str, bytes | None]) -> str:
    """Name the files of the working tree that differ from the tree that is checked, or are not in it."""
    from coderefine.judge import listed

    return listed(tuple(f"{path} (untracked)" if data is None else path for path, data in sorted(under.items())))


def refined(
    setup: Setup,
    client: Client | None,
    journal: Journal | None,
    originals: Originals,
    under: Mapping[str, bytes | None] = EMPTY,
) -> tuple[Outcome, Mapping[str, bytes]]:
    """Run the loop from views to proof; return its outcome and the files to publish with its patch.

    Nothing is recorded without a `journal`. `under`: where the tree to check differs from the working tree.
    """
    from coderefine.loop.refine import refine
    from coderefine.workspace.snapshot_views import SnapshotViews

    with views(setup) as opened:
        judged = SnapshotViews(opened, under) if under else opened
        _announce_measure(setup)
        parts = assembled(setup, judged, client, journal, originals, under=under)
        if client is not None:
            client.preload()
        outcome = refine(parts)
        return outcome, _beside(parts.advice, outcome) if setup.task.drafted else {}


def _announce_measure(setup: Setup) -> None:
    """Announce the files that the benchmark command runs: no patch may change them."""
    measure = setup.config.performance.protected if setup.task.name == "performance" else ()
    for name in (glob.removeprefix("**/") for glob in measure):
        if (setup.place.root / name).is_file():
            told = (
                f"{name} is named by the benchmark command ([tool.coderefine.performance] run): no patch may change it"
            )
            setup.listen(Event("note", told))


def _beside(advice: Sequence[Critic], outcome: Outcome) -> Mapping[str, bytes]:
    from coderefine.critics.drafted import Drafted

    drafts = [critic.beside(outcome.best) for critic in advice if isinstance(critic, Drafted)]
    return {path: data for files in drafts for path, data in files.items()}


def assembled(
    setup: Setup,
    opened: Views,
    client: Client | None,
    journal: Journal | None,
    originals: Originals,
    *,
    under: Mapping[str, bytes | None] = EMPTY,
) -> Parts:
    """Assemble everything that the loop needs.

    `under`: files that have another content in the views than in the user's tree.
    """
    from coderefine.loop.state import Parts, forget
    from coderefine.loop.strength import Strength

    project = (setup.place, setup.interpreter, setup.config)
    earlier = _earlier(journal, under)

    def original(path: str) -> bytes | None:
        return under[path] if path in under else originals[path]

    return Parts(
        views=opened,
        critics=critics(setup),
        proposers=proposers(setup, client, under),
        original=original,
        reason=setup.protection.reason,
        helpers=setup.protection.helpers,
        scope=setup.place.scope,
        roots=_roots(setup),
        modules=setup.interpreter.modules(setup.place.top),
        limits=setup.config.limits,
        strength=Strength(*project),
        behaviour=_behaviour(setup, earlier) if setup.task.keeps else None,
        special=_special(setup, earlier),
        listen=setup.listen,
        record=journal.attempt if journal else forget,
        outside=originals.outside,
        edited=originals.edited,
        advice=advice(setup, client, original, earlier),
        task=setup.task,
        accept_plausible=setup.config.accept == "plausible",
        fast=_fast(setup, under) if setup.config.fast_proof else None,
    )


def _earlier(journal: Journal | None, under: Mapping[str, bytes | None]) -> tuple[Attempt, ...]:
    """Return the attempts of a run that is resumed or replayed on the tree that it began with."""
    found = journal.attempts() if journal else ()
    if journal is None or not found:
        return found
    from coderefine.journal.run_list import files_at_start

    return found if files_at_start(journal).items() <= under.items() else ()


def _behaviour(setup: Setup, earlier: Sequence[Attempt]) -> Keeper:
    from coderefine.loop.behaviour import Behaviour, Recalled

    live = Behaviour(setup.place, setup.interpreter, setup.config)
    return Recalled(live, earlier) if earlier else live


def _special(setup: Setup, earlier: Sequence[Attempt]) -> Guard:
    from coderefine.loop.special_cases import Remembered, SpecialCases

    live = SpecialCases(setup.place, setup.interpreter, setup.config)
    return Remembered(live, earlier) if earlier else live


def _fast(setup: Setup, under: Mapping[str, bytes | None]) -> FastProof:
    """Choose a proof's tests, also by the hook's coverage map where that is about the tree to check."""
    from coderefine.app.hook_cache import same_with
    from coderefine.loop.fast_proof import FastProof, none_same

    protection = setup.protection
    same = none_same if under else partial(same_with, setup)
    return FastProof(setup.place.top, protection.is_test, protection.plugins, under, same)


def _roots(setup: Setup) -> tuple[str, ...]:
    """Return the folders on the project's import path: pytest's rootdir, `src`, and pytest's `pythonpath`."""
    prefix = setup.place.prefix
    return tuple(
        posixpath.normpath(posixpath.join(prefix, name)) for name in ("", "src", *setup.protection.settings.pythonpath)
    )


@contextlib.contextmanager
def reachable(setup: Setup, asked: Request, screen: Screen, journal: Journal | None) -> Iterator[Client | None]:
    """Open the model's client where a model is wanted and configured, else yield None.

    To show prompts neither is needed; then nothing is sent.
    """
    from coderefine.llm.access import configured

    wanted = asked.model and setup.config.max_iterations > 0 and configured(setup.config, os.environ)
    if not wanted and not asked.show_prompts:
        yield None
        return
    from coderefine.llm.access import check_price
    from coderefine.llm.client import Client

    if wanted:
        check_price(setup.config)
    show = screen.prompt if asked.show_prompts else None
    with Client(setup.config, memory=journal, listen=setup.listen, show=show, preview=not wanted) as client:
        yield client


def _delivered(
    setup: Setup, asked: Request, proved: Outcome, beside: Mapping[str, bytes], snapshot: Snapshot
) -> Delivered:
    """Publish the patch and return what was done.

    Nothing is published where no attempt is better than the start, or after an interrupt.
    """
    from coderefine.publishers import Diff

    run = snapshot.journal.run
    if not proved.best.number:
        stopped = f"nothing; coderefine resume {run} goes on" if proved.stop is Stop.INTERRUPTED else ""
        return Delivered(stopped or how_to_pick(proved, run))
    outcome = _with(proved, beside)
    diff = Diff(snapshot).text(outcome)
    before = {path: snapshot.judged(path) for path in proved.best.patch.files}
    if outcome.stop is Stop.INTERRUPTED:
        said = f"nothing; the best patch so far is kept: coderefine resume {run} goes on with it"
        return Delivered(said, diff, before=before)
    apart = with_patch(outcome) if asked.delivery.apart else ""
    if asked.delivery.diff:
        return Delivered(diff=diff, pipe=True, before=before, decided=apart)
    try:
        line = asked.delivery.publisher(snapshot, setup.config).publish(outcome)
        return Delivered(line, diff, before=before, decided=apart)
    except PublishError as error:
        said = f"nothing; the patch is kept: coderefine show {run} --diff"
        return Delivered(said, diff, refused=error, before=before, decided=unwritten(outcome))


def how_to_pick(outcome: Outcome, run: str) -> str:
    """What to do about the offers of a run that wrote nothing; "" without any."""
    from coderefine.reports.rows import answer_template

    if not outcome.offers:
        return ""
    that = answer_template(outcome.offers)
    more = f', or coderefine pick {run} --that "{that}" keeps those that agree' if that else ""
    return f"nothing: coderefine pick {run} N proves and writes one of the offered patches{more}"


def _with(outcome: Outcome, beside: Mapping[str, bytes]) -> Outcome:
    """Return `outcome` with more files in its patch."""
    patch = outcome.best.patch
    return replace(outcome, best=replace(outcome.best, patch=replace(patch, files={**patch.files, **beside})))
