"""Find the intended position of a SEARCH text that is not exactly in a file: ignoring white space, or by similarity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches

HEAD = re.compile(r"(?:async def|def|class) (\w+)")
"""Matches the first line of a function or class definition; group 1 is the name."""
AROUND = 2
"""Number of lines shown before and after the most similar lines."""
MOST = 30
"""Maximum number of lines shown."""
ENOUGH = 0.55
"""Minimum similarity (difflib ratio) of a position that is shown."""


def match_ignoring_whitespace(
    search: Sequence[str], new: Sequence[str], lines: Sequence[str]
) -> tuple[int, int, tuple[str, ...]] | None:
    """Return (index of the first line, index after the last line, new lines) for the lines that match `search`.

    White space may differ. Return None if `search` matches at no place, or at several. In the new lines, each line of
    `new` that is also in `search` is taken from the file; the other lines get the file's indentation.
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
    return real[0], real[-1] + 1, tuple(_indented(new, kept))


def _indented(new: Sequence[str], kept: dict[str, str]) -> list[str]:
    """Return `new`, the lines of a replacement, with the indentation that the file has.

    `kept`: for each line of the SEARCH text that is not blank, the line in the file; the two may differ in white space.
    A line of `new` that is also in the SEARCH text is replaced by the file's line. Other lines are indented like the
    line in `kept` with the most similar indentation; if `new` already has the file's indentation, they are not changed.
    Blank lines at both ends are removed, because the file's own blank lines remain there.
    """
    filled = _filled(new)
    inner = new[filled[0] : filled[-1] + 1] if filled else ()
    pairs = [(_indent(line), _indent(real)) for line, real in kept.items()]
    if all(map(str.__eq__, _levels(inner), _levels(list(kept.values())))):
        pairs = []  # only SEARCH had another indentation
    return [kept.get(line, line) if line in kept or not line.strip() else _moved(line, pairs) for line in inner]


def _levels(lines: Sequence[str]) -> list[str]:
    """Return the two shortest different indentations of `lines`."""
    return sorted({_indent(line) for line in lines if line.strip()}, key=len)[:2]


def _moved(line: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Indent `line` as in the file.

    `pairs`: each indentation that the model used, with the corresponding indentation in the file.
    """
    indent = _indent(line)
    wrote, real = min(pairs, key=lambda pair: (abs(len(pair[0]) - len(indent)), -len(pair[0])), default=("", ""))
    if indent.startswith(wrote):
        return real + line[len(wrote) :]
    less = len(wrote) - len(indent)
    return real[: max(0, len(real) - less)] + line[len(indent) :]


def _filled(lines: Sequence[str]) -> list[int]:
    """Return the indices of the lines that are not blank."""
    return [number for number, line in enumerate(lines) if line.strip()]


def _dense(lines: Sequence[str]) -> list[str]:
    """Return the lines without white space."""
    return ["".join(line.split()) for line in lines]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


@dataclass(frozen=True, slots=True)
class ClosestLines:
    """The lines most similar to a SEARCH text, from number `line` on. `whitespace`: only white space differs."""

    line: int
    text: str
    whitespace: bool

    def contains(self, line: int) -> bool:
        """Return whether `line` is one of these lines."""
        return self.line <= line <= self.line + self.text.count("\n")


def find_closest(search: Sequence[str], lines: Sequence[str]) -> ClosestLines | None:
    """Return the part of `lines` most similar to `search`, with some context; None if no part is similar enough."""
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
    """Return the indices in `real` where `wanted` may begin, according to the definitions in both.

    A `def` or `class` line of `wanted` must also be in `real`; if no line is equal, a definition with the same name is
    enough.
    """
    heads, there = _heads(wanted), _heads(real)
    pairs = [(one, other) for one in heads for other in there if one[2] == other[2]]
    exact = [(one, other) for one, other in pairs if one[1] == other[1]]
    return [max(0, other[0] - one[0]) for one, other in exact or pairs]


def _heads(lines: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return (index, line, name) of the `def` and `class` lines."""
    return [(at, line, found[1]) for at, line in enumerate(lines) if (found := HEAD.match(line))]


def _likely(wanted: Sequence[str], real: Sequence[str]) -> list[int]:
    """Return up to eight indices in `real` where the lines `wanted` may begin, the best first.

    The best index is the one for which most lines agree. If no line agrees, return the indices for which the longest
    line of `wanted` is similar, in ascending order.
    """
    places = {line: index for index, line in enumerate(wanted) if line}
    votes: dict[int, int] = {}
    for index, line in enumerate(real):
        if line in places:
            start = max(0, index - places[line])
            votes[start] = votes.get(start, 0) + 1
    if votes:
        return sorted(votes, key=lambda start: (-votes[start], start))[:8]
    longest = max(wanted, key=len, default="")
    near = get_close_matches(longest, real[:5000], 8, ENOUGH)
    similar = (at for at, line in enumerate(real[:5000]) if line and line in near)
    return sorted({max(0, at - wanted.index(longest)) for at in similar})[:8]
