"""`coderefine log | show | undo`: what earlier runs did, and taking it back."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coderefine.cli.delivery import Delivery
from coderefine.config import MASKED
from coderefine.errors import JournalError, SurroundingsError
from coderefine.project import locate

if TYPE_CHECKING:
    from coderefine.cli.session import Request
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
    from coderefine.reports import runs as report

    repository = _mended()
    journal = Journal.load(repository, run)
    click.echo(report.render(journal.run, journal.attempts(), journal.outcome(), _words(journal.publication())))
    if diff and (text := _diff(repository, journal)):
        click.echo(text)
    if prompts:
        _print_prompts(journal)
    return 0


def _print_prompts(journal: Journal) -> None:
    """What was sent, secrets replaced as they were then, and what came back."""
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
    """Take back what RUN (default: the newest that wrote something) wrote, if it is still as it was written."""
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
    """The journal of a run that has ended, its paths, and what it was asked, with the configuration it had."""
    from coderefine.cli.session import Request
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
    """The journal of RUN, its paths and what it was asked. Raises JournalError when it cannot go on."""
    from coderefine.cli.session import Request
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
    """How a task is recorded that only the program which made it has."""
    return f"{PROGRAM}{task.name}"


def _check_task(journal: Journal, flags: Mapping[str, object]) -> None:
    """Raises JournalError for a run whose task nobody can find again."""
    task = str(flags.get("task", ""))
    if task.startswith(PROGRAM):
        name = task.removeprefix(PROGRAM)
        raise JournalError(
            f"run {journal.run} had a task that a program made ({name}), and only that program can run it again: "
            "make it a TOML file or an entry point to have it here"
        )


def _standing(top: Path, scope: Sequence[str]) -> tuple[str, ...]:
    """The paths of a run; for one that is yet to be written, the folder it will be in."""
    wanted = (top / path for path in scope)
    return tuple(str(next(place for place in (path, *path.parents) if place.exists())) for path in wanted)


def _with_login(flags: dict[str, object]) -> dict[str, object]:
    """A server's password is not recorded: then the address must be in the environment."""
    if MASKED not in str(flags.get("base_url", "")):
        return flags
    if not any(os.environ.get(name) for name in ("CODEREFINE_BASE_URL", "OPENAI_BASE_URL")):
        raise JournalError("the password in --base-url is not recorded: set CODEREFINE_BASE_URL and resume again")
    return {key: value for key, value in flags.items() if key != "base_url"}


def _ended(journal: Journal) -> str:
    """How it ended; empty when there is something left to do: it was cut short, or what it proved is not written."""
    from coderefine.core import Stop

    ending = journal.ending()
    if ending is None or ending.stop is Stop.INTERRUPTED:
        return ""
    to_write = _table(journal.meta.config["delivery"])
    recorded = not (to_write["diff"] or to_write["patch"])
    return "" if ending.best and recorded and not journal.last_published() else ending.stop.value


def _mended() -> Repository:
    """The repository, once a publication that was cut short is finished or taken back."""
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
    """`260101-101500-ab12  2026-01-01 10:15  clean  4 attempts  wrote src/cart.py`."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.meta.created))
    if summary.trouble:
        return f"{summary.run}  {summary.trouble}"
    stop = summary.stop.value if summary.stop else "killed: coderefine resume goes on"
    tried = max(summary.attempts - 1, 0)
    wrote = _words(summary.publication)
    return f"{summary.run}  {when}  {stop}  {tried} attempt{'' if tried == 1 else 's'}{wrote and '  ' + wrote}"


def _words(done: Publication | None) -> str:
    """What was written, in a few words."""
    if done is None:
        return ""
    what = done.ref.removeprefix("refs/heads/") if done.how == "branch" and done.ref else ""
    return f"wrote {what or ', '.join(change.path for change in done.changes)}"


def _diff(repository: Repository, journal: Journal) -> str:
    """From the run's baseline to its best attempt; untracked files are in no commit, but in the journal."""
    from coderefine.git import diff_files

    outcome = journal.outcome()
    if outcome is None or not outcome.best.number:
        return ""
    files = outcome.best.patch.files
    return diff_files(repository, journal.commit(0), journal.start(files), files).decode("utf-8", "replace")
