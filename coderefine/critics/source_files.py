"""Find the Python files that critics read, and decide which files are in the requested paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from coderefine.core import Finding, Severity, View
from coderefine.errors import GitError
from coderefine.source import text_of

if TYPE_CHECKING:
    from coderefine.project import Place

EXCLUDED = frozenset(
    (
        *("__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist"),
        *("env", "node_modules", "site-packages", "venv"),
    )
)
"""Excluded folders (ruff's defaults); hidden folders, and folders with a pyvenv.cfg, are excluded too."""


def inside(path: str, scope: tuple[str, ...]) -> bool:
    """Return whether `path` is one of the files, or in one of the folders, of `scope` (".": the whole repository)."""
    return any(part in ("", ".") or path == part or path.startswith(f"{part.rstrip('/')}/") for part in scope)


def weighed(findings: Iterable[Finding], scope: tuple[str, ...]) -> tuple[Finding, ...]:
    """Sort `findings` by path and line. Findings outside `scope` become soft: they are compared, but block nothing."""
    ordered = sorted(findings, key=lambda item: (item.path, item.span.first if item.span else 0))
    return tuple(item if inside(item.path, scope) else replace(item, severity=Severity.SOFT) for item in ordered)


def sources(view: View, place: Place, scope: tuple[str, ...], skip: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield path and text ("" if it cannot be decoded) of each Python file in `scope` for which `skip` is false."""
    for path in python_files(view, place):
        if inside(path, scope) and not skip(path):
            yield path, text_of(view.read(path)) or ""


def python_files(view: View, place: Place) -> list[str]:
    """Return the `.py` files of `view` below the project's root, repo-relative and sorted.

    Virtual environments, builds, caches and files ignored by git are left out.
    """
    unwanted = _ignored(place)
    return sorted(path for path in _walk(view, place.prefix, unwanted) if path not in unwanted)


def is_excluded(path: str) -> bool:
    """Return whether `path` is in a virtual environment, build or hidden folder, judging by the folder's name."""
    return any(part in EXCLUDED or part.startswith(".") for part in PurePosixPath(path).parts[:-1])


def _ignored(place: Place) -> frozenset[str]:
    """Return the files and folders (without trailing slash) that git ignores below the project's root."""
    if place.git_dir is None:
        return frozenset()
    from coderefine.git.changes import ignored

    try:
        return ignored(place.root)
    except GitError:  # nothing counts as ignored: an additional finding is better than a missing one
        return frozenset()


def _walk(view: View, prefix: str, unwanted: frozenset[str]) -> Iterator[str]:
    start = view.host_path / prefix
    for folder, folders, files in os.walk(start):
        parent = PurePosixPath(prefix, os.path.relpath(folder, start))
        wanted = [name for name in folders if not is_excluded(f"{name}/file")]
        wanted = [name for name in wanted if (parent / name).as_posix() not in unwanted]
        # os.path, because Path.exists raises for an unreadable folder, which os.walk skips.
        folders[:] = [name for name in wanted if not os.path.lexists(view.host_path / parent / name / "pyvenv.cfg")]
        yield from ((parent / name).as_posix() for name in files if name.endswith(".py"))
