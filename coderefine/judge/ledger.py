"""One line per attempt, for the next prompt and for the log."""

from __future__ import annotations

from collections.abc import Mapping

from coderefine.core import EMPTY, Attempt
from coderefine.judge.score import flipped, lost
from coderefine.judge.size import lines_of

WIDTH = 160


def ledger_line(attempt: Attempt, baseline: Attempt, *, originals: Mapping[str, bytes | None] = EMPTY) -> str:
    """What `attempt` changed, what that did to the tests and why it was refused, in at most 160 characters."""
    if attempt.verdict.ok:
        ending = f" → kept{_tests(attempt, baseline)}"
    else:
        ending = f" → refused: {_one_line(attempt.verdict.reason)}{_tests(attempt, baseline)}"
    ending = _cut(ending, WIDTH - 40)
    origin = f" {attempt.patch.origin}" if attempt.patch.origin else ""
    start = f"#{attempt.number}{origin}: {_files(attempt, originals)} {_one_line(attempt.patch.summary)}".rstrip()
    return _cut(start, WIDTH - len(ending)) + ending


def _files(attempt: Attempt, originals: Mapping[str, bytes | None]) -> str:
    names = []
    for path, after in attempt.patch.files.items():
        added, removed = lines_of(originals.get(path), after)
        names.append(f"{path} +{added} −{removed}" if path in originals else path)
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return (", ".join(names[:2]) + more) or "nothing"


def _tests(attempt: Attempt, baseline: Attempt) -> str:
    if not attempt.cases:
        return ""
    return f" ({len(flipped(attempt, baseline))} fixed, {len(lost(attempt, baseline))} broken)"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
