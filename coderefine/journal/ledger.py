"""journal.jsonl: one checksummed line per record; a torn last line is a crash, any other damage is an error."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coderefine.errors import JournalError
from coderefine.journal import storage
from coderefine.journal.codec import Json


@dataclass(frozen=True, slots=True)
class Record:
    """`kind` says what `body` (JSON) is; `at` is Unix time."""

    kind: str
    at: float
    body: Json


def add(path: Path, kind: str, body: Json) -> None:
    """Append one record; on the disk when this returns. Raises JournalError."""
    mend(path)
    text = json.dumps({"kind": kind, "at": time.time(), "body": body}, separators=(",", ":")).encode()
    storage.append(path, b"%08x %s\n" % (zlib.crc32(text), text))


def read(path: Path) -> Iterator[Record]:
    """The records in order; what follows the last line end is ignored. Raises JournalError for a damaged line."""
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


def mend(path: Path) -> None:
    """Cut off a last line without its line end: what a killed run was writing when it died."""
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size == 0 or _last_byte(path) == b"\n":
                return
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage.unwritable(path, error) from error


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)


def _parsed(line: bytes) -> Record | None:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        found = json.loads(text)
        return Record(found["kind"], found["at"], found["body"])
    except (ValueError, KeyError, TypeError):
        return None
