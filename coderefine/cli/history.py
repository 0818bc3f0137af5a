"""`coderefine log | show | undo`: list earlier runs, show one, take one back."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coderefine.app.destination import Delivery
from coderefine.config import MASKED
from coderefine.core.plurals import counted
from coderefine.errors import JournalError, SurroundingsError
from coderefine.project import locate
from coderefine.reports.rows import best_try

if TYPE_CHECKING:
    from coderefine.app.run import Request
    from coderefine.core import Task
    from coderefine.git import Repository
    from coderefine.journal import Journal, Publication, Summary

RUN = click.argument("run", required=False, default="")


@click.command()
@click.option("-n", "--number", default=20, type=click.IntRange(1), help="How many (default 20).")
def log(number: int) -> int:
    """List earlier runs, newest first."""
    from itertools import islice

    from coderefine.journal import runs

    for summary in islice(runs(_mended()), number):
        click.echo(_line(summary))
    return 0


@click.command()
@RUN
@click.option("--diff", is_flag=True, help="Show the best attempt's patch too.")
@click.option("--prompts", is_flag=True, help="Show every request that was sent, and its answer.")
def show(run: str, *, diff: bool, prompts: bool) -> int:
    """Show one RUN (default: the newest): attempts, verdicts, evidence."""
    from coderefine.journal import Journal
    from coderefine.reports.run_details import render

    repository = _mended()
    journal = Journal.load(repository, run)
    attempts = journal.attempts()
    click.echo(
        "\n".join(
            render(
                journal.run,
                attempts,
                journal.outcome(),
                wrote=_result(journal),
                failed=journal.failure() and f"failed: {journal.failure()}",
                before=journal.start(path for attempt in attempts for path in attempt.patch.files),
            )
        )
    )
    if diff and (text := _diff(repository, journal)):
        click.echo(text)
    if prompts:
        _print_prompts(journal)
    return 0


def _result(journal: Journal) -> str:
    """Return what the run wrote, and the command that undoes it where that was not done yet."""
    written = journal.publication()
    return _words(written, journal.undone()) + (f"; undo: coderefine undo {journal.run}" if written else "")


def _print_prompts(journal: Journal) -> None:
    """Print each request, with its secrets replaced, and its answer."""
    from coderefine.cli.screen import prompt_text
    from coderefine.llm.request import Answer, sent

    for record in journal.answers():
        request = sent(record)
        if request:
            click.echo(prompt_text(request))
        for answer in Answer.load(record).each:
            click.echo(f"[answer]\n{answer.text}")


@click.command()
@RUN
def undo(run: str) -> int:
    """Take back what RUN (default: the newest that wrote something) wrote, if the files are still as it left them."""
    from coderefine.journal import Journal, lock, runs
    from coderefine.publishers import undo as take_back

    with lock(_repository()):
        repository = _mended()
        last = run or next((item.run for item in runs(repository) if item.publication), "")
        if not last:
            raise JournalError("no run has written anything that is not undone already")
        click.echo(take_back(Journal.load(repository, last)))
    return 0


def recorded(run: str) -> tuple[Journal, tuple[str, ...], Request]:
    """Return the journal of a finished run, its paths, and its request with the configuration it had."""
    from coderefine.app.run import Request
    from coderefine.journal import Journal

    repository = _mended()
    journal = Journal.load(repository, run)
    if journal.ending() is None:
        raise JournalError(f"run {journal.run} has not ended: `coderefine resume {journal.run}` goes on with it")
    meta = journal.meta
    given = _table(meta.config["flags"])
    _check_task(journal, given)
    flags = {**given, **_table(meta.config.get("settings")), **({"task": given["task"]} if "task" in given else {})}
    asked = Request(meta.argv, {key: _frozen(value) for key, value in flags.items()}, Delivery(diff=True))
    return journal, _standing(repository.top, meta.scope), asked


def unfinished(run: str) -> tuple[Journal, tuple[str, ...], Request]:
    """Return the journal of RUN, its paths and its request.

    Raises JournalError when it cannot be resumed.
    """
    from coderefine.app.run import Request
    from coderefine.journal import Journal

    repository = _mended()
    journal = Journal.load(repository, run)
    meta = journal.meta
    if ended := _ended(journal):
        raise JournalError(f"run {journal.run} has ended ({ended}); start a new one with `coderefine fix`")
    if picked := meta.config.get("picked"):
        raise JournalError(f"run {journal.run} was to write a picked patch: pick it again (coderefine pick {picked} N)")
    if meta.head != repository.head().sha:
        raise JournalError(f"HEAD moved since run {journal.run} began; start a new one with `coderefine fix`")
    asked = meta.config
    _check_task(journal, _table(asked["flags"]))
    record = Request(
        meta.argv,
        _with_login({key: _frozen(value) for key, value in _table(asked["flags"]).items()}),
        Delivery(**_table(asked["delivery"])),  # type: ignore[arg-type]
        model=bool(asked["model"]),
    )
    return journal, _standing(repository.top, meta.scope), record


PROGRAM = "a program's: "


def of_program(task: Task) -> str:
    """Return how a task is recorded that exists only in the program which made it."""
    return f"{PROGRAM}{task.name}"


def _check_task(journal: Journal, flags: Mapping[str, object]) -> None:
    """Raise JournalError for a run whose task cannot be loaded again."""
    task = str(flags.get("task", ""))
    if task.startswith(PROGRAM):
        name = task.removeprefix(PROGRAM)
        raise JournalError(
            f"run {journal.run} had a task that a program made ({name}), and only that program can run it again: "
            "make it a TOML file or an entry point to have it here"
        )


def _standing(top: Path, scope: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of a run; for a file that is not written yet, its folder."""
    wanted = (top / path for path in scope)
    return tuple(str(next(place for place in (path, *path.parents) if place.exists())) for path in wanted)


def _with_login(flags: dict[str, object]) -> dict[str, object]:
    """Return `flags` without an address whose password was not recorded.

    Raises JournalError when the environment has no address.
    """
    if MASKED not in str(flags.get("base_url", "")):
        return flags
    if not any(os.environ.get(name) for name in ("CODEREFINE_BASE_URL", "OPENAI_BASE_URL")):
        raise JournalError("the password in --base-url is not recorded: set CODEREFINE_BASE_URL and resume again")
    return {key: value for key, value in flags.items() if key != "base_url"}


def _ended(journal: Journal) -> str:
    """Return how the run ended; "" when there is something left to do.

    That is so when it was interrupted, or its patch is not written yet.
    """
    from coderefine.core import Stop

    ending = journal.ending()
    if ending is None or ending.stop is Stop.INTERRUPTED:
        return ""
    to_write = _table(journal.meta.config["delivery"])
    recorded = not (to_write["diff"] or to_write["patch"])
    return "" if ending.best and recorded and not journal.last_published() else ending.stop.value


def _mended() -> Repository:
    """Return the repository, after an interrupted publication was finished or taken back."""
    from coderefine.publishers import recover

    repository = _repository()
    if said := recover(repository):
        click.echo(f"note: {said}", err=True)
    return repository


def _table(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _repository() -> Repository:
    from coderefine.git import Repository

    place = locate([], Path.cwd())
    if place.git_dir is None:
        raise SurroundingsError(f"{place.top} is not in a git repository, so there are no runs")
    return Repository.open(place.top)


def _line(summary: Summary) -> str:
    """Return one line of the log: `260101-101500-ab12  2026-01-01 10:15  clean  4 attempts  wrote src/cart.py`."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.meta.created))
    if summary.trouble:
        return f"{summary.run}  {summary.trouble}"
    stop = summary.stop.value if summary.stop else "killed: coderefine resume goes on"
    parts = (
        summary.run,
        when,
        f"failed: {summary.failure}" if summary.failure else stop,
        counted(max(summary.attempts - 1, 0), "attempt"),
        _words(summary.publication, summary.undone),
    )
    return "  ".join(part for part in parts if part)


def _words(done: Publication | None, undone: Publication | None) -> str:
    """Say what was written, and whether it still is."""
    if done is None:
        return f"undone: it {_words(undone, None)}" if undone else ""
    if done.how == "branch":
        return f"committed {(done.commit or '')[:10]} on the branch {(done.ref or '').removeprefix('refs/heads/')}"
    what = ", ".join(change.path for change in done.changes)
    return f"committed {done.commit[:10]}: {what}" if done.how == "commit" and done.commit else f"wrote {what}"


def _diff(repository: Repository, journal: Journal) -> str:
    """Return the diff from the run's start to its best attempt, or to the best try where nothing was proved.

    Untracked files are in no commit; their content comes from the journal.
    """
    from coderefine.git import diff_files

    outcome = journal.outcome()
    best = outcome.best if outcome and outcome.best.number else best_try(journal.attempts())
    if best is None:
        return ""
    files = best.patch.files
    return diff_files(repository, journal.commit(0), journal.start(files), files).decode("utf-8", "replace")
