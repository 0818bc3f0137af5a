"""A patch in pieces: which old lines of a file become which new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from coderefine.core import Patch
from coderefine.judge.size import opcodes

LONE_CR = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `old` of `path`, from line `first` on (1-based), become `new`; lines keep their ends.

    An insertion has no `old` and stands before line `first`.
    """

    path: str
    first: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @property
    def last(self) -> int:
        """The last old line; `first - 1` for an insertion."""
        return self.first + len(self.old) - 1

    @property
    def textual(self) -> bool:
        """Whether it can be told in lines of text: all of it is UTF-8."""
        try:
            b"".join((*self.old, *self.new)).decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def upon(self, before: bytes) -> bytes:
        """`before` with this hunk alone."""
        lines = before.splitlines(keepends=True)
        return b"".join((*lines[: self.first - 1], *self.new, *lines[self.last :]))


def hunks(path: str, before: bytes | None, after: bytes | None, *, gap: int = 0, span: int = 0) -> tuple[Hunk, ...]:
    """The pieces of one file's change, top to bottom; none for new, deleted, binary or oddly ended files.

    Pieces with at most `gap` unchanged lines between them are one, and all are one when they span at most `span` lines.
    """
    if before is None or after is None or any(b"\0" in data or LONE_CR.search(data) for data in (before, after)):
        return ()
    found = tuple(_pieces(path, before, after))
    if found and found[-1].last - found[0].first < span:
        gap = span
    return tuple(_merged(found, before.splitlines(keepends=True), gap))


def pieces(patch: Patch, originals: Mapping[str, bytes | None], *, gap: int = 3, span: int = 20) -> tuple[Hunk, ...]:
    """The pieces of a whole patch; see `hunks`."""
    return tuple(
        hunk
        for path, after in sorted(patch.files.items())
        for hunk in hunks(path, originals.get(path), after, gap=gap, span=span)
    )


def _pieces(path: str, before: bytes, after: bytes) -> Iterator[Hunk]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for _, i, j, k, m in opcodes(before, after):
        yield Hunk(path, i + 1, tuple(old[i:j]), tuple(new[k:m]))


def _merged(found: Iterable[Hunk], lines: list[bytes], gap: int) -> Iterator[Hunk]:
    held: Hunk | None = None
    for hunk in found:
        if held is not None and hunk.first - held.last - 1 <= gap:
            between = tuple(lines[held.last : hunk.first - 1])
            held = replace(held, old=held.old + between + hunk.old, new=held.new + between + hunk.new)
            continue
        if held is not None:
            yield held
        held = hunk
    if held is not None:
        yield held
