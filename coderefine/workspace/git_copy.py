"""A git directory for a copied tree: same refs, index and settings; shared objects; nothing that starts programs."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from coderefine.project import Place
from coderefine.temporary import remove

LEFT = frozenset({"objects", "hooks", "worktrees", "coderefine", "logs", "lfs", "fsmonitor--daemon", "rr-cache"})
OWN = ("HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD")
"""Files that each worktree has for itself (gitrepository-layout(5))."""


def copy_git_folder(place: Place, copy: Path) -> None:
    """Write `copy/.git` anew, which reads objects from the original git directory.

    git may update the time of an original object file (it "freshens" an object instead of writing it again); their
    content is never changed.
    """
    target = copy / ".git"
    remove(target)
    if place.git_dir is None:
        return
    _copy(place.git_dir, target)
    if place.worktree_dir is not None and place.worktree_dir != place.git_dir:
        for name in OWN:
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(place.worktree_dir / name, target / name)
    _remove_unsafe_settings(target / "config")


def _copy(source: Path, target: Path) -> None:
    target.mkdir()
    for item in source.iterdir():
        if item.name == "modules" and item.is_dir():
            for inner, outer in _modules(item, target / "modules"):
                outer.parent.mkdir(parents=True, exist_ok=True)
                _copy(inner, outer)
        elif item.name not in LEFT and not item.name.endswith(".lock"):
            _copied(item, target / item.name)
    (target / "objects" / "info").mkdir(parents=True)
    (target / "objects" / "info" / "alternates").write_bytes(str(source / "objects").encode() + b"\n")


def _copied(item: Path, target: Path) -> None:
    if item.is_dir():
        shutil.copytree(item, target, symlinks=True)
    elif item.is_file():
        shutil.copy2(item, target, follow_symlinks=False)


def _modules(folder: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the git directories of submodules; a submodule's name may contain slashes."""
    for item in folder.iterdir():
        if (item / "HEAD").is_file():
            yield item, target / item.name
        elif item.is_dir():
            yield from _modules(item, target / item.name)


def _remove_unsafe_settings(config: Path) -> None:
    """Remove the settings that refer to other repositories or paths, or that start programs."""
    with contextlib.suppress(FileNotFoundError):
        lines = config.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
        away = re.compile(r"\s*(worktree|hookspath|fsmonitor|sshcommand|editor|pager)\s*=", re.IGNORECASE)
        kept = [line for line in lines if not away.match(line)]
        config.write_text("".join(kept), "utf-8", "surrogateescape")
