"""Undo what a recent commit or uncommitted work changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from coderefine.proposers.search.naturalness import common_ends
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import LINE_END, Edit, Replacement

MOST_LINES = 20
"""Maximum number of lines of a change that is undone as a whole."""
WORDS = re.compile(r"(\s+)")


def earlier(site: Site) -> Iterator[Edit]:
    """Put back the lines that a change replaced, if the new lines are still there."""
    module = site.module
    for change in site.world.changes.get(module.path, ()):
        if change.gone and 0 < len(change.came) <= MOST_LINES:
            for first in _occurrences(site, change.came):
                text = "".join(f"{line}\n" for line in change.gone)
                last = first + len(change.came) - 1
                yield Edit((_shortest(module.text, module.line_start(first), module.line_end(last), text),))


def _shortest(text: str, start: int, end: int, new: str) -> Replacement:
    """Return the replacement of `start`..`end` by `new`, without the words that are equal at its ends."""
    before, after = WORDS.split(text[start:end]), WORDS.split(new)
    head, tail = common_ends(before, after)
    left, right = ("".join(before[:head]), "".join(before[len(before) - tail :]))
    return Replacement(start + len(left), end - len(right), new[len(left) : len(new) - len(right)])


def _occurrences(site: Site, lines: Sequence[str]) -> Iterator[int]:
    """Yield the line numbers at which `lines` begin, if their first line that is not blank is in the statement."""
    rows, wanted = ([line.rstrip() for line in one] for one in (LINE_END.split(site.module.text), lines))
    blanks = next((place for place, line in enumerate(wanted) if line), 0)
    for at in range(len(rows) - len(wanted) + 1):
        if site.module.by_line.get(at + blanks + 1) is site.stmt and rows[at : at + len(wanted)] == wanted:
            yield at + 1
