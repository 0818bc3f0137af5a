"""Distinguish test data that only grows from test data that changes: a removed case is no longer tested."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from coderefine.judge.weakened_tests import examples_in
from coderefine.source import text_of

ABOUT = re.compile(r"(readme|changelog|contributing|licen[cs]e|authors)(\.(md|rst|txt))?", re.IGNORECASE)
"""Names of files about the tests, which no test reads."""
PROSE = (".md", ".rst")
DEEPEST = 1
"""Lists and tables below this depth are parts of cases, and may not get more elements."""


def grown(path: str, before: bytes, after: bytes | None) -> bool:
    """Return whether nothing is removed from the data in `path`: every case (JSON) or line (others) is still there.

    In prose (PROSE) with doctests, only the doctests count. Files that no test reads (ABOUT) may change in any way.
    """
    was, now = text_of(before), text_of(after)
    if path.endswith(PROSE) and (examples := examples_in(was or "")):
        return not examples - examples_in(now or "")
    if ABOUT.fullmatch(PurePosixPath(path).name):
        return True
    if was is None or now is None:
        return before == after
    if path.endswith(".json"):
        try:
            return _extends(json.loads(was), json.loads(now), 0)
        except (ValueError, RecursionError):
            pass  # no JSON, or too deep: its lines are compared
    return _contained(was.splitlines(), now.splitlines())


def _extends(old: object, new: object, depth: int) -> bool:
    """Return whether `new` is `old`, or `old` with more elements. `depth`: number of lists and tables around `old`.

    If `depth` is more than DEEPEST, both must be equal.
    """
    if depth > DEEPEST or type(old) is not type(new):
        return old == new
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and _extends(value, new[key], depth + 1) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return _contained(old, new)
    return old == new


def _contained(old: Sequence[object], new: Sequence[object]) -> bool:
    """Return whether the elements `old` are among `new`, in their order."""
    left = iter(new)
    return all(any(one == other for other in left) for one in old)
