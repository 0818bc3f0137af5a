"""Ways to spend a budget on a model: moves in order, and what of the past each request repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import count, repeat

BREADTH = 3
"""Answers per round after the first: the prompt, which is most of the price, is paid once for all of them."""

STEP = 0.2
"""Added to the temperature per retry of `warming`."""


class Base(Enum):
    """The tree that a move edits: the best so far, a failed attempt that got part of the way, the start (with what was
    proved since), or what the last answer left behind, good or bad."""

    BEST = "best"
    FAILED = "failed"
    START = "start"
    LAST = "last"


class History(Enum):
    """What a request repeats of the past: nothing, a line per failed attempt, or every attempt in full."""

    NONE = "none"
    LEDGER = "ledger"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True)
class Move:
    """One round. `prompt` is its question's file, `warmth` is added to the configured temperature,
    `critique`: ask the critic first what went wrong. `samples`: answers wanted. `tier`: which of the configured
    models is asked, 0 the cheapest; the last one stands for all above it. `correct`: a reply that cannot be read is
    answered once with what is wrong.
    """

    prompt: str = "first"
    base: Base = Base.BEST
    warmth: float = 0.0
    critique: bool = False
    samples: int = 1
    tier: int = 0
    correct: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """`moves` starts over whenever the best improves."""

    moves: Callable[[], Iterator[Move]]
    history: History = History.LEDGER


def breadth_first() -> Iterator[Move]:
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


POLICIES = {
    "coderefine": Policy(breadth_first),
    # The same question again and again: pass@k, the baseline that every cleverer policy has to beat.
    "retry": Policy(lambda: repeat(Move(correct=False)), History.NONE),
    # A little warmer each time (Kapoor et al. 2024, "AI Agents That Matter": the warming baseline).
    "warming": Policy(
        lambda: (Move(warmth=round(STEP * number, 1), correct=False) for number in count()), History.NONE
    ),
    # Feedback on the last output, refine it, with all outputs and all feedback in the prompt (Madaan et al. 2023).
    "self-refine": Policy(lambda: repeat(Move("refine", Base.LAST, correct=False)), History.TRANSCRIPT),
}
"""Policies by the name that the configuration has for them."""
