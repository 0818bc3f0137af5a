"""Write a patch into a private tree, and read files of this tree, without ever following a link out of the tree."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from coderefine.core import Patch
from coderefine.errors import WorkspaceError

OLDER_BYTECODE = 2
"""Seconds added to a patched file's time, so that no older .pyc fits: CPython compares seconds and size (PEP 552)."""

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def lay(host_path: Path, patch: Patch) -> None:
    """Write `patch` into the tree at `host_path`. Raises WorkspaceError with the path that cannot be written."""
    for path, content in patch.files.items():
        program = path in patch.programs
        try:
            _lay(host_path, path, content, 0o777 if program else 0o666)
        except OSError as error:
            raise WorkspaceError(f"cannot write {path} in the private view: {error.strerror or error}") from error


def add(host_path: Path, files: Mapping[str, bytes]) -> None:
    """Write those of `files` (path -> content) that do not exist yet; skip those that cannot be written."""
    for path, content in files.items():
        with contextlib.suppress(OSError), _parent(host_path, path, make=True) as (folder, name):
            if _facts(folder, name) is None:
                _create(folder, name, content, None)


def prune(host_path: Path, gone: Iterable[str]) -> None:
    """Remove the folders of the removed files `gone` if they are empty or contain only stale bytecode."""
    folders = {parent for path in gone for parent in PurePosixPath(path).parents if parent.parts}
    for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
        with contextlib.suppress(OSError), _parent(host_path, f"{folder}/x", make=False) as (handle, _):
            if os.listdir(handle) == ["__pycache__"]:  # noqa: PTH208
                _drop_bytecode(handle)
                os.rmdir("__pycache__", dir_fd=handle)
        with contextlib.suppress(OSError), _parent(host_path, str(folder), make=False) as (handle, name):
            os.rmdir(name, dir_fd=handle)


def _lay(host_path: Path, path: str, content: bytes | None, mode: int) -> None:
    with _parent(host_path, path, make=content is not None) as (folder, name):
        old = _facts(folder, name)
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise WorkspaceError(f"{path} is not a regular file; a patch may not replace it")
        if old is not None:
            os.unlink(name, dir_fd=folder)
        if content is not None:
            _create(folder, name, content, old, mode)
        if name.endswith(".py"):
            _drop_bytecode(folder, name[:-3])


def _create(folder: int, name: str, content: bytes, old: os.stat_result | None, mode: int = 0o666) -> None:
    """Write a new file with a new inode, so that read-only files can be replaced and other hard links do not change."""
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, mode, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        if old is not None:
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
        when = old.st_mtime + OLDER_BYTECODE if old is not None else time.time()
        os.utime(file.fileno(), (when, when))


def _drop_bytecode(folder: int, stem: str = "") -> None:
    """Delete the bytecode of module `stem` ("": of all modules) in the open folder `folder`, including pytest's.

    An unchecked .pyc file (PEP 552) would be used instead of the patched source.
    """
    with contextlib.suppress(OSError):
        cache = os.open("__pycache__", os.O_RDONLY | os.O_DIRECTORY | NOFOLLOW, dir_fd=folder)
        try:
            for name in os.listdir(cache):  # noqa: PTH208
                if (not stem or name.startswith(f"{stem}.")) and name.endswith(".pyc"):
                    os.unlink(name, dir_fd=cache)
        finally:
            os.close(cache)


def _facts(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _parent(host_path: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """Yield the opened folder of `path` and the file's name; no link is followed on the way to the folder."""
    *folders, name = plain(path)
    handle = os.open(host_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for step in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, dir_fd=handle)
            inner = os.open(step, os.O_RDONLY | os.O_DIRECTORY | NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


def plain(path: str) -> tuple[str, ...]:
    """Return the parts of a repo-relative path. Raises WorkspaceError for anything that could leave the tree."""
    steps = PurePosixPath(path).parts
    if not steps or path.startswith("/") or "\0" in path or any(step == ".." for step in steps):
        raise WorkspaceError(f"{path!r} is not a path inside the repository")
    return steps


def read(top: Path, host_path: Path, path: str) -> bytes | None:
    """Return the content of a file as processes in the view see it at `top`; None if there is no file.

    A link out of the tree counts as no file.
    """
    target = _resolved(top, host_path, list(plain(path)))
    if target is None:
        return None
    try:
        return target.read_bytes() if stat.S_ISREG(target.lstat().st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkspaceError(f"cannot read {path} in the private view: {error.strerror or error}") from error


def _resolved(top: Path, host_path: Path, steps: list[str]) -> Path | None:
    """Return the path `steps` below `host_path`; None if links in it lead out of the tree `top`, or in circles."""
    here: list[str] = []
    for _ in range(400):
        if not steps:
            return host_path.joinpath(*here)
        step = steps.pop(0)
        if step == "..":
            if not here:
                return None
            here.pop()
            continue
        here.append(step)
        place = host_path.joinpath(*here)
        if place.is_symlink():
            target = PurePosixPath(place.readlink())
            if target.is_absolute():
                if not target.is_relative_to(top.as_posix()):
                    return None
                here, target = [], target.relative_to(top.as_posix())
            else:
                here.pop()
            steps = [*target.parts, *steps]
    return None
