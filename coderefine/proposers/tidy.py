"""Blank lines that a removal has left behind: ruff takes out a line and leaves both of its neighbours' gaps."""

from __future__ import annotations

from difflib import SequenceMatcher

LONGEST = 5_000
"""Lines above which a file is left as it is: comparing would take longer than the fix."""


def tidied(before: str, after: str) -> str:
    """`after`, where a gap is at most as long as the longer one of the two that a removal has joined.

    At the head and the tail of the file such a gap goes altogether. Gaps that were there before stay.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) > LONGEST:
        return after
    for tag, _, _, start, end in reversed(SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if tag == "delete" and start == end:
            above, below = _gap(new[:start][::-1]), _gap(new[start:])
            edge = above == start or below == len(new) - start
            surplus = above + below if edge else min(above, below)
            del new[start - above : start - above + surplus]
    return "".join(new)


def _gap(lines: list[str]) -> int:
    """How many blank lines `lines` begins with."""
    return next((count for count, line in enumerate(lines) if line.strip()), len(lines))
