"""Compute the result of a recorded run again, with the recorded answers of the model only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coderefine.app.engine import loop_parts, model_proposer, open_views
from coderefine.app.project import Project
from coderefine.core import PROVE, Limits, Outcome
from coderefine.errors import JournalError
from coderefine.journal import Journal
from coderefine.journal.run_list import files_at_start
from coderefine.llm.client import Client
from coderefine.loop.refine import refine
from coderefine.loop.state import forget
from coderefine.proposers.recorded_patches import RecordedProposer
from coderefine.workspace.originals import Originals
from coderefine.workspace.private_views import SnapshotViews

ENDLESS = Limits(None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The new outcome, and the files in which its patch differs from the recorded patch."""

    outcome: Outcome
    differing: tuple[str, ...]


def replay(journal: Journal, project: Project) -> Replayed:
    """Compute the run's outcome again: no request is sent, nothing is recorded or written.

    Raises ReplayMissError for an answer that was never recorded, and JournalError for a run that judged a given patch.
    """
    recorded, attempts = journal.outcome(), journal.attempts()
    if any(attempt.patch.origin == PROVE for attempt in attempts) or (recorded and recorded.proof):
        again = journal.meta.config.get("again") or "coderefine prove"
        raise JournalError(f"run {journal.run} was about a given patch, and cannot be replayed: run `{again}` again")
    under = files_at_start(journal)
    with (
        Client(project.config, memory=journal, listen=project.listen, limits=ENDLESS, replay=True) as client,
        open_views(project) as opened,
    ):
        offers = recorded.offers if recorded else ()
        proposer = RecordedProposer(attempts, offers, model_proposer(project, client, under))
        originals = Originals(project.place.top)
        views = SnapshotViews(opened, under)
        parts = loop_parts(
            project, views, client, journal=journal, originals=originals, under=under, proposers=(proposer,)
        )
        outcome = refine(replace(parts, limits=ENDLESS, strength=None, record=forget))
    now, then = outcome.best.patch.files, recorded.best.patch.files if recorded else {}
    return Replayed(
        outcome, tuple(sorted(path for path in {**now, **then} if now.get(path, ...) != then.get(path, ...)))
    )
