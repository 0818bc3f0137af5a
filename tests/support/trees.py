"""Photographs of folders, to prove that nothing touched them."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def photograph(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every path below `top` -> (mode, mtime in ns, content or link target); folders' times included."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(folder, name)
            facts = path.lstat()
            found[str(path.relative_to(top))] = (facts.st_mode, facts.st_mtime_ns, _content(path, facts))
    return found


def _content(path: Path, facts: os.stat_result) -> bytes:
    if stat.S_ISLNK(facts.st_mode):
        return os.fsencode(path.readlink())
    return path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
