"""The lines of a file that are most like a search text that was not found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

HEAD = re.compile(r"(?:async def|def|class) (\w+)")
"""A line that names a function or class."""

AROUND = 2
"""Lines of context shown on both sides."""

MOST = 30
"""Lines shown at most."""

ENOUGH = 0.55
"""Likeness (difflib ratio) below which showing a place would mislead."""


@dataclass(frozen=True, slots=True)
class ClosestLines:
    """`line` is the 1-based number of the first line of `text`; `whitespace`: only blanks differ."""

    line: int
    text: str
    whitespace: bool


def find_closest(search: Sequence[str], lines: Sequence[str]) -> ClosestLines | None:
    """The window of `lines` most like `search`, with a little context; None when nothing is."""
    wanted = [line.strip() for line in search]
    real = [line.strip() for line in lines]
    named = _named(wanted, real)
    likely = named or _likely(wanted, real)
    best = max(likely, key=lambda at: _likeness(wanted, real[at : at + len(wanted)]), default=None)
    if best is None:
        return None
    window = real[best : best + len(wanted)]
    if not named and _likeness(wanted, window) < ENOUGH:
        return None
    first, last = max(0, best - AROUND), min(len(lines), best + len(wanted) + AROUND)
    shown = lines[first:last][:MOST]
    return ClosestLines(first + 1, "\n".join(shown), _squeezed(wanted) == _squeezed(window))


def _named(wanted: Sequence[str], real: Sequence[str]) -> list[int]:
    """Where a `def` or `class` line of the search stands in the file: no similar one can be meant then."""
    heads = [(at, line) for at, line in enumerate(wanted) if HEAD.match(line)]
    exact = [(at, number) for at, line in heads for number, other in enumerate(real) if other == line]
    alike = _same_name(heads, real)
    return [max(0, number - at) for at, number in exact or alike]


def _same_name(heads: Sequence[tuple[int, str]], real: Sequence[str]) -> list[tuple[int, int]]:
    """Pair each `def` or `class` line with the lines of the file that define something of that name."""
    names = ((at, HEAD.match(line)) for at, line in heads)
    return [
        (at, number)
        for at, head in names
        for number, other in enumerate(real)
        if head and (found := HEAD.match(other)) and found[1] == head[1]
    ]


def _likely(wanted: Sequence[str], real: Sequence[str]) -> list[int]:
    """Up to eight starting points worth a close look: where most lines agree, else where one is alike."""
    places = {line: index for index, line in enumerate(wanted) if line}
    votes: dict[int, int] = {}
    for index, line in enumerate(real):
        if line in places:
            start = max(0, index - places[line])
            votes[start] = votes.get(start, 0) + 1
    if not votes:
        key = max(wanted, key=len, default="")
        votes = {max(0, at - wanted.index(key)): 1 for at in _alike(key, real)}
    return sorted(votes, key=lambda start: (-votes[start], start))[:8]


def _alike(key: str, real: Sequence[str]) -> list[int]:
    """Indices of the eight lines most like `key`."""
    matcher = SequenceMatcher(b=key, autojunk=False)
    rated: list[tuple[float, int]] = []
    for index, line in enumerate(real[:5000]):
        matcher.set_seq1(line)
        if line and matcher.real_quick_ratio() > ENOUGH and matcher.quick_ratio() > ENOUGH:
            rated.append((-matcher.ratio(), index))
    return [index for _, index in sorted(rated)[:8]]


def _likeness(wanted: Sequence[str], window: Sequence[str]) -> float:
    return SequenceMatcher(None, "\n".join(wanted), "\n".join(window), autojunk=False).ratio()


def _squeezed(lines: Sequence[str]) -> str:
    return "".join("".join(lines).split())
