"""The Python files that critics read, and which of them are in the asked paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from coderefine.core import Finding, Severity, View
from coderefine.source import decode

if TYPE_CHECKING:
    from coderefine.project import Place

EXCLUDED = frozenset(
    (
        *("__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist"),
        *("env", "node_modules", "site-packages", "venv"),
    )
)
"""Folders never looked into (ruff's own list of defaults), besides hidden ones and those with a pyvenv.cfg."""


def inside(path: str, scope: tuple[str, ...]) -> bool:
    """Whether `path` is one of `scope`'s files or lies in one of its folders ("." is the whole repository)."""
    return any(part in ("", ".") or path == part or path.startswith(f"{part.rstrip('/')}/") for part in scope)


def weighed(findings: Iterable[Finding], scope: tuple[str, ...]) -> tuple[Finding, ...]:
    """`findings` by path and line. Those outside `scope` become soft: they are compared, but do not block."""
    ordered = sorted(findings, key=lambda item: (item.path, item.span.first if item.span else 0))
    return tuple(item if inside(item.path, scope) else replace(item, severity=Severity.SOFT) for item in ordered)


def sources(view: View, place: Place, scope: tuple[str, ...], skip: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file in `scope` for which `skip` is false; "" for what cannot be decoded."""
    for path in python_files(view, place):
        if inside(path, scope) and not skip(path):
            data = view.read(path)
            source = decode(data) if data is not None else None
            yield path, source.text if source else ""


def python_files(view: View, place: Place) -> list[str]:
    """The `.py` files below the project's root as `view` has them, repo-relative, sorted.

    Without environments, builds, caches and what git ignores.
    """
    unwanted = _ignored(place)
    return sorted(path for path in _walk(view, place.prefix, unwanted) if path not in unwanted)


def is_excluded(path: str) -> bool:
    """Whether `path` is in an environment, build or hidden folder, by the folder's name alone."""
    return any(part in EXCLUDED or part.startswith(".") for part in PurePosixPath(path).parts[:-1])


def _ignored(place: Place) -> frozenset[str]:
    """Files and whole folders (without a slash at their end) that git ignores below the project's root."""
    if place.git_dir is None:
        return frozenset()
    from coderefine.git.process import run

    argv = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name", "-z")
    result = run(argv, cwd=place.root)
    # Without an answer nothing counts as ignored: a finding too many is better than one too few.
    names = result.stdout.decode("utf-8", "surrogateescape").split("\0") if result.returncode == 0 else []
    return frozenset(name.rstrip("/") for name in names if name)


def _walk(view: View, prefix: str, unwanted: frozenset[str]) -> Iterator[str]:
    start = view.host_path / prefix
    for folder, folders, files in os.walk(start):
        parent = PurePosixPath(prefix, os.path.relpath(folder, start))
        wanted = [name for name in folders if not is_excluded(f"{name}/file")]
        wanted = [name for name in wanted if (parent / name).as_posix() not in unwanted]
        # os.path, because Path.exists raises where a folder may not be entered; os.walk passes over such a one.
        folders[:] = [name for name in wanted if not os.path.lexists(view.host_path / parent / name / "pyvenv.cfg")]
        yield from ((parent / name).as_posix() for name in files if name.endswith(".py"))
