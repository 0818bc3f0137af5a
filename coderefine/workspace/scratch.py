"""The throw-away folder that a view lives in, and what killed runs left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from coderefine import temporary
from coderefine.errors import WorkspaceError
from coderefine.workspace.strays import kill_strays


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder (mode 0700, path without links), removed at the end. Raises WorkspaceError."""
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(temporary.folder("view"))
        except OSError as error:
            raise WorkspaceError(f"no temporary folder: {error}; free some space or set TMPDIR") from error
        yield path


def sweep() -> int:
    """Remove what killed runs of this user left, and end what still runs in it; how many folders."""
    return temporary.sweep(lambda path: kill_strays(str(path)))
