"""`coderefine pick`: prove and write one of the plausible patches that a run offered."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from coderefine.app.history import newest_offering, recorded
from coderefine.app.pick import Choice, agreeing, choices, lines_of_test, offered
from coderefine.app.project import find_project
from coderefine.app.request import Request
from coderefine.cli.fix import run_and_report
from coderefine.cli.options import DESTINATION, OUTPUT, option, options, request_of
from coderefine.cli.screen import note, screen
from coderefine.errors import UsageError
from coderefine.reports.rows import offer_headline


@click.command()
@click.argument("run", required=False, default="")
@click.argument("number", required=False, type=click.IntRange(1))
@option("--that", "EXPRESSION", "Keep the patches for which this is true: \"plural('cat') == 'cats'\".")
@option("--rename", "OLD=NEW", "Rename a function that the patch adds; may be given several times.", multiple=True)
@options(DESTINATION, OUTPUT)
def pick(
    run: str,
    number: int | None,
    that: str | None,
    rename: tuple[str, ...],
    format_: str,
    *,
    quiet: bool,
    **given: object,
) -> int:
    """Prove and write patch NUMBER of those that RUN offered, or the one for which the expression of --that holds.

    RUN is the newest run that offered some, unless it is named: `coderefine pick 1`.
    """
    if number is None and run.isdigit():
        run, number = "", int(run)
    if (number is None) == (that is None):
        raise UsageError('choose one by NUMBER or by --that "EXPRESSION"')
    asked = request_of(given)
    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, then = recorded(run or newest_offering(note), note)
        settings = {**then.settings, **asked.settings, "accept": "plausible"}
        project = find_project(paths, settings, display.listen)
        found = choices(journal, asked.destination)
        if that is not None:
            agreed = agreeing(project, found, that)
            _print_agreed(agreed, that)
            if len(agreed) != 1:
                return 1
            number = agreed[0].number
        proposer, base = offered(journal, found, number, rename)
        argv = ("pick", journal.run, str(number), *(f"--rename={names}" for names in rename))
        picked = Request(argv, settings, asked.destination, model=False, again=shlex.join(("coderefine", *argv)))
        return run_and_report(project, picked, display, proposers=(proposer,), base=base)


def _print_agreed(agreed: Sequence[Choice], that: str) -> None:
    """Print the alternatives that agree, the inputs on which they differ, and the expression as a test to add."""
    for one in agreed:
        click.echo(f"agrees    {one.number}  {offer_headline(one.alternative)}")
    if not agreed:
        click.echo(f"agrees    none of the offered patches: {that}")
        return
    first = agreed[0]
    if len({one.number for one in agreed}) > 1:
        for question in first.offer.questions:
            click.echo(f"ask       {question.text(first.number - first.index)}")
    for line in lines_of_test(first.offer.modules, that):
        click.echo(f"test      {line}" if line else "")
