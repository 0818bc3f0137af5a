"""Map line numbers in summaries to the user's files, for steps that were made on top of earlier steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from coderefine.core import Attempt


def steps(attempts: Sequence[Attempt], before: Mapping[str, bytes | None]) -> Iterator[tuple[Attempt, str]]:
    """Yield each attempt with its summary, whose line numbers are those of the files as they were `before` the run.

    A summary is written for the tree that the attempt was made in, which holds the accepted steps before it.
    """
    base: Mapping[str, bytes | None] = {}
    for attempt in attempts:
        yield attempt, _translated(attempt.patch.summary, base, before)
        if attempt.number and attempt.verdict:
            base = attempt.patch.files


def _translated(summary: str, base: Mapping[str, bytes | None], before: Mapping[str, bytes | None]) -> str:
    """Return `summary` with every `path:line` of a file in `base` changed to the line number in `before`."""
    for path, data in base.items():
        old = before.get(path)
        if data is None or old is None or path not in summary:
            continue
        lines = _old_lines(old, data)
        pattern = rf"(?<![\w./-]){re.escape(path)}:(\d+)"

        def line(found: re.Match[str], path: str = path, lines: Sequence[int] = lines) -> str:
            number = int(found[1])
            return f"{path}:{lines[number - 1] if 0 < number <= len(lines) else number}"

        summary = re.sub(pattern, line, summary)
    return summary


def _old_lines(old: bytes, new: bytes) -> list[int]:
    """Return the line number in `old` for each line of `new`; for an inserted line, where it was inserted."""
    first, second = old.splitlines(), new.splitlines()
    numbers = [1] * len(second)
    for tag, old_start, old_end, new_start, new_end in SequenceMatcher(
        None, first, second, autojunk=False
    ).get_opcodes():
        for offset in range(new_end - new_start):
            same_place = tag == "equal" or old_start + offset < old_end
            numbers[new_start + offset] = (old_start + offset if same_place else max(old_start, old_end - 1)) + 1
    return numbers
