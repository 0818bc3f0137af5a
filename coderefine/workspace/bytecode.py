"""Views that contain the bytecode compiled by an earlier run of the unchanged tree."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.core import Patch, View, Views
from coderefine.workspace.mirror import SKIPPED
from coderefine.workspace.patched_tree import add

CACHE = "__pycache__"
MOST = 32 << 20
"""Bytes of bytecode that are kept."""


@dataclass(slots=True)
class BytecodeViews:
    """Adds the bytecode that the first view of the unchanged tree compiled to all later views.

    A fresh clone has no bytecode, and pytest rewrites the assertions of every test module before compiling it, which
    can take longer than the tests. Only bytecode of the unchanged tree is used, because code of a patch could
    manipulate it; a patched file gets none (Python compares time and size of a source with those in its bytecode).
    `top`: the tree's own path. Views at other paths get none, because pytest does not correct the path in bytecode.
    """

    views: Views
    top: Path
    kept: Mapping[str, bytes] = field(default_factory=dict)

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch(), *, network: bool = False) -> Iterator[View]:
        with self.views.open(patch, network=network) as view:
            if view.top == self.top:
                add(
                    view.host_path, {path: data for path, data in self.kept.items() if _source(path) not in patch.files}
                )
            yield view
            if view.top == self.top and not (patch.files or self.kept):
                self.kept = compiled(view.host_path)

    def instead(self, why: str) -> bool:
        return self.views.instead(why)


def compiled(host_path: Path) -> dict[str, bytes]:
    """Return the bytecode below `host_path`, at most MOST bytes, by repo-relative path."""
    found: dict[str, bytes] = {}
    room = MOST
    for folder, names, files in os.walk(host_path):
        names[:] = [name for name in names if name == CACHE or name not in SKIPPED]
        for name in files if folder.endswith(CACHE) else ():
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                if name.endswith(".pyc") and (data := _content(path, room)):
                    found[path.relative_to(host_path).as_posix()] = data
                    room -= len(data)
    return found


def _content(path: Path, most: int) -> bytes:
    """Return the content of a regular file; nothing where it is longer than `most`. Raises OSError for a link."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        return file.read() if os.fstat(file.fileno()).st_size <= most else b""


def _source(path: str) -> str:
    """Return the source of a .pyc: `tests/__pycache__/test_a.cpython-311-pytest-9.1.0.pyc` is of `tests/test_a.py`."""
    folder, _, name = path.rpartition(f"{CACHE}/")
    return f"{folder}{name.partition('.')[0]}.py"
