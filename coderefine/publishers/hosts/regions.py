"""Which lines of a pull request can carry a remark: both ends of a suggestion must lie in one hunk of its diff."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coderefine.publishers.hosts.bundle import Suggestion

HEADER = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
Region = Mapping[int, str]


def regions(patch: str) -> tuple[Region, ...]:
    """For each hunk of a file's diff: right-hand line number -> text. Broken text gives fewer regions, no error."""
    found: list[dict[int, str]] = []
    line = 0
    for row in patch.split("\n"):
        header = HEADER.match(row)
        if header:
            found.append({})
            line = int(header[1])
        elif found and row[:1] in (" ", "+"):
            found[-1][line] = row[1:].removesuffix("\r")
            line += 1
    return tuple(found)


def fits(suggestion: Suggestion, places: tuple[Region, ...]) -> bool:
    """Whether one hunk holds all its lines, and they read as the suggestion believes."""
    wanted = dict(zip(range(suggestion.first, suggestion.last + 1), suggestion.old, strict=True))
    return any(all(region.get(line) == text for line, text in wanted.items()) for region in places)
