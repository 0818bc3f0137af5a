"""Tests x attempts as a picture: a strip of cells for each attempt, and the tests that failed by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from coderefine.core import Attempt, Status

COLUMNS = 12
"""Maximum number of attempts beside each other in the table of tests."""
CELLS = 1000
"""Maximum number of cells in a row of the picture of tests; each represents several tests if there are more."""
SEPARATE = 100
"""Number of cells up to which there is a gap between them."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The tests of one attempt as a row of cells. `paths`: SVG paths by kind of outcome. `width`: of all, in units."""

    number: int
    failing: int
    total: int
    width: int
    paths: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tests:
    """Tests x attempts. `named`: outcomes, by attempt, of the tests that failed at any time; `more`: how many more."""

    ids: int
    strips: tuple[Strip, ...]
    columns: tuple[int, ...]
    named: Mapping[str, tuple[str, ...]]
    more: int

    @property
    def shared(self) -> bool:
        """Return whether a cell represents several tests."""
        return self.ids > CELLS


def tests_picture(attempts: Sequence[Attempt], best: int, most: int) -> Tests:
    """Return the tests of `attempts`, at most `most` of them by name. `best`: number of the best attempt."""
    ran = list(filter(lambda attempt: attempt.cases, attempts))
    ids = tuple(dict.fromkeys(id for attempt in ran for id in attempt.cases))
    kinds = {attempt.number: [_kind(attempt, id) for id in ids] for attempt in ran}
    failed = [place for place, row in enumerate(zip(*kinds.values(), strict=True)) if "failed" in row]
    columns = _columns(ran, best)
    shown = [kinds[number] for number in columns]
    named = {ids[place]: tuple(row[place] for row in shown) for place in failed[:most]}
    return Tests(len(ids), tuple(map(_strip, kinds, kinds.values())), columns, named, max(0, len(failed) - most))


def _columns(ran: Sequence[Attempt], best: int) -> tuple[int, ...]:
    """Return the attempts that fit beside each other: the first one and the last ones, refused ones only with room."""
    if len(ran) > COLUMNS:
        ran = [attempt for attempt in ran if attempt.verdict or attempt.number == best]
    numbers = tuple(attempt.number for attempt in ran)
    return (*numbers[:1], *numbers[1:][1 - COLUMNS :])


def _kind(attempt: Attempt, id: str) -> str:
    case = attempt.cases.get(id)
    if case is None or id in attempt.carried:
        return "not run"
    return "failed" if case.status.bad else "skipped" if case.status is Status.SKIPPED else "passed"


KINDS = ("failed", "not run", "skipped", "passed")
"""Kinds of outcomes; a cell for several tests shows the first of them."""


def _strip(number: int, row: Sequence[str]) -> Strip:
    count = min(len(row), CELLS)
    cells = [
        min(row[cell * len(row) // count : (cell + 1) * len(row) // count], key=KINDS.index) for cell in range(count)
    ]
    gap = 2 if count <= SEPARATE else 0
    paths: dict[str, str] = {}
    place = 0
    for kind, group in groupby(cells):
        width = len(list(group))
        drawn = [(cell, 1) for cell in range(place, place + width)] if gap else [(place, width)]
        path = "".join(f"M{10 * cell} 0h{10 * size - gap}v10h-{10 * size - gap}z" for cell, size in drawn)
        paths[kind] = paths.get(kind, "") + path
        place += width
    return Strip(number, row.count("failed"), len(row) - row.count("not run"), 10 * count, paths)
