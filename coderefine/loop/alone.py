"""Prove each hunk of a proved patch alone, so that a reviewer can accept it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine import judge
from coderefine.core import Attempt, Outcome, Patch, Verdict
from coderefine.loop.proof import proved_once
from coderefine.loop.state import Parts, State, failing

MOST = 30
"""Maximum number of pieces that are tried; each costs a run of all tests."""


def alone(parts: Parts, outcome: Outcome, pieces: Sequence[Patch]) -> Iterator[Attempt | None]:
    """Yield for each of `pieces` its proved attempt, or None if the piece must not be applied alone.

    It may be applied alone if it can be published, and if every test that the whole patch repairs also passes with
    the piece alone.
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
    if dict(piece.files) == dict(best.patch.files):
        return best
    if not admitted(state, piece):
        return None
    attempt = proved_once(state, Attempt(1, piece))
    return attempt if attempt.verdict and failing(attempt) <= failing(best) else None


def admitted(state: State, piece: Patch) -> Verdict:
    """Return whether a piece of a patch may be tested at all."""
    return judge.admit(
        piece,
        state.originals(piece),
        state.parts.reason,
        frozenset(),
        state.parts.scope,
        modules=state.parts.modules,
        roots=state.roots,
        helpers=state.parts.helpers,
    )
