"""The two of pytest's own settings that say which files are tests; read, never evaluated."""

from __future__ import annotations

import configparser
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

INI = (("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
TOML = (("pytest.toml", ("pytest",)), (".pytest.toml", ("pytest",)), ("pyproject.toml", ("tool", "pytest")))


@dataclass(frozen=True, slots=True)
class PytestSettings:
    """pytest's `testpaths` (relative to the project's root) and `python_files`, with pytest's defaults."""

    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")


USUAL = PytestSettings()


def read_settings(root: Path) -> PytestSettings:
    """Settings of the project at `root`; unreadable files say nothing here (pytest itself will complain)."""
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        path = root / name
        table = _table(path) if path.is_file() else {}
        if table:
            return _settings(table)
    return USUAL


def _table(path: Path) -> Mapping[str, object]:
    try:
        return _toml(path) if path.suffix == ".toml" else _ini(path)
    except (OSError, ValueError, RecursionError, configparser.Error):
        return {}


def _toml(path: Path) -> Mapping[str, object]:
    """pytest 9 reads `[tool.pytest]` as well as `[tool.pytest.ini_options]`."""
    table: object = tomllib.loads(path.read_text("utf-8"))
    for key in dict(TOML)[path.name]:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        return {}
    older = table.get("ini_options")
    return older if isinstance(older, dict) else table


def _ini(path: Path) -> Mapping[str, object]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(path.read_text("utf-8"))
    section = dict(INI)[path.name]
    return dict(parser.items(section)) if parser.has_section(section) else {}


def _settings(table: Mapping[str, object]) -> PytestSettings:
    return PytestSettings(
        tuple(item.strip("/").removeprefix("./") for item in _words(table.get("testpaths"), USUAL.testpaths)),
        _words(table.get("python_files"), USUAL.python_files),
    )


def _words(value: object, usual: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    if not isinstance(value, str):
        return usual
    try:
        return tuple(shlex.split(value))
    except ValueError:
        return tuple(value.split())
