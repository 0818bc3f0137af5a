"""Write a candidate's files to disk while it is judged; afterwards restore them.

Thus code that reads its own source, and programs that it starts, read the candidate's files. Files that a test process
created are removed too, where inotify can report them (Linux, trees that are not too large).
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import shutil
import struct
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Original(NamedTuple):
    """A file before any candidate: its bytes (None: there was no file) and its mtime in ns."""

    data: bytes | None
    mtime: int


def ours(path: str | None, top: str) -> bool:
    """Return whether `path` is below `top`, and does not contain `site-packages`."""
    return bool(path) and str(path).startswith(top + os.sep) and "site-packages" not in str(path)


class WorkingTree:
    """The tree below `top`, which only this server and its children write."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._originals: dict[str, Original] = {}
        self._stamp = 1_000_000_000
        self._dirt = FileChanges(top)
        self.changed: list[str] = []

    def original(self, path: str) -> Original:
        """Return the file at repo-relative `path` as it was at the first call."""
        if path not in self._originals:
            try:
                with open(self.full(path), "rb") as stream:
                    self._originals[path] = Original(stream.read(), os.fstat(stream.fileno()).st_mtime_ns)
            except (FileNotFoundError, NotADirectoryError):
                self._originals[path] = Original(None, 0)
        return self._originals[path]

    def full(self, path: str) -> str:
        return os.path.join(self._top, path)

    def put(self, files: Mapping[str, bytes | None]) -> None:
        """Write `files` with an mtime that no bytecode file on disk can have: a stale .pyc would hide the edit."""
        self._stamp += 1
        for path, data in files.items():
            self.original(path)
            _write(self.full(path), data, self._stamp * 1_000_000_000)
        self._dirt.forget()

    def restore(self, files: Mapping[str, bytes | None]) -> None:
        """Restore `files`, and remove all files created since `put`.

        Set `changed` to the absolute paths of other files that were changed or removed. Their old content is unknown,
        so they are not restored.
        """
        self.changed = self._dirt.clean({self.full(path) for path in files})
        for path in files:
            original = self._originals[path]
            _write(self.full(path), original.data, original.mtime)

    def sweep(self, scratch: str) -> None:
        """Empty the children's temporary folder."""
        try:
            names = os.listdir(scratch)
        except FileNotFoundError:
            os.makedirs(scratch)
            return
        for name in names:
            shutil.rmtree(os.path.join(scratch, name), ignore_errors=True)
            if os.path.lexists(os.path.join(scratch, name)):
                os.unlink(os.path.join(scratch, name))


def decoded(files: Mapping[str, str | None]) -> dict[str, bytes | None]:
    """Decode files from a message: base64 text, or null for a file to delete."""
    return {path: None if text is None else base64.b64decode(text) for path, text in files.items()}


def _write(full: str, data: bytes | None, mtime: int) -> None:
    if data is None:
        if os.path.lexists(full):
            os.unlink(full)
        return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as stream:
        stream.write(data)
    os.utime(full, ns=(mtime, mtime))


# -- changes by a child (inotify) -------------------------------------------------------------------------


MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
OVERFLOW = 0x4000
WATCHED = MODIFY | ATTRIB | MOVED_FROM | MOVED_TO | CREATE | DELETE
NEW = CREATE | MOVED_TO
FOLDERS = 4000
"""Maximum number of folders that are watched; a larger tree is not watched at all."""
PASSED_OVER = frozenset((
    ".git", ".hg", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache",
    ".ruff_cache", ".hypothesis", "site-packages", ".eggs", ".idea", ".vscode",
))  # fmt: skip
"""Folders written by tools, which do not affect results."""


class FileChanges:
    """Watches the folders below `top`; without inotify (macOS), or in a huge tree, it reports no changes."""

    def __init__(self, top: str) -> None:
        self._folders: dict[int, str] = {}
        self._known: set[str] = set()
        """The paths that existed before the tests; a file that is moved to such a path has replaced the old one."""
        self._fd = -1
        if sys.platform.startswith("linux"):
            self._watch(top)

    def _watch(self, top: str) -> None:
        folders = dict(_folders(top))
        if len(folders) > FOLDERS:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = int(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        for folder in folders if self._fd >= 0 else ():
            number = int(libc.inotify_add_watch(self._fd, os.fsencode(folder), WATCHED))
            if number >= 0:
                self._folders[number] = folder
                self._known.update(os.path.join(folder, name) for name in folders[folder])

    def forget(self) -> None:
        """Discard the events so far: this process has caused them."""
        self._known.update(path for path, mask in self._events() if mask & NEW)

    def clean(self, own: set[str]) -> list[str]:
        """Remove files created since `forget`; return older files that were changed or removed.

        Files in `own` (absolute paths) are ignored; the caller restores them.
        """
        changed: list[str] = []
        made: set[str] = set()
        for path, mask in self._events():
            if path in own or os.path.basename(path) in PASSED_OVER:
                continue
            if self._is_new(path, mask) and path not in changed:
                made.add(path)
            elif path not in made and path not in changed:
                changed.append(path)
        for path in made:
            _remove(path)
        self._events()
        return changed

    def _is_new(self, path: str, mask: int) -> bool:
        return bool(mask & NEW) and not (mask & MOVED_TO and path in self._known)

    def _events(self) -> list[tuple[str, int]]:
        """Return (path, event mask) of all pending events; inotify(7)."""
        found: list[tuple[str, int]] = []
        while self._fd >= 0:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                break
            place = 0
            while place < len(data):
                number, mask, _, size = struct.unpack_from("iIII", data, place)
                name = data[place + 16 : place + 16 + size].rstrip(b"\0")
                place += 16 + size
                if mask & OVERFLOW:
                    found.append(("?", MODIFY))
                elif name:
                    found.append((os.path.join(self._folders.get(number, "?"), os.fsdecode(name)), mask))
        return found


def _folders(top: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder at or below `top` with the names of what it contains, without the folders in PASSED_OVER."""
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name not in PASSED_OVER]
        yield folder, names + files


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.unlink(path)
