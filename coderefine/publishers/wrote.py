"""Describe a publication in a few words: `src/cart.py +1 −2`."""

from __future__ import annotations

from coderefine.journal import FileChange
from coderefine.judge.diff import lines_of

SHOWN = 3
"""Number of files that are named; more are counted."""


def wrote(changes: tuple[FileChange, ...]) -> str:
    counts = [lines_of(change.before, change.after) for change in changes]
    if len(changes) > SHOWN:
        return f"{len(changes)} files +{sum(a for a, _ in counts)} −{sum(b for _, b in counts)}"
    named = (f"{change.path} +{added} −{gone}" for change, (added, gone) in zip(changes, counts, strict=True))
    return ", ".join(named) or "nothing"
