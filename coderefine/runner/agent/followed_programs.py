"""Follows the Python programs that tests start: each leaves the lines it executed in a folder, for the test to count.

The way in is `sitecustomize`, as with coverage.py's support of subprocesses: `prepare` puts the folder `site` beside
this file in front of PYTHONPATH. A program started with -I, -E or -S, or by another user, is not seen.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, Iterator, List

FOLDER, TOP = "CODEREFINE_FOLLOW", "CODEREFINE_TOP"
"""Environment variables: where to leave what was seen, and the repository's top."""
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


def prepare(folder: str, top: str) -> None:
    """From now on programs that this process starts are followed."""
    os.makedirs(folder, exist_ok=True)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != SITE]
    os.environ.update({FOLDER: folder, TOP: top, "PYTHONPATH": os.pathsep.join([SITE, *paths])})


def stop() -> None:
    """Follow no longer."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != SITE]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    for name in (FOLDER, TOP, *(() if paths else ("PYTHONPATH",))):
        os.environ.pop(name, None)


def collect(folder: str) -> Iterator[List[Any]]:
    """Return what the programs executed that have ended since the last call: rows for test_coverage.Watch.add."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".json"):
            with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as stream:
                yield from json.load(stream)
            with contextlib.suppress(OSError):
                os.remove(path)


def record() -> None:
    """In a program that was started: watch it to its end."""
    import atexit

    from . import test_coverage

    folder, top = os.environ[FOLDER], os.environ[TOP]
    watch = test_coverage.open_watch(
        lambda path: path.startswith(top + os.sep) and "site-packages" not in path, lines=True
    )
    watch.begin()

    def leave() -> None:
        watch.pause()
        rows = [[path, first, name, line] for (path, first, name), line in watch.end()[0]]
        path = os.path.join(folder, "%d" % os.getpid())
        with contextlib.suppress(OSError):
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(rows, stream)
            os.replace(path, path + ".json")

    atexit.register(leave)
