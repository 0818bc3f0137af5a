"""How big a patch is: lines added and removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from coderefine.core import EMPTY, Patch

Opcode = tuple[str, int, int, int, int]


def opcodes(before: bytes | None, after: bytes | None) -> Iterator[Opcode]:
    """difflib's edit operations between the lines of two contents; equal heads and tails are cut off first."""
    old, new = (before or b"").splitlines(keepends=True), (after or b"").splitlines(keepends=True)
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


def lines_of(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """(added, removed) lines."""
    steps = list(opcodes(before, after))
    return sum(m - k for _, _, _, k, m in steps), sum(j - i for _, i, j, _, _ in steps)


def diff_size(patch: Patch, originals: Mapping[str, bytes | None] = EMPTY) -> int:
    """Lines added plus lines removed, over all files. Files missing in `originals` count as new."""
    return sum(sum(lines_of(originals.get(path), after)) for path, after in patch.files.items())
