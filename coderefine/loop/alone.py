"""Pieces of a proved patch, each proved alone: what a reviewer may accept one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine import judge
from coderefine.core import Attempt, Outcome, Patch
from coderefine.loop.proof import proved_once
from coderefine.loop.state import Parts, State, failing

MOST = 30
"""Pieces that are tried; each costs a run of all tests."""


def alone(parts: Parts, outcome: Outcome, pieces: Sequence[Patch]) -> Iterator[Attempt | None]:
    """For each of `pieces` its attempt when it holds alone, else None.

    It holds when it may be published, and leaves no test red that the whole patch turns green.
    """
    state = State(parts, attempts=[outcome.baseline], flaky=frozenset(outcome.evidence.flaky))
    for number, piece in enumerate(pieces, 1):
        left = state.seconds_left
        if number > MOST or (left is not None and left <= 0):
            yield None
            continue
        state.say("stage", f"piece {number} of {len(pieces)} alone")
        yield _holding(state, outcome, piece)


def _holding(state: State, outcome: Outcome, piece: Patch) -> Attempt | None:
    best = outcome.best
    if _same(piece, best.patch):
        return best
    admitted = judge.admit(
        piece,
        state.originals(piece),
        state.parts.reason,
        frozenset(),
        state.parts.scope,
        modules=state.parts.modules,
        roots=state.roots,
        helpers=state.parts.helpers,
    )
    if not admitted:
        return None
    attempt = proved_once(state, Attempt(1, piece))
    return attempt if attempt.verdict and failing(attempt) <= failing(best) else None


def _same(piece: Patch, whole: Patch) -> bool:
    return dict(piece.files) == dict(whole.files)
