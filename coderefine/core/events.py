"""Progress events of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coderefine.core.spending import Cost


@dataclass(frozen=True, slots=True)
class Event:
    """Progress of a run. `kind` is one of EVENTS; `done` of `total` counts the stage's own unit.

    `most`: seconds that the run may take, where that is known.
    """

    kind: str
    text: str = ""
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    cost: Cost | None = None
    most: float | None = None


EVENTS = ("stage", "critic", "tests", "search", "attempt", "verdict", "request", "spent", "note")
Listen = Callable[[Event], None]
