"""Failed attempts in a line each: what was changed, and what became of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice

from coderefine.core import Attempt, Patch, Situation
from coderefine.llm.context import text_of
from coderefine.llm.normalize import cut, normalize_output
from coderefine.proposers.model.tree import Overlay

ORIGIN = "model"
"""`Patch.origin` of what a model wrote."""

LAST = 8
"""Attempts remembered in a prompt, the newest ones."""

CHANGE = 160
REASON = 120
ROOM = 2_400
"""Characters of a ledger that nobody limits."""


def failed(situation: Situation) -> tuple[Attempt, ...]:
    """A model's attempts that were refused or judged no better, oldest first.

    What other proposers tried in vain is left out: they try too much, and for no reason a model could learn from.
    """
    return tuple(item for item in situation.attempts if item.patch.origin == ORIGIN and not item.verdict)


def ledger(situation: Situation, start: Overlay, room: int = ROOM) -> str:
    """A line for each of the last failed attempts that fit into `room` characters; empty without any.

    `start` is the tree without a patch.
    """
    known = frozenset(_changes(situation.best.patch, start))
    lines: list[str] = []
    for attempt in failed(situation)[: -LAST - 1 : -1]:
        lines.insert(0, _line(attempt, start, known))
        if sum(map(len, lines)) + len(lines) > room:
            return "\n".join(lines[1:] or [cut(lines[0], room).replace("\n", " ")])
    return "\n".join(lines)


def _line(attempt: Attempt, start: Overlay, known: frozenset[str]) -> str:
    changes = [change for change in _changes(attempt.patch, start) if change not in known]
    files = ", ".join(sorted(attempt.patch.files))
    changed = cut(" ".join(changes), CHANGE).replace("\n", " ")
    return f"#{attempt.number} {files}: {changed} → {outcome(attempt, start)}"


def outcome(attempt: Attempt, start: Overlay) -> str:
    """Why the attempt failed, whole, with the words of the first test that fails in it."""
    reason = " ".join((attempt.verdict.reason or "no better than before").split())
    case = next((case for case in attempt.cases.values() if case.status.bad), None)
    if case and case.failure:
        test = case.id.rsplit("::", 1)[-1]
        said = normalize_output(" ".join(case.failure.message.split()), start.top)
        reason = f"{reason}; {test}: {cut(said, REASON)}"
    return normalize_output(reason, start.top).replace("\n", " ")


def _changes(patch: Patch, start: Overlay) -> Iterator[str]:
    """Removed and added lines, marked - and +, blank ones left out."""
    for path, data in sorted(patch.files.items()):
        old, new = start.text(path) or "", text_of(data) or ""
        for line in islice(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""), 2, None):
            if line[0] in "+-" and line[1:].strip():
                yield f"{line[0]}{line[1:].strip()}"
