"""`coderefine fix` and `coderefine resume`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from coderefine.cli import delivery
from coderefine.cli.delivery import Delivery
from coderefine.cli.options import GATES, LOOP, OUTPUT, PATHS, TASK, flags, options
from coderefine.cli.screen import screen
from coderefine.cli.session import Request, mend
from coderefine.cli.wiring import setup


@click.command()
@PATHS
@options(TASK, GATES, LOOP, delivery.OPTIONS, OUTPUT)
def fix(  # one parameter per flag that is no configuration key
    paths: tuple[str, ...],
    format_: str,
    patch: str | None,
    branch: str | None,
    *,
    quiet: bool,
    no_model: bool,
    show_prompts: bool,
    diff: bool,
    commit: bool,
    **given: object,
) -> int:
    """Repair what the gates find in PATHs (default: this folder); write only what is proved."""
    chosen = flags(given)
    asked = Request(
        tuple(sys.argv[1:]),
        chosen,
        Delivery(diff=diff, patch=patch and str(Path(patch).absolute()), commit=commit, branch=branch),
        model=not no_model,
        show_prompts=show_prompts,
    )
    with screen(quiet=quiet, format_=format_) as display:
        return mend(setup(paths, chosen, display.listen), asked, display)


@click.command()
@click.argument("run", required=False, default="")
@options(OUTPUT)
def resume(run: str, format_: str, *, quiet: bool) -> int:
    """Finish the interrupted RUN (default: the newest) without paying for an answer twice."""
    from coderefine.cli.runs import unfinished

    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, asked = unfinished(run)
        return mend(setup(paths, asked.flags, display.listen), asked, display, earlier=journal)
