"""`coderefine fix` and `coderefine resume`."""

from __future__ import annotations

import click

from coderefine.app import destination
from coderefine.app.project import setup
from coderefine.app.run import Request, mend
from coderefine.cli.options import GATES, LOOP, OUTPUT, PATHS, PROOF, TASK, options
from coderefine.cli.screen import screen


@click.command()
@PATHS
@options(TASK, GATES, LOOP, PROOF, destination.OPTIONS, OUTPUT)
def fix(paths: tuple[str, ...], format_: str, *, quiet: bool, **given: object) -> int:
    """Repair what the gates find in PATHs (default: this folder); write what is proved, offer what is plausible."""
    asked = Request.of(given)
    with screen(quiet=quiet, format_=format_) as display:
        return mend(setup(paths, asked.flags, display.listen), asked, display)


@click.command()
@click.argument("run", required=False, default="")
@options(OUTPUT)
def resume(run: str, format_: str, *, quiet: bool) -> int:
    """Finish the interrupted RUN (default: the newest) without paying for an answer twice."""
    from coderefine.cli.history import unfinished

    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, asked = unfinished(run)
        return mend(setup(paths, asked.flags, display.listen), asked, display, earlier=journal)
