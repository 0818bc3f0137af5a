"""Throw-away folders that no crash leaves behind for long: each is locked by its owner, the next run sweeps."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from coderefine.errors import WorkspaceError
from coderefine.workspace.strays import kill_strays

PREFIX = "coderefine-view-"
YOUNG = 30.0
"""Seconds in which a folder may still lack its lock."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder (mode 0700, path without links), removed at the end. Raises WorkspaceError."""
    try:
        path = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    except OSError as error:
        raise WorkspaceError(f"no temporary folder: {error}; free some space or set TMPDIR") from error
    lock = _lock(path)
    try:
        yield path
    finally:
        remove(path)
        if lock is not None:
            os.close(lock)


def sweep() -> int:
    """Remove what killed runs of this user left; how many folders. A living owner holds the folder's lock."""
    gone = 0
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            mine = stat.S_ISDIR(facts.st_mode) and (not hasattr(os, "getuid") or facts.st_uid == os.getuid())
            if mine and time.time() - facts.st_mtime > YOUNG:
                gone += _removed_if_free(path)
    return gone


def _removed_if_free(path: Path) -> int:
    lock = _lock(path)
    if lock is None:
        return 0
    kill_strays(str(path))
    remove(path)
    os.close(lock)
    return 1


def _lock(path: Path) -> int | None:
    """An open, locked handle of the folder; None where it is taken (or Windows, which has no flock)."""
    if sys.platform == "win32":
        return None
    import fcntl

    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def remove(path: Path) -> None:
    """Remove a file or a whole folder, whatever modes its content was left with; links are not followed."""
    if not path.is_symlink() and path.is_dir():
        if sys.version_info >= (3, 12):
            shutil.rmtree(path, onexc=_insist)
        else:
            shutil.rmtree(path, onerror=_insist)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _insist(_function: object, name: str, _fault: object) -> None:
    """A child may leave folders without permission bits: give them back to us and try once more."""
    path = Path(name)
    with contextlib.suppress(OSError):
        path.parent.chmod(0o700)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
            for item in path.iterdir():
                remove(item)
            path.rmdir()
        else:
            path.unlink()
