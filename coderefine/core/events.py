"""Progress, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coderefine.core.spending import Cost


@dataclass(frozen=True, slots=True)
class Event:
    """Progress, for whoever shows it. `kind` is one of EVENTS; `done` of `total` counts the stage's own unit."""

    kind: str
    text: str = ""
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    cost: Cost | None = None


EVENTS = ("stage", "critic", "tests", "search", "attempt", "verdict", "request", "spent", "note")
Listen = Callable[[Event], None]
