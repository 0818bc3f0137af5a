"""Bytes that survive a power cut: written aside, synced, renamed into place."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from coderefine.errors import JournalError


def write(path: Path, data: bytes) -> None:
    """Replace `path` with `data` at once: whoever reads sees the old content or the new. Raises JournalError."""
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
    """Add `data` to the end of `path` and wait until it is on the disk. Raises JournalError.

    What could not be written whole is cut off again, so that the next record starts on a line of its own.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        raise unwritable(path, error) from error
    size = os.fstat(handle).st_size
    try:
        _write_all(handle, data)
        os.fsync(handle)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size)
        raise unwritable(path, error) from error
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable; file systems without folder handles have nothing to wait for."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(f"the record of this run cannot be written ({path}): {error.strerror or error}")


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
