"""What a commit under way is about, read as git's hook sees it: its index may be another than the usual one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.errors import GitError
from coderefine.git import command

INDEX = ("GIT_INDEX_FILE", "GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""What git tells its hooks; only commands that read get to see it."""
LINK, MODULE = "120000", "160000"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git knows it without having it (in SHA-1 repositories)."""


@dataclass(frozen=True, slots=True)
class Staged:
    """`paths`: files added or changed (repo-relative). `hidden`: what a tree of exactly this state holds where the
    working tree holds something else (None: no file). `gone`: files deleted or renamed away.
    """

    paths: tuple[str, ...]
    hidden: Mapping[str, bytes | None]
    gone: tuple[str, ...] = ()


def staged(top: Path) -> Staged:
    """The index against HEAD. `git commit -a`, `-- file`, `--amend` and linked worktrees are seen as git means them."""
    return Staged(_changed(top, "--cached"), _hidden(top, ""), _deleted(top, "--cached"))


def committed(top: Path, since: str) -> Staged:
    """HEAD against `since` (any commit-ish); against nothing where there is no such commit, as before the first one."""
    since = since if _known(top, since) else EMPTY_TREE
    return Staged(_changed(top, since, "HEAD"), _hidden(top, "HEAD"), _deleted(top, since, "HEAD"))


def _known(top: Path, name: str) -> bool:
    try:
        return bool(_git(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"))
    except GitError:
        return False


def _changed(top: Path, *what: str) -> tuple[str, ...]:
    return tuple(
        _names(_git(top, "diff", "--name-only", "-z", "--diff-filter=ACMRT", "--ignore-submodules", *what, "--"))
    )


def _hidden(top: Path, tree: str) -> dict[str, bytes | None]:
    """Working-tree files that differ from the index (or from `tree`), with what stands there."""
    against = (tree,) if tree else ()
    raw = _git(top, "diff", "--raw", "-z", "--no-renames", "--abbrev=64", "--ignore-submodules", *against, "--")
    fields = iter(_names(raw))
    found: dict[str, bytes | None] = {}
    for head in fields:
        mode = head[1:].split(" ")[0]
        path = next(fields)
        if mode not in (LINK, MODULE):
            found[path] = None if mode == "000000" else _git(top, "cat-file", "blob", f"{tree}:{path}")
    if not tree:
        found.update(dict.fromkeys(_gone(top)))
    return found


def _gone(top: Path) -> list[str]:
    """Staged for deletion, and still in the working tree."""
    return [name for name in _deleted(top, "--cached", renames=True) if (top / name).is_file()]


def _deleted(top: Path, *what: str, renames: bool = False) -> tuple[str, ...]:
    more = () if renames else ("--no-renames",)
    said = _git(top, "diff", "--name-only", "-z", "--diff-filter=D", "--ignore-submodules", *more, *what, "--")
    return tuple(_names(said))


def _names(said: bytes) -> list[str]:
    return [os.fsdecode(name) for name in said.split(b"\0") if name]


def _git(top: Path, *args: str) -> bytes:
    """Output of a git command that only reads, with the hook's own index. Raises GitError."""
    result = command.run(args, cwd=top, env={name: os.environ[name] for name in INDEX if name in os.environ})
    if result.returncode:
        raise command.complaint(result, top)
    return result.stdout
