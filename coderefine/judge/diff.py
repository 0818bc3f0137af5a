"""Line differences: how many lines a patch adds and removes, and its hunks (which old lines become which new ones)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from coderefine.core import Patch

Opcode = tuple[str, int, int, int, int]
"""(tag, start and stop of the old lines, start and stop of the new lines), as in difflib."""
GAP = 3
LONE_CR = re.compile(rb"\r(?!\n)")


def opcodes(before: bytes | None, after: bytes | None) -> Iterator[Opcode]:
    """Yield difflib's edit operations between the lines of two contents, without those for equal lines."""
    old, new = (before or b"").splitlines(keepends=True), (after or b"").splitlines(keepends=True)
    # Common prefixes and suffixes are removed first: difflib needs quadratic time.
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for tag, i, j, k, m in middle.get_opcodes():
        if tag != "equal":
            yield tag, i + head, j + head, k + head, m + head


def line_after(line: int, before: bytes | None, after: bytes | None) -> int:
    """Return the number in `after` of line `line` of `before`; if the line was replaced, that of the new line."""
    moved = line
    for _, i, j, k, m in opcodes(before, after):
        if j < line:
            moved = line + m - j
        elif i < line:
            moved = max(min(k + line - i, m), 1)
    return moved


def lines_of(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """Return the numbers of (added, removed) lines."""
    steps = list(opcodes(before, after))
    return sum(m - k for _, _, _, k, m in steps), sum(j - i for _, i, j, _, _ in steps)


def diff_size(patch: Patch, originals: Mapping[str, bytes | None]) -> int:
    """Return the number of added and removed lines of all files. Files missing in `originals` count as new."""
    return sum(sum(lines_of(originals.get(path), after)) for path, after in patch.files.items())


@dataclass(frozen=True, slots=True)
class Hunk:
    """A replacement of the lines `old` of `path`, which begin at line `first` (1-based), by the lines `new`.

    All lines include their line ends. An insertion has an empty `old`; the new lines come before line `first`.
    """

    path: str
    first: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @property
    def last(self) -> int:
        """Return the number of the last old line; `first - 1` for an insertion."""
        return self.first + len(self.old) - 1

    @property
    def textual(self) -> bool:
        """Return whether all lines are valid UTF-8, so that they can be shown as text."""
        try:
            b"".join((*self.old, *self.new)).decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def upon(self, before: bytes) -> bytes:
        """Apply this hunk alone to `before`."""
        lines = before.splitlines(keepends=True)
        return b"".join((*lines[: self.first - 1], *self.new, *lines[self.last :]))


def hunks(path: str, before: bytes | None, after: bytes | None, *, gap: int = 0, span: int = 0) -> tuple[Hunk, ...]:
    """Return the hunks of one file, top to bottom; none for new, deleted or binary files and files with lone CRs.

    Hunks with at most `gap` unchanged lines between them are joined. All hunks are joined if together they span at most
    `span` lines.
    """
    if before is None or after is None or any(b"\0" in data or LONE_CR.search(data) for data in (before, after)):
        return ()
    lines, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    steps = opcodes(before, after)
    found = [Hunk(path, i + 1, tuple(lines[i:j]), tuple(new[k:m])) for _, i, j, k, m in steps]
    if found and found[-1].last - found[0].first < span:
        gap = span
    return tuple(_joined(found, lines, gap))


def _joined(found: list[Hunk], lines: list[bytes], gap: int) -> list[Hunk]:
    joined = found[:1]
    for hunk in found[1:]:
        held = joined[-1]
        if hunk.first - held.last - 1 <= gap:
            between = tuple(lines[held.last : hunk.first - 1])
            joined[-1] = replace(held, old=held.old + between + hunk.old, new=held.new + between + hunk.new)
        else:
            joined.append(hunk)
    return joined


def pieces(patch: Patch, originals: Mapping[str, bytes | None], *, span: int = 20) -> tuple[Hunk, ...]:
    """Return the hunks of a whole patch, joined over gaps of GAP lines; see `hunks`."""
    return tuple(
        hunk
        for path, after in sorted(patch.files.items())
        for hunk in hunks(path, originals.get(path), after, gap=GAP, span=span)
    )
