"""The default: breadth before depth, a critique after two failed rounds, fresh starts, stronger models late."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from coderefine.proposers.model.plan import Base, Move, Policy

BREADTH = 3
"""Answers per round after the first: the prompt, which is most of the price, is paid once for all of them."""


def moves() -> Iterator[Move]:
    """One candidate, three different ones, two repairs of the most promising after a critique, then fresh starts.

    Ten samples with one repair each beat two with ten (Olausson et al. 2023, "Is Self-Repair a Silver Bullet?"),
    and warmer retries with fresh starts match deeper debugging at a fraction of its price (Kapoor et al. 2024).
    """
    yield Move("first")
    yield Move("other", warmth=0.3, samples=BREADTH)
    yield Move("repair", Base.FAILED, warmth=0.2, critique=True, samples=2, tier=1)
    for tier in count(1):
        yield Move("fresh", Base.START, warmth=0.5, samples=BREADTH, tier=tier)
        yield Move("other", warmth=0.6, samples=BREADTH, tier=tier)


POLICY = Policy("coderefine", moves)
