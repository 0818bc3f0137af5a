"""The functions and lines of the project that each test reaches, as recorded by the servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coderefine.core import Coverage, Line, Step

Function = tuple[str, int, str]
"""Repo-relative path, first line, name; lambdas on the same line are not distinguished."""


Packed = Mapping[str, Any]
"""A message of agent/test_coverage.py about some tests."""


@dataclass(frozen=True, slots=True)
class ReachedCode:
    """What each test reached. `entered`: functions, by test id. `hits`: executed (path, line), by test id."""

    entered: Mapping[str, frozenset[Function]] = field(default_factory=dict)
    hits: Mapping[str, frozenset[tuple[str, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], packed: Packed) -> ReachedCode:
        """Parse a message of agent/test_coverage.py; `names`: all tests, in the server's order."""
        table = [((path, line, name), (path, hit)) for path, line, name, hit in packed["table"]]
        rows = {names[place]: found for place, found in zip(packed["places"], packed["tests"], strict=True)}
        return cls(
            {test: frozenset(table[row][0] for row in found) for test, found in rows.items()},
            {test: frozenset(table[row][1] for row in found) for test, found in rows.items()},
        )

    def __or__(self, other: ReachedCode) -> ReachedCode:
        """Merge two records; for a test that is in both, use that of `other`."""
        return ReachedCode({**self.entered, **other.entered}, {**self.hits, **other.hits})

    def functions(self, tests: Iterable[str]) -> frozenset[Function]:
        """Return all functions that any of `tests` entered."""
        return frozenset().union(*(self.entered.get(test, frozenset()) for test in tests))

    def lines(self) -> Coverage:
        """Return the executed lines by test and path."""
        found: dict[str, dict[str, frozenset[int]]] = {}
        for test, hits in self.hits.items():
            by_path: dict[str, set[int]] = {}
            for path, line in hits:
                by_path.setdefault(path, set()).add(line)
            found[test] = {path: frozenset(lines) for path, lines in by_path.items()}
        return found


def joined(packs: Iterable[Packed]) -> Packed:
    """Merge the messages of several servers into one message that can be sent to servers; the steps are left out."""
    table: list[Any] = []
    found: dict[str, list[Any]] = {"places": [], "tests": [], "unsure": []}
    for packed in packs:
        start = len(table)
        table += packed["table"]
        found["places"] += packed["places"]
        found["tests"] += [[row + start for row in rows] for rows in packed["tests"]]
        found["unsure"] += packed["unsure"]
    return {"table": table, **found}


def steps_of(names: Sequence[str], packed: Packed) -> dict[str, tuple[Step, ...]]:
    """Parse the steps in a message of agent/test_coverage.py; `names`: all tests, in the server's order."""
    hits = [(path, line) for path, _, _, line in packed.get("table", ())]

    def lines(rows: Iterable[int]) -> frozenset[Line]:
        return frozenset(hits[row] for row in rows)

    return {
        names[int(number)]: tuple(Step(path, line, lines(last), lines(before)) for path, line, last, before in rows)
        for number, rows in packed.get("steps", {}).items()
    }
