"""What a policy is made of: moves in order, and what of the past each question repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum


class Base(Enum):
    """The tree that a move edits: the best so far, a failed attempt that got part of the way, the start (with what was
    proved since), or what the last answer left behind, good or bad."""

    BEST = "best"
    FAILED = "failed"
    START = "start"
    LAST = "last"


class History(Enum):
    """What a question repeats of the past: nothing, a line per failed attempt, or every attempt in full."""

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

    name: str
    moves: Callable[[], Iterator[Move]]
    history: History = History.LEDGER
