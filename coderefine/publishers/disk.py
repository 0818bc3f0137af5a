"""The user's files, one at a time: where a path really is, what it holds, how it is replaced at once."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from coderefine.errors import PublishError


def place_of(top: Path, path: str, *, remove: bool = False) -> str:
    """`path` with its links followed (only its folder's when it is to be removed), still relative to `top`.

    Raises PublishError when that leads out of the repository, into a git directory, or nowhere.
    """
    named = top / path
    real = named.parent.resolve() / named.name if remove else named.resolve()
    root = top.resolve()
    if not real.is_relative_to(root) or real == root:
        raise PublishError(f"{path} leads outside the repository ({real}), where nothing is ever written")
    place = real.relative_to(root)
    if any(part.lower() == ".git" for part in place.parts):
        raise PublishError(f"{path} leads into a git directory, where nothing is ever written")
    if named.is_symlink() and not remove and not real.exists():
        raise PublishError(f"{path} is a link to nothing: repair the link first")
    return place.as_posix()


def current(top: Path, path: str) -> bytes | None:
    """What `path` holds now; None when absent. Raises PublishError for a folder, a device, or no permission."""
    place = top / path
    try:
        if stat.S_ISREG(place.stat().st_mode):
            return place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise refused(path, error) from error
    raise PublishError(f"{path} is not a regular file any more; nothing was written")


def mode_of(top: Path, path: str) -> int | None:
    """Permission bits of an existing file, or None."""
    try:
        return stat.S_IMODE((top / path).stat().st_mode)
    except OSError:
        return None


def prepare(top: Path, path: str, temp: str, data: bytes, mode: int | None) -> None:
    """Write `data` to `temp`, beside `path`, with the mode and owner that `path` has or is to get; on the disk."""
    handle = os.open(top / temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if mode is not None:
            (top / temp).chmod(mode)
            _own(top / path, top / temp)
        os.fsync(file.fileno())


def new_folders(top: Path, path: str) -> list[str]:
    """Folders that must be made for `path`, outermost first."""
    missing: list[str] = []
    folder = (top / path).parent
    while folder != top and not folder.exists():
        missing.insert(0, folder.relative_to(top).as_posix())
        folder = folder.parent
    return missing


def remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()


def refused(path: str, error: OSError) -> PublishError:
    """One line for an OSError met while writing."""
    reason = {
        "EFBIG": "the file would be too large",
        "ENOSPC": "the disk is full",
        "EDQUOT": "the disk quota is used up",
    }
    import errno

    said = reason.get(errno.errorcode.get(error.errno or 0, ""), (error.strerror or str(error)).lower())
    return PublishError(f"{path} cannot be written: {said}; nothing was changed")


def _own(original: Path, copy: Path) -> None:
    """Owner and group as the original has them, where we may."""
    try:
        wanted, found = original.stat(), copy.stat()
    except FileNotFoundError:
        return
    if (wanted.st_uid, wanted.st_gid) != (found.st_uid, found.st_gid):
        with contextlib.suppress(PermissionError):
            os.chown(copy, wanted.st_uid, wanted.st_gid)
            copy.chmod(stat.S_IMODE(wanted.st_mode))
