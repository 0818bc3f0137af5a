"""Record which lines of a project run, in the test process and in the Python processes that it starts.

Imported by every interpreter that has this folder on PYTHONPATH. The lines of the files below REAL_LINES_OF go to a
JSON file of each process in the folder REAL_LINES. Standard library only.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import uuid
from pathlib import Path
from types import FrameType
from typing import Any

TOP, FOLDER = os.environ.get("REAL_LINES_OF", ""), os.environ.get("REAL_LINES", "")
FILES: dict[str, set[int] | None] = {}


def lines_of(path: str) -> set[int] | None:
    """The set for a file's lines; None for a file of someone else."""
    if path not in FILES:
        FILES[path] = set() if os.path.realpath(path).startswith(TOP + os.sep) else None
    return FILES[path]


def traced(frame: FrameType, event: str, _: object) -> Any:
    found = lines_of(frame.f_code.co_filename)
    if found is None:
        return None
    found.add(frame.f_lineno)

    def local(inner: FrameType, event: str, _: object) -> Any:
        found.add(inner.f_lineno)
        return local

    return local


def save() -> None:
    sys.settrace(None)
    found = {os.path.realpath(path): sorted(lines) for path, lines in FILES.items() if lines}
    if found:
        (Path(FOLDER) / f"{uuid.uuid4().hex}.json").write_text(json.dumps(found), "utf-8")


if TOP and FOLDER:
    atexit.register(save)
    threading.settrace(traced)
    sys.settrace(traced)
