"""Photographs of folders, to prove that nothing touched them."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def photograph(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every path below `top` -> (mode, mtime in ns, content or link target); folders' times included.

    Without the times of git's objects: git touches an object it finds in an alternate, to put off its pruning.
    """
    found = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(folder, name)
            facts = path.lstat()
            found[str(path.relative_to(top))] = (facts.st_mode, _time(path, facts), _content(path, facts))
    return found


def _time(path: Path, facts: os.stat_result) -> int:
    return 0 if "objects" in path.parts else facts.st_mtime_ns


def _content(path: Path, facts: os.stat_result) -> bytes:
    if stat.S_ISLNK(facts.st_mode):
        return os.fsencode(path.readlink())
    return path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
