"""`src/cart.py +1 −2`: a publication in a few words."""

from __future__ import annotations

import difflib

from coderefine.journal import Change

SHOWN = 3
"""Files named one by one; more are counted."""


def wrote(changes: tuple[Change, ...]) -> str:
    counts = [_lines(change) for change in changes]
    if len(changes) > SHOWN:
        return f"{len(changes)} files +{sum(a for a, _ in counts)} −{sum(b for _, b in counts)}"
    named = (f"{change.path} +{added} −{gone}" for change, (added, gone) in zip(changes, counts, strict=True))
    return ", ".join(named) or "nothing"


def _lines(change: Change) -> tuple[int, int]:
    """Lines added and removed."""
    before, after = ((data or b"").splitlines() for data in (change.before, change.after))
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return len(after) - same, len(before) - same
