"""Which Python files of a project are somebody's work: not environments, builds, caches or what git ignores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from coderefine.core import View

if TYPE_CHECKING:
    from coderefine.project import Place

FOREIGN = frozenset(
    {
        "__pycache__",
        "__pypackages__",
        "_build",
        "buck-out",
        "build",
        "dist",
        "env",
        "node_modules",
        "site-packages",
        "venv",
    }
)
"""Folders never looked into (ruff's own list of defaults), besides hidden ones and those with a pyvenv.cfg."""


def python_files(view: View, place: Place) -> list[str]:
    """The `.py` files below the project's root as `view` has them, repo-relative, sorted."""
    unwanted = ignored(place)
    return sorted(path for path in _walk(view, place.prefix, unwanted) if path not in unwanted)


def foreign(path: str) -> bool:
    """Whether `path` is in a folder that is nobody's work (by its name alone)."""
    return any(part in FOREIGN or part.startswith(".") for part in PurePosixPath(path).parts[:-1])


def ignored(place: Place) -> frozenset[str]:
    """Files and whole folders (without a slash at their end) that git ignores below the project's root."""
    if place.git_dir is None:
        return frozenset()
    from coderefine.git.command import run

    argv = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name", "-z")
    result = run(argv, cwd=place.root)
    # Without an answer nothing counts as ignored: a finding too many is better than one too few.
    names = result.stdout.decode("utf-8", "surrogateescape").split("\0") if result.returncode == 0 else []
    return frozenset(name.rstrip("/") for name in names if name)


def _walk(view: View, prefix: str, unwanted: frozenset[str]) -> Iterator[str]:
    start = view.door / prefix
    for folder, folders, files in os.walk(start):
        inside = PurePosixPath(prefix, os.path.relpath(folder, start)).as_posix()
        folders[:] = [name for name in folders if _ours(view, inside, name) and _join(inside, name) not in unwanted]
        yield from (_join(inside, name) for name in files if name.endswith(".py"))


def _ours(view: View, inside: str, name: str) -> bool:
    if name in FOREIGN or name.startswith("."):
        return False
    # os.path, because Path.exists raises where a folder may not be entered; os.walk passes over such a one.
    return not os.path.lexists(view.door / inside / name / "pyvenv.cfg")


def _join(folder: str, name: str) -> str:
    return PurePosixPath(folder, name).as_posix()
