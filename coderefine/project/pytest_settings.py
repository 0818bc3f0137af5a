"""The settings of pytest that determine which files are tests and where modules are imported from; no code is run."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.config import toml
from coderefine.errors import ConfigError

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool", "pytest"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
"""The files with settings of pytest, in its order, and the table (or section) in each."""


@dataclass(frozen=True, slots=True)
class PytestSettings:
    """pytest's `testpaths` and `pythonpath` (relative to the project's root), `python_files` and `addopts`.

    The defaults are those of pytest.
    """

    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    pythonpath: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()

    @property
    def doctest_files(self) -> tuple[str, ...]:
        """Return the patterns of text files whose examples run as tests."""
        return tuple(re.findall(r"--doctest-glob[= ](\S+)", " ".join(self.addopts))) or ("test*.txt",)

    @property
    def is_parallel(self) -> bool:
        """Return whether the project's own settings run its tests in several processes, with pytest-xdist."""
        return bool(re.search(r"(?<!\S)(?:-n|--numprocesses)[ =]?(?!0(?!\S))\S", " ".join(self.addopts)))


USUAL = PytestSettings()


def read_settings(root: Path) -> PytestSettings:
    """Return the settings of the project at `root`; unreadable files are skipped (pytest itself reports them)."""
    for name in SECTIONS:
        path = root / name
        table = _table(path) if path.is_file() else {}
        if table:
            return PytestSettings(
                _folders(table.get("testpaths")),
                _words(table.get("python_files"), USUAL.python_files),
                _folders(table.get("pythonpath")),
                _words(table.get("addopts"), ()),
            )
    return USUAL


def _table(path: Path) -> Mapping[str, object]:
    """Return pytest's settings in a file; in TOML `[tool.pytest]` (pytest 9) or `[tool.pytest.ini_options]`."""
    keys = SECTIONS[path.name]
    if path.suffix == ".toml":
        table = inner_table(toml_table(path), *keys)
        older = table.get("ini_options")
        return older if isinstance(older, dict) else table
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text("utf-8"))
        return dict(parser.items(*keys)) if parser.has_section(*keys) else {}
    except (OSError, ValueError, configparser.Error):
        return {}


def toml_table(path: Path) -> Mapping[str, object]:
    """Return the content of a TOML file; empty if the file cannot be read."""
    try:
        return toml(path)
    except ConfigError:
        return {}


def inner_table(table: object, *keys: str) -> Mapping[str, object]:
    """Return the table to which `keys` lead from `table`, one level for each key; empty if there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _folders(value: object) -> tuple[str, ...]:
    return tuple(item.strip("/").removeprefix("./") for item in _words(value, ()))


def _words(value: object, usual: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    if not isinstance(value, str):
        return usual
    try:
        return tuple(shlex.split(value))
    except ValueError:
        return tuple(value.split())


PLUGINS = re.compile(r"pytest_plugins\b[^=\n]*=\s*(\([^)]*\)|\[[^\]]*\]|['\"][^'\"]*['\"])")
MODULE = re.compile(r"=\s*['\"]?([A-Za-z_][\w.]*)")
QUOTED = re.compile(r"['\"]([A-Za-z_][\w.]*)['\"]")


def plugin_modules(root: Path, settings: PytestSettings) -> tuple[str, ...]:
    """Return the modules that the project makes pytest load as plug-ins.

    They are named by its entry points, by `-p NAME` in `addopts`, or by `pytest_plugins` in a conftest.py.
    """
    folders = ("", "tests", "test", *settings.testpaths)
    texts = "\n".join(file_text(root / folder / "conftest.py") for folder in folders)
    listed = (name for names in PLUGINS.findall(texts) for name in QUOTED.findall(names))
    options = re.findall(r"(?<!\S)-p\s*([A-Za-z_][\w.]*)(?!\S)", " ".join(settings.addopts))
    return tuple(dict.fromkeys([*options, *listed, *_entry_points(root)]))


def _entry_points(root: Path) -> Iterator[str]:
    """Yield the entry points `pytest11` in the project's metadata; setup.py is read, not executed."""
    table = toml_table(root / "pyproject.toml")
    for keys in (("project", "entry-points"), ("tool", "poetry", "plugins")):
        points = inner_table(table, *keys, "pytest11")
        yield from (str(value).partition(":")[0] for value in points.values())
    for name in ("setup.cfg", "setup.py"):
        _, mark, rest = file_text(root / name).partition("pytest11")
        if mark:
            yield from MODULE.findall(re.split(r"[\]})]|\n\S|\n\s*\n", rest.lstrip(" '\"=:[({\n"), maxsplit=1)[0])


SCRIPT = re.compile(r"([\w.-]+)\s*=\s*([A-Za-z_][\w.]*)\s*:")
EXTRAS = re.compile(r"(?<=[\w ])\[[\w, .-]+\]")
"""The optional dependencies of a script, as in `name = module:function [extra]`."""


def console_scripts(root: Path) -> Mapping[str, str]:
    """Return the programs that the project installs, each with its module; setup.py is read, not executed."""
    table = toml_table(root / "pyproject.toml")
    found: dict[str, str] = {}
    for keys in (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts")):
        for name, value in inner_table(table, *keys).items():
            reference = value.get("reference") if isinstance(value, dict) else value  # a table is poetry's
            found[name] = str(reference).partition(":")[0]
    for name in ("setup.cfg", "setup.py"):
        _, _, rest = file_text(root / name).partition("console_scripts")
        found |= dict(SCRIPT.findall(re.split(r"\]|\n\[", EXTRAS.sub("", rest), maxsplit=1)[0]))
    return found


def file_text(path: Path) -> str:
    """Return the text of a file; "" if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
