"""The state of a run, updated by events and shown as one line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coderefine.core import Cost, Event


@dataclass(frozen=True, slots=True)
class ProgressState:
    """The state that a progress line shows; `after` returns the next one."""

    stage: str = ""
    unit: str = ""
    done: int = 0
    total: int | None = None
    attempt: str = ""
    number: int = 0
    request: str = ""
    cost: Cost | None = None
    most: float | None = None

    def after(self, event: Event) -> ProgressState:
        """Return the state after `event`."""
        now = replace(self, cost=event.cost or self.cost, most=event.most or self.most)
        if event.kind == "stage":
            return replace(now, stage=event.text, unit="", done=0, total=None, request="")
        if event.kind == "tests":
            return replace(now, unit="tests", done=event.done, total=event.total, request="")
        if event.kind == "search":
            return replace(now, unit=event.text, done=0, total=None, request="")
        if event.kind == "attempt":
            return replace(_idle(now), attempt=event.text, number=event.done)
        if event.kind == "verdict":
            return replace(_idle(now), stage="choosing the next step")
        if event.kind == "request":
            return replace(now, request=event.text)
        return now

    def time(self, seconds: float) -> str:
        """Return `12 s of at most 600 s`: the time spent, and the limit where it is known."""
        return f"{seconds:.0f} s" + (f" of at most {self.most:g} s" if self.most else "")

    @property
    def line(self) -> str:
        """Return the line: `proof · tests 12/44 · attempt 2: search … · 2 requests · 3,411 tokens · $0.0021`."""
        parts = (self.stage, self._progress, self._attempt, self.request, self._spent)
        return " · ".join(part for part in parts if part)

    @property
    def _progress(self) -> str:
        return f"{self.unit} {self.done}/{self.total}" if self.total is not None else self.unit

    @property
    def _attempt(self) -> str:
        return f"attempt {self.number}: {self.attempt}" if self.number else ""

    @property
    def _spent(self) -> str:
        if self.cost is None or not self.cost.requests:
            return ""
        price = "" if self.cost.usd is None else f" · ${self.cost.usd:.4f}"
        return f"{self.cost.tokens:,} tokens{price}"


def _idle(scene: ProgressState) -> ProgressState:
    """Return `scene` without stage and attempt, so that nothing of the last one is shown beside the next."""
    return replace(scene, stage="", unit="", done=0, total=None, attempt="", number=0, request="")
