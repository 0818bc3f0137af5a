"""`coderefine replay`: run a recorded run again, from its record alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from coderefine.app.project import Setup, model, setup, views
from coderefine.app.run import assembled
from coderefine.cli.history import RUN, recorded
from coderefine.cli.options import OUTPUT, options
from coderefine.cli.screen import Delivered, screen
from coderefine.core import Attempt, Limits, Outcome, Patch

if TYPE_CHECKING:
    from coderefine.cli.screen import Screen
    from coderefine.journal import Journal

ENDLESS = Limits(None, None, None, None, None)


@click.command()
@RUN
@options(OUTPUT)
def replay(run: str, format_: str, *, quiet: bool) -> int:
    """Run RUN (default: the newest) again from its record: no request is sent, nothing is written.

    Exit code 0 when it gives the same patch, 1 when it gives another one, 2 when an answer is missing.
    """
    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, asked = recorded(run)
        outcome = _again(journal, setup(paths, asked.flags, display.listen))
        return _compared(journal, outcome, display)


def _again(journal: Journal, parts: Setup) -> Outcome:
    """Compute the run's outcome again.

    Raises ReplayMissError for an answer that was never recorded.
    """
    from coderefine.journal.run_list import files_at_start
    from coderefine.llm.client import Client
    from coderefine.loop.refine import refine
    from coderefine.proposers.recorded import Recorded
    from coderefine.workspace.originals import Originals
    from coderefine.workspace.snapshot_views import SnapshotViews

    then = files_at_start(journal)
    originals = Originals(parts.place.top)
    with (
        Client(parts.config, memory=journal, listen=parts.listen, limits=ENDLESS, replay=True) as client,
        views(parts) as opened,
    ):
        whole = assembled(parts, SnapshotViews(opened, then), client, journal, originals, under=then)
        return refine(
            replace(
                whole,
                proposers=(Recorded(journal.attempts(), model(parts, client, then)),),
                limits=ENDLESS,
                strength=None,
                record=_keep_nothing,
            )
        )


def _keep_nothing(_attempt: Attempt) -> None:
    """Record nothing: a replay leaves the journal as it is."""


def _compared(journal: Journal, outcome: Outcome, display: Screen) -> int:
    """Report the outcome and whether it is the recorded one."""
    before = journal.outcome()
    differing = _differing(outcome.best.patch, before.best.patch if before else Patch())
    if differing:
        said = f"replayed: another patch than run {journal.run} had: {', '.join(differing)}"
    else:
        said = f"replayed: the same patch as run {journal.run}, 0 requests sent; nothing was written"
    display.outcome(outcome, Delivered(said), journal.run)
    return 1 if differing else 0


def _differing(now: Patch, then: Patch) -> tuple[str, ...]:
    files: Mapping[str, object] = {**now.files, **then.files}
    return tuple(sorted(path for path in files if now.files.get(path, ...) != then.files.get(path, ...)))
