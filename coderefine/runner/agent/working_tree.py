"""Puts a candidate's files on disk while it is judged: code that reads itself, and programs it starts, see them."""

from __future__ import annotations

import base64
import os
import shutil
from typing import Dict, List, Mapping, NamedTuple, Optional

from . import file_changes


class Original(NamedTuple):
    """A file before any candidate: its bytes (None: there was no file) and its mtime in ns."""

    data: Optional[bytes]
    mtime: int


class WorkingTree:
    """The tree below `top`, which only this server and its children write."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._originals: Dict[str, Original] = {}
        self._stamp = 1_000_000_000
        self._dirt = file_changes.FileChanges(top)
        self.changed: List[str] = []

    def original(self, path: str) -> Original:
        """The file at repo-relative `path` as it was when first asked for."""
        if path not in self._originals:
            self._originals[path] = _read(self.full(path))
        return self._originals[path]

    def full(self, path: str) -> str:
        return os.path.join(self._top, path)

    def put(self, files: Mapping[str, Optional[bytes]]) -> None:
        """Write `files`, each with an mtime no compiled file on disk can have: a stale .pyc would hide the edit."""
        self._stamp += 1
        for path, data in files.items():
            self.original(path)
            _write(self.full(path), data, self._stamp * 1_000_000_000)
        self._dirt.forget()

    def restore(self, files: Mapping[str, Optional[bytes]]) -> None:
        """Put everything back; `changed` names what we could not: older files that the child wrote or removed."""
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


def decoded(files: Mapping[str, Optional[str]]) -> Dict[str, Optional[bytes]]:
    """Files as they come over the wire: base64 text, or null for a file to delete."""
    return {path: None if text is None else base64.b64decode(text) for path, text in files.items()}


def _read(full: str) -> Original:
    try:
        with open(full, "rb") as stream:
            return Original(stream.read(), os.fstat(stream.fileno()).st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return Original(None, 0)


def _write(full: str, data: Optional[bytes], mtime: int) -> None:
    if data is None:
        if os.path.lexists(full):
            os.unlink(full)
        return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as stream:
        stream.write(data)
    os.utime(full, ns=(mtime, mtime))
