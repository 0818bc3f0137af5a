"""`coderefine fix` and `coderefine resume`, and the report of a run that a command starts."""

from __future__ import annotations

from collections.abc import Sequence

import click

from coderefine.app.engine import Contents
from coderefine.app.history import unfinished
from coderefine.app.project import Project, find_project
from coderefine.app.request import Request
from coderefine.app.run import RunResult, run
from coderefine.cli.options import (
    BASE_URL,
    CLUSTER,
    DESTINATION,
    GATES,
    LOOP,
    OUTPUT,
    PATHS,
    PROOF,
    TASK,
    options,
    request_of,
)
from coderefine.cli.screen import Screen, exit_code, note, screen
from coderefine.core import EMPTY, Proposer, Stop
from coderefine.core.plurals import listed
from coderefine.journal import Journal
from coderefine.reports.rows import ending


@click.command()
@PATHS
@options(TASK, GATES, LOOP, PROOF, CLUSTER, DESTINATION, OUTPUT)
def fix(paths: tuple[str, ...], format_: str, *, quiet: bool, show_prompts: bool, **given: object) -> int:
    """Repair what the gates find in PATHs (default: this folder); write what is proved, offer what is plausible."""
    asked = request_of(given)
    with screen(quiet=quiet, format_=format_) as display:
        project = find_project(paths, asked.settings, display.listen)
        return run_and_report(project, asked, display, show_prompts=show_prompts)


@click.command()
@click.argument("run", required=False, default="")
@options((BASE_URL,), OUTPUT)
def resume(run: str, base_url: str | None, format_: str, *, quiet: bool) -> int:
    """Finish the interrupted RUN (default: the newest) without paying for an answer twice."""
    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, asked = unfinished(run, note, base_url)
        return run_and_report(find_project(paths, asked.settings, display.listen), asked, display, earlier=journal)


def run_and_report(
    project: Project,
    asked: Request,
    display: Screen,
    *,
    show_prompts: bool = False,
    proposers: Sequence[Proposer] | None = None,
    base: Contents = EMPTY,
    earlier: Journal | None = None,
) -> int:
    """Run the loop, print its report and return the exit code. For `proposers`, `base` and `earlier` see `run`."""
    destination = asked.destination
    display.name_root(project.place.top)

    def report(result: RunResult) -> None:
        pipe = destination.diff and bool(result.diff) and result.outcome.stop is not Stop.INTERRUPTED
        decided = _in_head(result) if destination.on_head else ""
        decided = decided or _with_patch(result, elsewhere=destination.elsewhere)
        display.result(result, decided, pipe=pipe)

    show = display.prompt if show_prompts else None
    return exit_code(run(project, asked, report, proposers=proposers, base=base, earlier=earlier, show=show).outcome)


def _in_head(result: RunResult) -> str:
    """Return a line that says: the checks pass in HEAD, but uncommitted changes were not checked.

    Return "" if there are no such changes, if a finding remains, or if the result could not be written.
    """
    unchecked = tuple(sorted(result.snapshot.under)) if result.snapshot else ()
    outcome = result.outcome
    if not unchecked or result.published.refused or outcome.stop is not Stop.CLEAN or not outcome.clean:
        return ""
    return f"in HEAD {ending(outcome)}; your uncommitted changes in {listed(unchecked)} were not checked"


def _with_patch(result: RunResult, *, elsewhere: bool) -> str:
    """Return the line about a patch that is not in the working tree; "" if there is nothing to say.

    `elsewhere`: whether the patch was to be written to another place than the working tree.
    """
    outcome = result.outcome
    if not outcome.best.number or outcome.stop is Stop.INTERRUPTED:
        return ""
    patched = f"with the patch {ending(outcome)}" if not outcome.clean or outcome.stop is Stop.CLEAN else ""
    if result.published.refused:
        return "; ".join(filter(None, ("nothing was written", patched)))
    return patched if elsewhere else ""
