"""The folders of the user that no child may write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from coderefine.project import Place


def covered(place: Place) -> tuple[Path, ...]:
    """What gets an overlay: the tree, git directories outside of it, and mounts below those, outermost first."""
    roots = [place.top]
    for folder in (place.git_dir, place.worktree_dir):
        if folder is not None and not any(folder.is_relative_to(root) for root in roots):
            roots.append(folder)
    below = [mount for mount in _mounts() if any(mount != root and mount.is_relative_to(root) for root in roots)]
    return (*roots, *sorted(set(below), key=lambda path: len(path.parts)))


def _mounts() -> Iterator[Path]:
    """Mount points of this process that are folders (proc(5): mountinfo escapes blanks in octal)."""
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        name = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4])
        path = Path(name.decode("utf-8", "surrogateescape"))
        if path.is_dir():
            yield path
