"""What runs on behalf of each line of a test: what it asked for before it failed is not what it failed at."""

from __future__ import annotations

from typing import Any, Dict, List, Set, Tuple

from .live_functions import Key

Hit = Tuple[Key, int]
Spot = Tuple[str, int]
"""File and line of a test."""

MOST = 2000
"""Lines of a test that are told apart; a test that loops longer is not taken apart at all."""


class TestSteps:
    """`now`: what ran since the line that was begun last."""

    def __init__(self) -> None:
        self.now: Set[Hit] = set()
        self._last: Dict[Spot, Set[Hit]] = {}
        self._before: Dict[Spot, Set[Hit]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        return self._count > MOST

    def begin(self, path: str, line: int) -> None:
        """A line of the test begins: what runs from now on is its own."""
        self._count += 1
        old = self._last.get((path, line))
        if old:
            self._before.setdefault((path, line), set()).update(old)
        self.now = self._last[path, line] = set()

    def packed(self, rows: "Dict[Hit, int]") -> List[Any]:
        """For each line: file, line, rows of what ran at its last time and at all times before; nothing when full."""
        if self.full:
            return []
        found = []
        for (path, line), last in self._last.items():
            before = self._before.get((path, line), set())
            if last or before:
                numbers = [sorted(rows[hit] for hit in hits if hit in rows) for hits in (last, before)]
                found.append([path, line, *numbers])
        return found
