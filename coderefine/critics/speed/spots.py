"""Where the time goes: what profilers said, as functions of the project."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderefine.core import View

SHOWN = re.compile(r"(?P<file>.+\.py):(?P<line>\d+)\((?P<name>[^<].*)\)")
"""A function as pstats and pytest-benchmark print it: the last parts of its path, first line, name."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A function by repo-relative path and first line, with its share (0 to 1) of the time and its calls."""

    path: str
    line: int
    share: float
    calls: int


def spots(rows: Sequence[dict[str, Any]], view: View) -> tuple[Spot, ...]:
    """What runner/inside/hotspots.py reported."""
    found = ((_inside(row["file"], view), row) for row in rows)
    return tuple(Spot(path, row["line"], row["share"], row["calls"]) for path, row in found if path)


def _inside(file: str, view: View) -> str | None:
    for top in (view.top, view.top.resolve()):
        if Path(file).is_relative_to(top):
            return Path(file).relative_to(top).as_posix()
    return None


def shown(rows: Sequence[dict[str, Any]], view: View) -> tuple[Spot, ...]:
    """What pytest-benchmark's profiles hold, calls of one function added up, shares of the longest one."""
    seconds: dict[tuple[str, int], float] = {}
    calls: dict[tuple[str, int], int] = {}
    files = sorted(path.relative_to(view.door).as_posix() for path in view.door.rglob("*.py"))
    for row in rows:
        if key := _known(row, files, view.top.name):
            seconds[key] = seconds.get(key, 0.0) + float(row["cumtime"])
            calls[key] = calls.get(key, 0) + int(row["ncalls"])
    most = max(seconds.values(), default=0.0) or 1.0
    ranked = sorted(seconds, key=lambda key: seconds[key], reverse=True)
    return tuple(Spot(path, line, seconds[path, line] / most, calls[path, line]) for path, line in ranked)


def _known(row: Mapping[str, Any], files: Sequence[str], top: str) -> tuple[str, int] | None:
    """Path and line of a function of the project's; None for others."""
    told = SHOWN.fullmatch(row.get("function_name") or row.get("function") or "")
    if told is None:
        return None
    path = next((one for one in files if f"/{top}/{one}".endswith(f"/{told['file']}")), None)
    return (path, int(told["line"])) if path else None
