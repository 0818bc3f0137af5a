"""Where a hanging or crashed process was: faulthandler's dump, read back into frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from coderefine.core import Frame

_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
KEPT = 8
"""Innermost frames of the project that are shown."""


def frames(dump: str, top: Path) -> tuple[Frame, ...]:
    """The project's frames (outermost first) of the thread that has most of them; empty when none has.

    `top` is the repository as the process saw it.
    """
    threads = [tuple(_ours(part, top)) for part in _THREAD.split(dump)[1:]]
    best = max(threads, key=len, default=())
    return tuple(reversed(best[:KEPT]))


def _ours(part: str, top: Path) -> Iterator[Frame]:
    for match in _FRAME.finditer(part):
        path = Path(match["path"])
        if path.is_relative_to(top) and "site-packages" not in path.parts:
            yield Frame(path.relative_to(top).as_posix(), int(match["line"]), match["name"])
