"""Finds the place of a SEARCH that differs from the file in white space only, and fits its REPLACE to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
    said = [line for line in search if line.strip()]
    wanted = [_dense(line) for line in said]
    filled = [number for number, line in enumerate(lines) if line.strip()]
    dense = [_dense(lines[number]) for number in filled]
    found = _places(wanted, dense)
    if len(found) != 1:
        return None
    real = filled[found[0] : found[0] + len(wanted)]
    kept = {line: lines[number] for line, number in zip(said, real, strict=True)}
    return WhitespaceMatch(real[0], real[-1] + 1, tuple(_fitted(new, kept)))


def _places(wanted: Sequence[str], dense: Sequence[str]) -> list[int]:
    """List the indices where the wanted lines stand one after the other."""
    return [at for at in range(len(dense) - len(wanted) + 1) if wanted and dense[at : at + len(wanted)] == wanted]


def _dense(line: str) -> str:
    return "".join(line.split())


def _fitted(new: Sequence[str], kept: dict[str, str]) -> list[str]:
    """`new` with the file's own lines where it repeats them, and its other lines moved like the one before."""
    pairs = [(_indent(line), _indent(real)) for line, real in kept.items()]
    own = min((_indent(real) for real in kept.values()), key=len)
    if own == min((_indent(line) for line in new if line.strip()), key=len, default=""):
        pairs = []  # only SEARCH was indented otherwise
    fitted = []
    for line in _stripped(new):
        indent = _indent(line)
        near = min(pairs, key=lambda pair: (abs(len(pair[0]) - len(indent)), -len(pair[0])), default=("", ""))
        fitted.append(kept.get(line) or (_moved(line, indent, *near) if line.strip() else line))
    return fitted


def _stripped(new: Sequence[str]) -> Sequence[str]:
    """`new` without blank lines at its ends: those of the file stay."""
    filled = [number for number, line in enumerate(new) if line.strip()]
    return new[filled[0] : filled[-1] + 1] if filled else ()


def _moved(line: str, indent: str, said: str, real: str) -> str:
    """`line` with `real` where the model wrote the indentation `said`; deeper or shallower by as much as it was."""
    if indent.startswith(said):
        return real + line[len(said) :]
    less = len(said) - len(indent)
    return real[: max(0, len(real) - less)] + line[len(indent) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
