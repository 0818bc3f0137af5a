"""Marks: places in a file that a rule dislikes, and which of them a patch brings in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from coderefine.judge.change import Change, Side
from coderefine.judge.names import places
from coderefine.judge.normal import TREES


class Excuse(Enum):
    """When a new mark is let through: never, when the file already did such things, or in a command line."""

    NEVER = "never"
    HABIT = "habit"
    CLI = "cli"


@dataclass(frozen=True, slots=True)
class Mark:
    """`what` completes "the patch …". `wider` names the mark that this one may honestly narrow."""

    what: str
    line: int
    excuse: Excuse = Excuse.NEVER
    wider: str = ""


Scan = Callable[[Side], Iterable[Mark]]


@dataclass(slots=True)
class _Budget:
    """What the old files already had: marks by place, and marks of functions that are gone (they may move)."""

    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    freed: Counter[str] = field(default_factory=Counter)

    def covers(self, mark: Mark, place: str) -> bool:
        for what in (mark.what, mark.wider):
            if what and self.kept[what, place] > 0:
                self.kept[what, place] -= 1
                return True
        if self.freed[mark.what] > 0:
            self.freed[mark.what] -= 1
            return True
        return False


def novel(changed: tuple[Change, ...], scan: Scan) -> Iterator[tuple[Change, Mark]]:
    """The marks that `changed` brings in and no excuse covers by itself (HABIT is settled here, CLI is not).

    Marks are counted by kind and enclosing function, so a line may be edited around its mark and a function
    may move or be renamed with its marks; a mark that leaves one function and enters another is new.
    """
    budget = _budget(changed, scan)
    for change in changed:
        habits = {mark.what for mark in _old(change, scan)}
        for mark in _unexplained(change, scan, budget):
            if mark.excuse is not Excuse.HABIT or mark.what not in habits:
                yield change, mark


def _budget(changed: tuple[Change, ...], scan: Scan) -> _Budget:
    alive = {place for change in changed for place in places(change.new).values()}
    budget = _Budget()
    for change in changed:
        where, lines = places(change.old), (change.old_text or "").split("\n")
        for mark in _old(change, scan):
            place = _place(mark.line, where, lines)
            if place and place not in alive:
                budget.freed[mark.what] += 1
            else:
                budget.kept[mark.what, place or change.path] += 1
    return budget


def _unexplained(change: Change, scan: Scan, budget: _Budget) -> Iterator[Mark]:
    where = places(change.new)
    known = _lines(change.old_text) if change.python and change.old is None else frozenset()
    lines = (change.new_text or "").split("\n")
    for mark in sorted(_new(change, scan), key=lambda mark: (bool(mark.wider), mark.line)):
        if mark.line <= len(lines) and lines[mark.line - 1].strip() in known:
            continue  # the old file did not parse, but this line was there
        if not budget.covers(mark, _place(mark.line, where, lines) or change.path):
            yield mark


def _place(line: int, where: Mapping[int, str], lines: Sequence[str]) -> str:
    """The function that `line` is in; a comment after a function's last statement is in it when it is indented alike.

    So a linter may remove the statement that such a comment stood beside.
    """
    text = lines[line - 1] if line <= len(lines) else ""
    above = line - 1
    while text.lstrip().startswith("#") and above and not lines[above - 1].strip():
        above -= 1
    alike = text.lstrip().startswith("#") and above and _indent(lines[above - 1]) <= _indent(text)
    return where.get(above if alike else line, "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _old(change: Change, scan: Scan) -> Iterable[Mark]:
    return _scanned(scan, change.was) if change.was else ()


def _new(change: Change, scan: Scan) -> Iterable[Mark]:
    return _scanned(scan, change.now) if change.now else ()


@lru_cache(maxsize=8 * TREES)
def _scanned(scan: Scan, side: Side) -> tuple[Mark, ...]:
    """The marks of one scan; the old side is the same for thousands of candidates."""
    return tuple(scan(side))


def _lines(old: str | None) -> frozenset[str]:
    return frozenset(line.strip() for line in (old or "").split("\n"))
