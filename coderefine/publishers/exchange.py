"""Replace or remove a file only if it has the expected content.

The content is compared after the rename, so that even an edit that is saved at this moment is not lost. An editor may
save by renaming a new file to the old name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from coderefine.publishers.file_io import remove

AT_CWD = -100
EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2(2)."""


def put(ready: Path | None, place: Path, kept: Path, expected: bytes | None) -> bool:
    """Rename `ready` to `place` (None: remove `place`), and the file that was there to `kept`.

    Return False, with `place` unchanged, if its content is not `expected` (None: no file). All paths are in one folder.
    """
    if _content(place) != expected:
        return False
    if expected is None:
        return ready is None or _create(ready, place)
    if ready is None:
        return _take_out(place, kept, expected)
    return _replace(ready, place, kept, expected)


def _create(ready: Path, place: Path) -> bool:
    """Rename `ready` to `place`, never over a file that appeared meanwhile, if the file system has hard links."""
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
        remove(kept)  # saved once more: that content replaces this one
    return False


def _replace(ready: Path, place: Path, kept: Path, expected: bytes) -> bool:
    ours = ready.read_bytes()
    if not _exchange(ready, place):
        return _replace_linked(ready, place, kept, expected)
    if _content(ready) == expected:
        ready.replace(kept)
        return True
    _exchange(ready, place)
    if _content(ready) != ours:
        _exchange(ready, place)  # saved once more: that content replaces this one
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
    """Return the content of a file; None if there is none that can be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None
