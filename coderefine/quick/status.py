"""The state of index and working tree, from one `git status`."""

from __future__ import annotations

import os

from coderefine.quick.children import Child, reading_env
from coderefine.quick.ticket import NAMES

ARGV = ["git", "status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"]
FILE = (b"100644", b"100755")
SETTINGS = frozenset(os.fsencode(name) for name in NAMES)


def asked() -> Child:
    """Start `git status`. Raises OSError."""
    return Child(ARGV, reading_env())


def staged(output: bytes) -> list[str] | None:
    """Return the staged files: added, changed or deleted ones; None if index and working tree differ.

    Untracked code and untracked configuration of the tools count as a difference, because the tools would use them, but
    the commit does not contain them. Unusual entries count as a difference too.
    """
    found: list[str] = []
    for line in output.split(b"\0"):
        if not line:
            continue
        if line.startswith(b"? "):
            if line.endswith((b".py", b".pyi", b"/")) or os.path.basename(line[2:]) in SETTINGS:  # noqa: PTH119
                return None
            continue
        path = _changed(line)
        if path is None:
            return None
        found += path
    return found


def has_untracked(output: bytes) -> bool:
    """Return whether there are untracked files, which tests would find in the tree although the commit lacks them."""
    return any(line.startswith(b"? ") for line in output.split(b"\0"))


def _changed(line: bytes) -> list[str] | None:
    """Return the file in a line about a change, as a list (empty for a link); None for an unusual entry."""
    fields = line.split(b" ", 8)
    if fields[0] != b"1" or len(fields) != 9 or fields[1][1:] != b".":
        return None
    path = os.fsdecode(fields[8])
    if fields[1] == b"D.":
        return None if os.path.lexists(path) else [path]
    return [path] if fields[4] in FILE else []


def place(cwd: str) -> tuple[str, str] | None:
    """Return working tree and git directory if `cwd` is the top of a tree, where git and pre-commit start hooks."""
    pointer = f"{cwd}/.git"
    if os.path.isdir(pointer):  # noqa: PTH112
        return cwd, pointer
    try:
        with open(pointer, encoding="utf-8") as file:  # noqa: PTH123
            word, _, target = file.read().partition(":")
    except (OSError, UnicodeDecodeError):
        return None
    folder = os.path.join(cwd, target.strip())  # noqa: PTH118
    return (cwd, folder) if word == "gitdir" and os.path.isdir(folder) else None  # noqa: PTH112
