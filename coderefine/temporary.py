"""Temporary folders, removed even after a crash: the owner locks its folder, later runs remove unlocked folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PREFIX = "coderefine-"
KINDS = frozenset({"view", "git", "merge", "mail", "replay"})
OTHERS = ("/tmp", "/var/tmp")
AGE = 30.0
"""Age in seconds above which a folder counts as abandoned if its lock is free: a new one may not be locked yet."""


def base() -> Path:
    """Return the folder of our temporary folders: TMPDIR, or one of OTHERS if TMPDIR is inside a working tree of git.

    There, git would list our files, and a private view of the tree would hide them.
    """
    found = Path(tempfile.gettempdir())
    usable = (one for one in map(Path, OTHERS) if os.access(one, os.W_OK | os.X_OK) and not _in_working_tree(one))
    return next(usable, found) if _in_working_tree(found) else found


def _in_working_tree(path: Path) -> bool:
    place = path.resolve()
    return any((one / ".git").exists() for one in (place, *place.parents))


@contextlib.contextmanager
def folder(kind: str) -> Iterator[Path]:
    """Yield a new folder (mode 0700, path without links), removed at the end. `kind`: one of KINDS. Raises OSError."""
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=base())).resolve()
    lock = _lock(path)
    try:
        yield path
    finally:
        remove(path)
        if lock is not None:
            os.close(lock)


def sweep(first: Callable[[Path], object] = bool) -> int:
    """Remove the folders that killed runs of this user left, and return their number; a live run locks its folders.

    `first` is called with each folder before it is removed.
    """
    gone = 0
    for path in base().glob(f"{PREFIX}*-*"):
        with contextlib.suppress(OSError):
            gone += _stale(path) and _removed_if_free(path, first)
    return gone


def _stale(path: Path) -> bool:
    """Return whether `path` is a folder of this user, made by coderefine and so old that it may be removed."""
    facts = path.lstat()
    mine = stat.S_ISDIR(facts.st_mode) and (not hasattr(os, "getuid") or facts.st_uid == os.getuid())
    kind = path.name.removeprefix(PREFIX).partition("-")[0]
    return mine and kind in KINDS and time.time() - facts.st_mtime > AGE


def _removed_if_free(path: Path, first: Callable[[Path], object]) -> bool:
    lock = _lock(path)
    if lock is None:
        return False
    try:
        first(path)
        remove(path)
    finally:
        os.close(lock)
    return True


def _lock(path: Path) -> int | None:
    """Return an open, locked handle of the folder; None if it is locked by its owner (or on Windows, without flock)."""
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
    """Remove a file or a whole folder, whatever permissions its content has; links are not followed."""
    if not path.is_symlink() and path.is_dir():
        if sys.version_info >= (3, 12):
            shutil.rmtree(path, onexc=_with_permissions)
        else:
            shutil.rmtree(path, onerror=_with_permissions)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _with_permissions(_function: object, name: str, _fault: object) -> None:
    """Restore permission bits that a child removed from a folder, and retry."""
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
