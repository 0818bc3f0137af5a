"""The order in which a model is asked: breadth before depth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Base(Enum):
    """The tree that a move edits: the best so far, a failed attempt that got part of the way, the untouched one."""

    BEST = "best"
    FAILED = "failed"
    START = "start"


@dataclass(frozen=True, slots=True)
class Move:
    """One step. `prompt` is its question's file, `warmth` is added to the configured temperature,
    `critique`: ask the critic first what went wrong."""

    prompt: str
    base: Base = Base.BEST
    warmth: float = 0.0
    critique: bool = False


PLAN = (
    Move("first"),
    Move("other", warmth=0.3),
    Move("other", warmth=0.6),
    Move("repair", Base.FAILED, critique=True),
    Move("repair", Base.FAILED, warmth=0.2),
    Move("fresh", Base.START, warmth=0.5),
)
"""One candidate, two different ones, a critique, at most two repairs of one lineage, a fresh start.

Ten samples with one repair each beat two with ten (Olausson et al. 2023, "Is Self-Repair a Silver Bullet?"),
and warmer retries with fresh starts match deeper debugging at a fraction of its price (Kapoor et al. 2024).
"""
