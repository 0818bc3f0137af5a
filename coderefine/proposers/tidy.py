"""Remove superfluous blank lines: ruff removes a line, but not the blank lines before and after it."""

from __future__ import annotations

from difflib import SequenceMatcher

LONGEST = 5_000
"""Number of lines above which a file is not tidied, because the comparison would take too long."""


def tidied(before: str, after: str) -> str:
    """Return `after` without superfluous blank lines.

    If lines were removed between two gaps (sequences of blank lines), the joined gap is shortened to the longer of the
    two; at the start and the end of the file it is removed. Other gaps are kept.
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
    """Return the number of blank lines at the start of `lines`."""
    return next((count for count, line in enumerate(lines) if line.strip()), len(lines))
