"""Folders and files that linters do not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from coderefine.project.pytest_settings import inner_table, toml_table

EXCLUDED = frozenset(
    (
        *("__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist"),
        *("env", "node_modules", "site-packages", "venv"),
    )
)
"""Excluded folders (ruff's defaults); hidden folders, and folders with a pyvenv.cfg, are excluded too."""
TABLES = (("pyproject.toml", ("tool", "ruff")), ("ruff.toml", ()), (".ruff.toml", ()))
"""Files with ruff's settings, each with the keys of its table there."""


def is_excluded(path: str) -> bool:
    """Return whether `path` is in a virtual environment, build or hidden folder, judging by the folder's name."""
    return is_hidden(path) or not EXCLUDED.isdisjoint(PurePosixPath(path).parts[:-1])


def is_hidden(path: str) -> bool:
    """Return whether `path` is in a hidden folder."""
    return any(part.startswith(".") for part in PurePosixPath(path).parts[:-1])


def excluded_patterns(root: Path) -> tuple[str, ...]:
    """Return the patterns of files that ruff does not read, according to the settings in the project's root.

    If the settings have `exclude`, it replaces ruff's own list.
    """
    tables = [inner_table(toml_table(root / name), *keys) for name, keys in TABLES]
    found = [pattern for table in tables for pattern in _patterns(table)]
    usual = () if any(isinstance(table.get("exclude"), list) for table in tables) else sorted(EXCLUDED)
    return (*usual, *(item.strip("/").removeprefix("./") for item in found))


def _patterns(settings: Mapping[str, object]) -> Iterator[str]:
    """Yield the patterns of files that ruff does not read, or for which it ignores every rule."""
    for table in (settings, inner_table(settings, "lint")):
        for value in (table.get("exclude"), table.get("extend-exclude")):
            yield from map(str, value) if isinstance(value, list) else ()
        for key in ("per-file-ignores", "extend-per-file-ignores"):
            yield from (pattern for pattern, rules in inner_table(table, key).items() if rules == ["ALL"])


def is_unread(path: str, patterns: Iterable[str]) -> bool:
    """Return whether `path` is in a hidden folder, or one of ruff's `patterns` excludes it or a folder above it."""
    parts = PurePosixPath(path).parts
    places = {*parts, *("/".join(parts[:end]) for end in range(1, len(parts) + 1))}
    return is_hidden(path) or any(fnmatchcase(place, pattern) for pattern in patterns for place in places)
