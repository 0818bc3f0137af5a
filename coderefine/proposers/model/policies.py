"""Policies for using a model's budget: sequences of moves, and the history that each request contains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import count, repeat

BREADTH = 3
"""Number of answers in most rounds after the first: the prompt, which is most of the price, is paid only once."""
STEP = 0.2
"""Increase of the temperature per retry of `warming`."""


class Base(Enum):
    """The tree that a move edits.

    BEST: the best tree so far. FAILED: the tree of a failed attempt that repaired some tests. START: also the best
    tree, but the model is asked to start afresh. LAST: the tree of the model's last attempt.
    """

    BEST = "best"
    FAILED = "failed"
    START = "start"
    LAST = "last"


class History(Enum):
    """How the earlier attempts are described in a request: not at all, in one line each, or in full."""

    NONE = "none"
    LEDGER = "ledger"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True)
class Move:
    """One round of requests.

    `prompt`: name of the prompt with the question. `warmth`: added to the configured temperature. `critique`: ask the
    critic model first for an explanation of the failures. `samples`: number of answers. `tier`: index of the model in
    the configuration, from 0 (the cheapest); an index that is too high means the last model. `correct`: tell the model
    once about errors in an unusable reply.
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
    """A sequence of moves; `propose` calls `moves` again after every accepted patch. `history`: see History."""

    moves: Callable[[], Iterator[Move]]
    history: History = History.LEDGER


def breadth_first() -> Iterator[Move]:
    """Ask for one patch, three others, two repairs of the best failed patch after a critique, then fresh starts.

    After every round of fresh starts, ask for three other patches, based on the best attempt.

    Ten answers with one repair each are better than two answers with ten repairs each (Olausson et al. 2023, "Is
    Self-Repair a Silver Bullet?"). Fresh starts at a higher temperature match deeper debugging at a fraction of its
    price (Kapoor et al. 2024).
    """
    yield Move("first")
    yield Move("other", warmth=0.3, samples=BREADTH)
    yield Move("repair", Base.FAILED, warmth=0.2, critique=True, samples=2, tier=1)
    for tier in count(1):
        yield Move("fresh", Base.START, warmth=0.5, samples=BREADTH, tier=tier)
        yield Move("other", warmth=0.6, samples=BREADTH, tier=tier)


POLICIES = {
    "coderefine": Policy(breadth_first),
    # The same question repeatedly: pass@k, the baseline for other policies.
    "retry": Policy(lambda: repeat(Move(correct=False)), History.NONE),
    # Increasing temperature (Kapoor et al. 2024, "AI Agents That Matter": the warming baseline).
    "warming": Policy(
        lambda: (Move(warmth=round(STEP * number, 1), correct=False) for number in count()), History.NONE
    ),
    # Each answer refines the last one; the prompt has all answers and the feedback on them (Madaan et al. 2023).
    "self-refine": Policy(lambda: repeat(Move("refine", Base.LAST, correct=False)), History.TRANSCRIPT),
}
"""Policies by their name in the configuration."""
