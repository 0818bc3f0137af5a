"""`coderefine log | show | undo | replay`: list earlier runs, show one, undo one, repeat one from its record."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

import click

from coderefine.app import history
from coderefine.app.project import find_project
from coderefine.cli.options import OUTPUT, options
from coderefine.cli.screen import note, prompt_text, screen
from coderefine.core.plurals import counted, printable
from coderefine.journal import Journal, Summary, runs
from coderefine.llm.model_request import Answer, sent
from coderefine.reports.formats import named

RUN = click.argument("run", required=False, default="")


@click.command()
@click.option("-n", "--number", default=20, type=click.IntRange(1), help="List at most this many (default 20).")
def log(number: int) -> int:
    """List earlier runs, newest first."""
    repository = history.open_repository(note)
    for summary in islice(runs(repository), number):
        click.echo(_line(summary, str(repository.top)))
    return 0


@click.command()
@RUN
@click.option("--diff", is_flag=True, help="Show the best attempt's patch too.")
@click.option("--prompts", is_flag=True, help="Show every request that was sent, and its answer.")
@click.option(
    "--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write a page about the run."
)
def show(run: str, *, diff: bool, prompts: bool, html: Path | None) -> int:
    """Show one RUN (default: the newest): attempts, verdicts, evidence."""
    journal = Journal.load(history.open_repository(note), run)
    if html:
        html.write_text(named("html").outcome(history.recorded_report(journal)), "utf-8")
        click.echo(f"wrote {html}")
        return 0
    click.echo("\n".join(history.details(journal)))
    if diff and (text := history.best_diff(journal)):
        click.echo(text)
    if prompts:
        for record in journal.answers():
            request = sent(record)
            if request:
                click.echo(prompt_text(request))
            for answer in Answer.load(record).each:
                click.echo(f"[answer]\n{answer.text}")
    return 0


@click.command()
@RUN
def undo(run: str) -> int:
    """Take back what RUN (default: the newest that wrote something) wrote, if the files are still as it left them."""
    click.echo(history.undo(run, note))
    return 0


@click.command()
@RUN
@options(OUTPUT)
def replay(run: str, format_: str, *, quiet: bool) -> int:
    """Run RUN (default: the newest) again from its record: no request is sent, nothing is written.

    Exit code 0 when it gives the same patch, 1 when it gives another one, 2 when an answer is missing.
    """
    # The loop and the model's client, for this command only.
    from coderefine.app.replay import replay as compute_again
    from coderefine.app.run import Published, RunResult

    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, request = history.recorded(run, note)
        again = compute_again(journal, find_project(paths, request.settings, display.listen))
        if again.differing:
            line = f"replayed: another patch than run {journal.run} had: {', '.join(again.differing)}"
        else:
            line = f"replayed: the same patch as run {journal.run}, 0 requests sent; nothing was written"
        display.result(RunResult(again.outcome, journal.run, Published(line)))
        return 1 if again.differing else 0


def _line(summary: Summary, top: str) -> str:
    """Return one line of the log: `260101-101500-ab12  2026-01-01 10:15  clean  4 attempts  wrote src/cart.py`.

    The working tree is named if it is not `top`, because linked worktrees share their runs.
    """
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.meta.created))
    if summary.trouble:
        return printable(f"{summary.run}  {summary.trouble}")
    stop = summary.stop.value if summary.stop else "killed or interrupted: coderefine resume continues it"
    if summary.failure:
        stop = f"failed: {summary.failure}"
    parts = (
        summary.run,
        when,
        "running" if summary.running else stop,
        counted(max(summary.attempts - 1, 0), "attempt"),
        history.description(summary.publication, summary.undone),
        f"in {summary.meta.top}" if summary.meta.top != top else "",
    )
    return printable("  ".join(part for part in parts if part))
