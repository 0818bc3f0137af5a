"""`coderefine check`: run the gates on the tree as it is, and change nothing."""

from __future__ import annotations

import click

from coderefine.app import engine
from coderefine.app.project import find_project
from coderefine.cli.options import CLUSTER, GATES, OUTPUT, PATHS, TASK, options, settings
from coderefine.cli.screen import screen
from coderefine.core import passed


@click.command()
@PATHS
@options(TASK, GATES, CLUSTER, OUTPUT)
def check(
    paths: tuple[str, ...],
    format_: str,
    *,
    quiet: bool,
    **given: object,
) -> int:
    """Run the gates on PATHs (default: this folder) and list what they find; exit 1 if they find anything."""
    with screen(quiet=quiet, format_=format_) as display:
        project = find_project(paths, settings(given), display.listen)
        display.name_root(project.place.top)
        checks = engine.check(project)
        display.checks(checks, root=project.place.top)
    return 0 if passed(checks) else 1
