"""Find the lines of a pull request that can carry a comment: a suggestion must lie within one hunk of its diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from coderefine.publishers.hosts.bundle import Suggestion

HEADER = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
Region = Mapping[int, str]


def regions(patch: str) -> tuple[Region, ...]:
    """Return, for each hunk of a file's diff, new line number -> text.

    Broken text gives fewer hunks, not an error.
    """
    found: list[dict[int, str]] = []
    for start, _, right, row in _rows(patch):
        if start:
            found.append({})
        if row[:1] in (" ", "+"):
            found[-1][right] = row[1:].removesuffix("\r")
    return tuple(found)


def unchanged(patch: str) -> Mapping[int, int]:
    """Return new line number -> old one, of the unchanged lines in the hunks."""
    return {right: left for _, left, right, row in _rows(patch) if row[:1] == " "}


def _rows(patch: str) -> Iterator[tuple[bool, int, int, str]]:
    """Yield (whether a hunk begins, old line, new line, row) of each row of a hunk."""
    left = right = 0
    for row in patch.split("\n"):
        header = HEADER.match(row)
        if header:
            left, right = int(header[1]), int(header[2])
            yield True, left, right, ""
        elif right and row[:1] in (" ", "+", "-"):
            yield False, left, right, row
            left += row[:1] != "+"
            right += row[:1] != "-"


def fits(suggestion: Suggestion, places: tuple[Region, ...]) -> bool:
    """Return whether one hunk holds all lines of the suggestion, with the text that it expects."""
    wanted = dict(zip(range(suggestion.first, suggestion.last + 1), suggestion.old, strict=True))
    return any(all(region.get(line) == text for line, text in wanted.items()) for region in places)
