"""Storage that survives a power failure: whole files, contents by SHA-256, and a log of checksummed records."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coderefine.errors import JournalError
from coderefine.journal.entries import Json

PENDING = "coderefine/pending"
"""File in the git directory of a working tree with the name of the run that is writing there, or was interrupted."""


def write(path: Path, data: bytes) -> None:
    """Replace the content of `path` atomically: a reader sees the old content or the new. Raises JournalError."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise unwritable(path, error) from error


def append(path: Path, data: bytes) -> None:
    """Append `data` to `path` and wait until it is on the disk. Raises JournalError.

    A part of a line that a killed process has left is removed before, so that `data` begins on a new line; if writing
    `data` fails, its first part is removed, too.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        raise unwritable(path, error) from error
    size = os.fstat(handle).st_size
    try:
        size = _cut_torn_line(handle, size)
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size)
        raise unwritable(path, error) from error
    finally:
        os.close(handle)


def _cut_torn_line(handle: int, size: int) -> int:
    """Remove a last line without a line end, which a killed process was writing; return the size of the file then."""
    if size == 0:
        return 0
    os.lseek(handle, size - 1, os.SEEK_SET)
    if os.read(handle, 1) == b"\n":
        return size
    with os.fdopen(handle, "rb", closefd=False) as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
    os.ftruncate(handle, whole)
    return whole


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable; do nothing if the file system has no folder handles."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(f"the record of this run cannot be written ({path}): {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class Blobs:
    """Contents by their SHA-256, one file each; not stored in git, so that neither gc nor a filter can change them."""

    folder: Path

    def keep(self, data: bytes) -> str:
        """Store `data` and return its key. Raises JournalError."""
        key = hashlib.sha256(data).hexdigest()
        path = self.folder / key
        if not path.exists():
            make_folder(self.folder)
            write(path, data)
        return key

    def fetch(self, key: str) -> bytes:
        """Return the content that `keep` stored under `key`. Raises JournalError if it is missing or damaged."""
        try:
            data = (self.folder / key).read_bytes()
        except OSError as error:
            raise JournalError(f"a recorded content is missing: {self.folder / key}") from error
        if hashlib.sha256(data).hexdigest() != key:
            raise JournalError(f"a recorded content is damaged: {self.folder / key}")
        return data


@dataclass(frozen=True, slots=True)
class Record:
    """A line of journal.jsonl. `kind`: what `body` (JSON) describes."""

    kind: str
    body: Json


def add_record(path: Path, kind: str, body: Json) -> None:
    """Append one record with its checksum and wait until it is on the disk. Raises JournalError."""
    text = json.dumps({"kind": kind, "at": time.time(), "body": body}, separators=(",", ":")).encode()
    append(path, b"%08x %s\n" % (zlib.crc32(text), text))


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records in order. Raises JournalError for a damaged line.

    A last line without a line end is ignored: the process that was writing it was killed.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines[:-1], 1):
        record = _parsed(line)
        if record is None:
            raise JournalError(f"{path}: line {number} is damaged; this run cannot be read any more")
        yield record


def _parsed(line: bytes) -> Record | None:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        found = json.loads(text)
        return Record(found["kind"], found["body"])
    except (ValueError, KeyError, TypeError):
        return None
