"""Orders plausible repairs: those that keep behaviour before those that remove it, then by score."""

from __future__ import annotations

from coderefine.proposers.search.validate import Repair

SHORTCUT = 2.0
"""Taken off the score of a repair that removes behaviour, on top of what ranking took off."""


def ordered(repairs: list[Repair]) -> list[Repair]:
    """Whole repairs first, best first; partial ones by the number of tests they pass."""
    return sorted(repairs, key=lambda repair: (not repair.whole, -len(repair.fixed), -worth(repair)))


def worth(repair: Repair) -> float:
    scored = repair.proposed.scored
    return scored.score - SHORTCUT * scored.operator.shortcut - 0.02 * _size(repair)


def _size(repair: Repair) -> int:
    return sum(abs(len(part.text)) + part.end - part.start for part in repair.proposed.scored.edit.parts)
