"""Read and replace the user's files, one at a time; a file is replaced or removed only if it has the expected content.

The content is compared after the rename, so that even an edit that is saved at this moment is not lost. An editor may
save by renaming a new file to the old name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from coderefine.errors import PublishError, UnwritableError

MANAGED = ("security.", "trusted.")
UNKNOWN = frozenset({errno.ENOTSUP, errno.ENOSYS})
"""Error codes of a file system without extended attributes."""
AT_CWD = -100
EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2(2)."""
CAUSES = {
    errno.EFBIG: "the file would be too large",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
}
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Error codes of a disk that must be made writable first."""


def place_of(top: Path, path: str, *, remove: bool) -> str:
    """Return the path of `path` relative to the repository `top`, after following symbolic links.

    `remove`: do not follow `path` itself if it is a link. Raises PublishError if the result is outside the repository
    or in a git directory, or (without `remove`) if `path` is a link to a missing file.
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
    """Return the present content of `path`; None if there is no file.

    Raises PublishError for a folder or a device, or if the file may not be read.
    """
    place = top / path
    with refused(path):
        try:
            if stat.S_ISREG(place.stat().st_mode):
                return place.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
    raise PublishError(f"{path} is not a regular file any more; nothing was written")


def mode_of(top: Path, path: str) -> int | None:
    """Return the permission bits of an existing file, else None."""
    try:
        return stat.S_IMODE((top / path).stat().st_mode)
    except OSError:
        return None


def prepare(top: Path, path: str, temp: str, data: bytes, mode: int | None) -> None:
    """Write `data` to `TEMP.new`, in the folder of `path`, with mode and owner of `path`, and flush it to the disk.

    `mode`: the mode if there is no file at `path`; None for the usual mode of a new file.
    """
    ready = top / f"{temp}.new"
    ready.parent.mkdir(parents=True, exist_ok=True)
    present = mode_of(top, path)
    mode = mode if present is None else present
    handle = os.open(ready, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if mode is not None:
            ready.chmod(mode)
            _own(top / path, ready)
            _attribute(top / path, ready)
        os.fsync(file.fileno())


def install(top: Path, path: str, temp: str, found: bytes | None, data: bytes | None, *, in_place: bool = True) -> bool:
    """Replace `path` by the prepared file `TEMP.new` with the content `data`, or remove `path` if `data` is None.

    The old file is kept as `TEMP.old`. Return False, with `path` unchanged, if its content is not `found` (None: no
    file). With `in_place`, a file with several names (hard links) is overwritten instead, so that all names get the new
    content; then there is no `TEMP.old`.
    """
    place, ready, kept = top / path, top / f"{temp}.new", top / f"{temp}.old"
    if _content(place) != found:
        return False
    if data is None:
        return found is None or _take_out(place, kept, found)
    if found is None:
        return _create(ready, place)
    if in_place and is_shared(place) and not kept.exists():
        return overwrite(place, found, data)
    return _replace(ready, place, kept, found, data)


def _create(ready: Path, place: Path) -> bool:
    """Rename `ready` to `place`; return False if a file is there already.

    On a file system without hard links, a file that appears at this very moment is overwritten.
    """
    if _link(ready, place):
        ready.unlink()
        return True
    if os.path.lexists(place):
        return False
    ready.replace(place)
    return True


def _take_out(place: Path, kept: Path, expected: bytes) -> bool:
    place.replace(kept)
    if _content(kept) == expected:
        return True
    if not _create(kept, place):
        remove(kept)  # the user has saved the file again: the newer content stays
    return False


def _replace(ready: Path, place: Path, kept: Path, expected: bytes, ours: bytes) -> bool:
    if not _exchange(ready, place):
        return _replace_linked(ready, place, kept, expected)
    if _content(ready) == expected:
        ready.replace(kept)
        return True
    _exchange(ready, place)
    if _content(ready) != ours:
        _exchange(ready, place)  # the user has saved the file again: the newer content goes back
    return False


def _replace_linked(ready: Path, place: Path, kept: Path, expected: bytes) -> bool:
    """Replace `place` where two files cannot be exchanged: an edit between comparison and rename may be lost."""
    linked = _link(place, kept)
    if _content(place) != expected or (linked and not place.samefile(kept)):
        return False
    ready.replace(place)
    if linked and _content(kept) != expected:
        kept.replace(place)
        return False
    return True


def _exchange(one: Path, two: Path) -> bool:
    """Exchange two files in one step. Return False if the system or the file system cannot do it."""
    if sys.platform != "linux":
        return False
    import ctypes  # 8 ms; needed only when something is written

    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(AT_CWD, os.fsencode(one), AT_CWD, os.fsencode(two), EXCHANGE) == 0


def _link(place: Path, name: Path) -> bool:
    """Make a hard link. Return False if that is not possible."""
    try:
        os.link(place, name, follow_symlinks=False)
    except OSError:
        return False
    return True


def _content(path: Path) -> bytes | None:
    """Return the content of a file; None if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def is_shared(path: Path) -> bool:
    """Return whether the file has other names (hard links), which would keep the old content if it were replaced."""
    try:
        facts = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1


def overwrite(path: Path, before: bytes, after: bytes) -> bool:
    """Write `after` into the file if its content is `before`; else write nothing and return False.

    If the process is killed meanwhile, the file contains the beginning of `after` and the rest of `before`: see
    `is_torn`.
    """
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "r+b", buffering=0) as file:
        if file.read() != before:
            return False
        _fill(file, after)
        try:
            replaced = path.lstat().st_ino != os.fstat(file.fileno()).st_ino
        except OSError:
            replaced = True
        if replaced:
            _fill(file, before)
        os.fsync(file.fileno())
    return not replaced


def is_torn(found: bytes | None, before: bytes | None, after: bytes | None) -> bool:
    """Return whether `found` is a mixture of `before` and `after`, as a kill during `overwrite` leaves it.

    `found` may begin with `before` or with `after`, because an interrupted `overwrite` may have been restoring it.
    """
    if found is None or before is None or after is None:
        return False
    return _is_mixture(found, before, after) or _is_mixture(found, after, before)


def _is_mixture(found: bytes, before: bytes, after: bytes) -> bool:
    written = next((at for at, (one, two) in enumerate(zip(found, after, strict=False)) if one != two), None)
    written = min(len(found), len(after)) if written is None else written
    return found[written:] == before[written:]


def _fill(file: FileIO, data: bytes) -> None:
    file.seek(0)
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    file.truncate(len(data))


def new_folders(top: Path, path: str) -> list[str]:
    """Return the folders to create for `path`, outermost first."""
    missing: list[str] = []
    folder = (top / path).parent
    while folder != top and not folder.exists():
        missing.insert(0, folder.relative_to(top).as_posix())
        folder = folder.parent
    return missing


def remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()


@contextlib.contextmanager
def refused(path: str) -> Iterator[None]:
    """Convert an OSError about `path` to a PublishError with a message of one line."""
    try:
        yield
    except OSError as error:
        cause = CAUSES.get(error.errno or 0, (error.strerror or str(error)).lower())
        kind = UnwritableError if error.errno in DISK else PublishError
        raise kind(f"{path} cannot be written: {cause}; nothing was changed") from error


def _attribute(original: Path, copy: Path) -> None:
    """Copy extended attributes and access lists from the original.

    Raises OSError if an attribute that the user has set cannot be copied. Attributes that the system manages (labels,
    capabilities) are copied if that is permitted. An access list that the folder gives to every new file is removed if
    the original has none.
    """
    if not hasattr(os, "listxattr"):
        return
    try:
        wanted = {name: os.getxattr(original, name) for name in os.listxattr(original)}
        found = os.listxattr(copy)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno in UNKNOWN:
            return
        raise
    for name in set(found) - wanted.keys():
        with contextlib.suppress(OSError):
            os.removexattr(copy, name)
    for name, value in wanted.items():
        managed = contextlib.suppress(OSError) if name.startswith(MANAGED) else contextlib.nullcontext()
        with managed:
            os.setxattr(copy, name, value)


def _own(original: Path, copy: Path) -> None:
    """Copy owner and group, and then the mode, from the original, where that is permitted.

    Do nothing if a file is missing, or if owner and group are the same.
    """
    try:
        wanted, found = original.stat(), copy.stat()
    except FileNotFoundError:
        return
    if (wanted.st_uid, wanted.st_gid) != (found.st_uid, found.st_gid):
        with contextlib.suppress(PermissionError):
            os.chown(copy, wanted.st_uid, wanted.st_gid)
            copy.chmod(stat.S_IMODE(wanted.st_mode))
