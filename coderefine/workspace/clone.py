"""Copies one file, sharing its blocks where the file system can."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from pathlib import Path

FICLONE = 0x40049409
"""ioctl of linux/fs.h: share all blocks of another file (btrfs, xfs, bcachefs)."""


def clone(source: Path, target: Path, facts: os.stat_result) -> None:
    """A new file `target` with content, mode and times of `source`; no link between them."""
    with source.open("rb") as old, target.open("xb") as new:
        if not _reflinked(old.fileno(), new.fileno()):
            shutil.copyfileobj(old, new, 1 << 20)
    target.chmod(stat.S_IMODE(facts.st_mode))
    with contextlib.suppress(OSError):
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _reflinked(old: int, new: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        fcntl.ioctl(new, FICLONE, old)
    except OSError:
        return False
    return True
