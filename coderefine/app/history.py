"""Recorded runs: show or undo a run, or find a run and its request in order to resume or replay it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from coderefine.app.request import Destination, Request
from coderefine.config import MASKED
from coderefine.core import Event, Listen, Outcome, Stop, Task
from coderefine.core.plurals import listed, printable
from coderefine.errors import JournalError, SurroundingsError
from coderefine.git import Repository, diff_files
from coderefine.journal import Journal, Publication, Summary, is_running, lock, runs
from coderefine.project import locate
from coderefine.publishers import recover
from coderefine.publishers import undo as take_back
from coderefine.reports.formats import RunReport
from coderefine.reports.rows import best_try
from coderefine.reports.terminal import run_details
from coderefine.workspace.environment import sweep

PROGRAM = "a program's: "
"""Beginning of the recorded name of a task that exists only in the program which made it."""
RUNNING = "still running"
"""The text on a run that has not ended yet."""


def open_repository(listen: Listen) -> Repository:
    """Return the repository, after completing or undoing an interrupted publication and removing temporary files."""
    repository = _repository()
    sweep()
    if recovered := recover(repository):
        listen(Event("note", recovered))
    return repository


def _repository() -> Repository:
    place = locate([], Path.cwd())
    if place.git_dir is None:
        raise SurroundingsError(f"{place.top} is not in a git repository, so it has no runs: change to the repository")
    return Repository.open(place.top)


def undo(run: str, listen: Listen) -> str:
    """Undo what the run `run` wrote ("": the newest run that wrote something here); return a line for the user."""
    with lock(_repository()):
        repository = open_repository(listen)
        last = run or _newest(repository, lambda item: item.publication.top if item.publication else None)
        if not last:
            raise JournalError("nothing to undo: no run has written a patch that is not undone already")
        return take_back(Journal.load(repository, last))


def _newest(repository: Repository, place: Callable[[Summary], str | None]) -> str:
    """Return the newest run of this working tree, else of one that no longer exists, else of any other, else "".

    `place` returns the working tree of a run; None for a run that does not count. Linked worktrees share all runs. A
    working tree that no longer exists is probably this one under an earlier name.
    """
    others: dict[bool, str] = {}
    for item in runs(repository):
        where = place(item)
        if where == str(repository.top):
            return item.run
        if where is not None:
            others.setdefault(os.path.exists(where), item.run)  # noqa: PTH110 - Path.exists raises before 3.12
    return others.get(False) or others.get(True, "")


def details(journal: Journal) -> list[str]:
    """Return the lines of `coderefine show`: the run's attempts, its end, the files written, further commands."""
    attempts, unfinished = journal.attempts(), _unfinished(journal)
    written = journal.publication()
    undo_it = f"; undo: coderefine undo {journal.run}" if written else ""
    rows = run_details(
        journal.run,
        attempts,
        None if unfinished == RUNNING else journal.outcome(),
        wrote=description(written, journal.undone()) + undo_it,
        failed=journal.failure() and f"failed: {journal.failure()}",
        unfinished=unfinished,
        before=journal.start(path for attempt in attempts for path in attempt.patch.files),
    )
    return [printable(row, besides="\n\t") for row in rows]


def _unfinished(journal: Journal) -> str:
    """Return a text on a run with neither an outcome nor an error: it is still running, or it was killed."""
    if is_running(journal):
        return RUNNING
    return f"killed or interrupted: `coderefine resume {journal.run}` continues without paying twice"


def recorded_report(journal: Journal) -> RunReport:
    """Return the outcome of a recorded run; if the run did not end, its results so far.

    Raises JournalError if the run recorded no attempt.
    """
    attempts, why = journal.attempts(), journal.failure() or _unfinished(journal)
    if not attempts:
        raise JournalError(f"run {journal.run} has checked nothing: {why}")
    start = attempts[0]
    unfinished = Outcome(
        start,
        start,
        Stop.INTERRUPTED,
        why,
        remaining=start.findings,
        attempts=attempts,
    )
    end = (None if why == RUNNING else journal.outcome()) or unfinished
    patches = (*(attempt.patch for attempt in attempts), *([end.proof.patch] if end.proof else []))
    before = journal.start({path for patch in patches for path in patch.files})
    wrote = description(journal.publication(), journal.undone())
    return RunReport(end, (wrote,) if wrote else (), journal.run, before=before)


def description(done: Publication | None, undone: Publication | None) -> str:
    """Describe the publication `done` or, if it is None, the publication `undone`; return "" if both are None."""
    if done is None:
        return f"undone: it {description(undone, None)}" if undone else ""
    if done.how == "branch":
        return f"committed {(done.commit or '')[:10]} on the branch {(done.ref or '').removeprefix('refs/heads/')}"
    what = listed([item.path for item in done.changes or done.staged])  # a commit may leave all files as they are
    return f"committed {done.commit[:10]}: {what}" if done.how == "commit" and done.commit else f"wrote {what}"


def best_diff(journal: Journal) -> str:
    """Return the diff from the run's start to its best attempt; if no attempt was proved, to the best unproved attempt.

    Untracked files are in no commit; their content comes from the journal.
    """
    outcome = journal.outcome()
    best = outcome.best if outcome and outcome.best.number else best_try(journal.attempts())
    if best is None:
        return ""
    files, repository = best.patch.files, journal.repository
    found = diff_files(repository, journal.commit(0), journal.start(files), files, best.patch.programs)
    return found.decode("utf-8", "replace")


def newest_offering(listen: Listen) -> str:
    """Return the name of the newest run that offered patches here. Raises JournalError if there is none."""
    repository = open_repository(listen)
    if run := _newest(repository, lambda item: item.meta.top if item.ending and item.ending.offers else None):
        return run
    raise JournalError("no run has offered a patch: run `coderefine fix` first")


def recorded(run: str, listen: Listen) -> tuple[Journal, tuple[str, ...], Request]:
    """Return the journal of a finished run, its paths, and its request with the configuration of that time.

    Raises JournalError if the run has not ended, or its task cannot be loaded again.
    """
    repository = open_repository(listen)
    journal = Journal.load(repository, run)
    if journal.ending() is None:
        raise JournalError(f"run {journal.run} has not ended: `coderefine resume {journal.run}` continues it")
    meta = journal.meta
    given = _settings(journal, meta.config["flags"])
    settings = {**given, **_table(meta.config.get("settings")), **({"task": given["task"]} if "task" in given else {})}
    return journal, _existing(repository.top, meta.scope), Request(meta.argv, settings, Destination(diff=True))


def unfinished(run: str, listen: Listen, base_url: str | None = None) -> tuple[Journal, tuple[str, ...], Request]:
    """Return the journal of `run` ("": the run that `_newest` chooses), its paths and its request.

    `base_url`: the server of the models in place of the recorded one. Raises JournalError if the run cannot be resumed.
    """
    repository = open_repository(listen)
    journal = Journal.load(repository, run or _newest(repository, lambda item: item.meta.top))
    meta = journal.meta
    record = meta.config
    destination = Destination(**_table(record["delivery"]))  # type: ignore[arg-type]
    if repository.is_elsewhere(meta.top):
        raise JournalError(f"run {journal.run} began in the working tree {meta.top}: run resume there")
    if stop := _stop(journal, destination):
        raise JournalError(f"run {journal.run} has ended ({stop}); start a new one with `coderefine fix`")
    if again := record.get("again"):
        raise JournalError(f"run {journal.run} was about a given patch, and cannot be resumed: run `{again}` again")
    if meta.head != repository.resolve("HEAD"):
        raise JournalError(f"HEAD moved since run {journal.run} began; start a new one with `coderefine fix`")
    settings = _settings(journal, record["flags"])
    if base_url:
        settings["base_url"] = base_url
    elif MASKED in str(settings.get("base_url", "")):
        if not any(os.environ.get(name) for name in ("CODEREFINE_BASE_URL", "OPENAI_BASE_URL")):
            raise JournalError("the password in --base-url is not recorded: `coderefine resume --base-url URL`")
        del settings["base_url"]
    request = Request(meta.argv, settings, destination, model=bool(record["model"]))
    return journal, _existing(repository.top, meta.scope), request


def _stop(journal: Journal, destination: Destination) -> str:
    """Return how the run ended; "" if it was interrupted, or if its patch must still be written.

    A publication outside of the repository is not recorded, so it counts as done.
    """
    ending = journal.ending()
    if ending is None or ending.stop is Stop.INTERRUPTED:
        return ""
    recorded = destination.on_head or not destination.elsewhere
    return "" if ending.best and recorded and not journal.last_published() else ending.stop.value


def name_of(task: Task | str) -> str:
    """Return the name to record for a task; a Task object, which a Python caller passed, gets the prefix PROGRAM."""
    return task if isinstance(task, str) else f"{PROGRAM}{task.name}"


def _settings(journal: Journal, record: object) -> dict[str, object]:
    """Convert recorded settings to arguments of the configuration.

    Raises JournalError for a run whose task cannot be loaded again.
    """
    settings = _table(record)
    task = str(settings.get("task", ""))
    if task.startswith(PROGRAM):
        raise JournalError(
            f"run {journal.run} had a task that a program made ({task.removeprefix(PROGRAM)}), and only that program "
            "can run it again: make it a TOML file or an entry point to have it here"
        )
    return settings


def _table(record: object) -> dict[str, object]:
    table: Mapping[str, object] = record if isinstance(record, dict) else {}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _existing(top: Path, scope: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of a run; for a file that does not exist yet, the nearest folder that exists."""
    wanted = (top / path for path in scope)
    return tuple(str(next(place for place in (path, *path.parents) if place.exists())) for path in wanted)
