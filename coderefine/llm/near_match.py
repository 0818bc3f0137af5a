"""Where a SEARCH text that is not in a file exactly may be meant: by white space alone, or by likeness."""

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
class WhitespaceMatch:
    """Lines `first` to `last` (exclusive) of the file, and what comes there."""

    first: int
    last: int
    lines: tuple[str, ...]


def match_ignoring_whitespace(
    search: Sequence[str], new: Sequence[str], lines: Sequence[str]
) -> WhitespaceMatch | None:
    """The one place in `lines` where `search` fits but for white space; None when there is none, or more than one.

    Lines that `new` takes over from `search` stay as the file has them; the others are indented as far as their
    neighbours are.
    """
    written = [line for line in search if line.strip()]
    filled = _filled(lines)
    wanted, dense = _dense(written), _dense([lines[number] for number in filled])
    length = len(wanted)
    places = [at for at in range(len(dense) - length + 1) if wanted and dense[at : at + length] == wanted]
    if len(places) != 1:
        return None
    real = filled[places[0] : places[0] + length]
    kept = {line: lines[number] for line, number in zip(written, real, strict=True)}
    return WhitespaceMatch(real[0], real[-1] + 1, tuple(_indented(new, kept)))


def _indented(new: Sequence[str], kept: dict[str, str]) -> list[str]:
    """`new` with the file's own lines where it repeats them, and its other lines moved like the nearest of those.

    Blank lines at its ends are left out: those of the file stay.
    """
    filled = _filled(new)
    inner = new[filled[0] : filled[-1] + 1] if filled else ()
    pairs = [(_indent(line), _indent(real)) for line, real in kept.items()]
    written = min((_indent(new[number]) for number in filled), key=len, default="")
    if written == min((real for _, real in pairs), key=len):
        pairs = []  # only SEARCH was indented otherwise
    return [kept.get(line, line) if line in kept or not line.strip() else _moved(line, pairs) for line in inner]


def _moved(line: str, pairs: Sequence[tuple[str, str]]) -> str:
    """`line` indented as the file does it. `pairs`: indentation as the model wrote it, and as it is in the file."""
    indent = _indent(line)
    wrote, real = min(pairs, key=lambda pair: (abs(len(pair[0]) - len(indent)), -len(pair[0])), default=("", ""))
    if indent.startswith(wrote):
        return real + line[len(wrote) :]
    less = len(wrote) - len(indent)
    return real[: max(0, len(real) - less)] + line[len(indent) :]


def _filled(lines: Sequence[str]) -> list[int]:
    """Indices of the lines that are not blank."""
    return [number for number, line in enumerate(lines) if line.strip()]


def _dense(lines: Sequence[str]) -> list[str]:
    """The lines without white space."""
    return ["".join(line.split()) for line in lines]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


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

    def likeness(at: int) -> float:
        window = "\n".join(real[at : at + len(wanted)])
        return SequenceMatcher(None, "\n".join(wanted), window, autojunk=False).ratio()

    named = _same_definition(wanted, real)
    best = max(named or _likely(wanted, real), key=likeness, default=None)
    if best is None or (not named and likeness(best) < ENOUGH):
        return None
    first, last = max(0, best - AROUND), min(len(lines), best + len(wanted) + AROUND)
    same, there = ("".join("".join(part).split()) for part in (wanted, real[best : best + len(wanted)]))
    return ClosestLines(first + 1, "\n".join(lines[first:last][:MOST]), same == there)


def _same_definition(wanted: Sequence[str], real: Sequence[str]) -> list[int]:
    """Where a `def` or `class` line of the search stands in the file, else one of the same name: nothing else can be
    meant then."""
    heads, there = _heads(wanted), _heads(real)
    pairs = [(one, other) for one in heads for other in there if one[2] == other[2]]
    exact = [(one, other) for one, other in pairs if one[1] == other[1]]
    return [max(0, other[0] - one[0]) for one, other in exact or pairs]


def _heads(lines: Sequence[str]) -> list[tuple[int, str, str]]:
    """(index, line, name) of the lines that name a function or class."""
    return [(at, line, found[1]) for at, line in enumerate(lines) if (found := HEAD.match(line))]


def _likely(wanted: Sequence[str], real: Sequence[str]) -> list[int]:
    """Up to eight starting points worth a close look: where most lines agree, else where one is alike."""
    places = {line: index for index, line in enumerate(wanted) if line}
    votes: dict[int, int] = {}
    for index, line in enumerate(real):
        if line in places:
            start = max(0, index - places[line])
            votes[start] = votes.get(start, 0) + 1
    if votes:
        return sorted(votes, key=lambda start: (-votes[start], start))[:8]
    return _similar(wanted, real)


def _similar(wanted: Sequence[str], real: Sequence[str]) -> list[int]:
    """Starting points where a line is like the longest one of the search."""
    key = max(wanted, key=len, default="")
    matcher = SequenceMatcher(b=key, autojunk=False)
    rated: list[tuple[float, int]] = []
    for index, line in enumerate(real[:5000]):
        matcher.set_seq1(line)
        # Upper bounds first: the ratio itself is slow.
        if line and matcher.real_quick_ratio() > ENOUGH and matcher.quick_ratio() > ENOUGH:
            rated.append((-matcher.ratio(), index))
    return sorted({max(0, at - wanted.index(key)) for _, at in sorted(rated)[:8]})
