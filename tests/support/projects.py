"""The set of small realistic projects: each with known faults, and the repair a good model would give."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.repo import make_repo

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOME = Path(__file__).parents[1] / "projects"
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Change:
    """Replace the only `old` in `path` by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Project:
    """What is known about one project.

    `failing` holds test ids as pytest prints them in `root`, `passing` how many others pass. `lint`, `complex` and
    `commands` read "path rule-or-symbol [number]", paths from the top of the repository. `left` are findings
    that the reference repair leaves on purpose.
    """

    name: str
    about: str
    failing: tuple[str, ...]
    passing: int
    fix: tuple[Change, ...]
    lint: tuple[str, ...] = ()
    complex: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    root: str = "."
    crlf: tuple[str, ...] = ()
    bom: tuple[str, ...] = ()

    def files(self) -> dict[str, bytes]:
        """Path -> content as it lies in the repository."""
        tree = HOME / self.name / "tree"
        return {path: self._odd(path, (tree / path).read_bytes()) for path in sorted(_paths(tree))}

    def repaired(self) -> dict[str, bytes]:
        """Path -> content after the reference repair, changed files only."""
        files = self.files()
        for change in self.fix:
            end = "\r\n" if change.path in self.crlf else "\n"
            old, new = (text.replace("\n", end).encode() for text in (change.old, change.new))
            assert files[change.path].count(old) == 1, f"{self.name}: {change.old!r} is not unique in {change.path}"
            files[change.path] = files[change.path].replace(old, new)
        return {change.path: files[change.path] for change in self.fix}

    def _odd(self, path: str, data: bytes) -> bytes:
        """Line ends and marks are made here: git, editors and formatters would straighten them in our own tree."""
        data = data.replace(b"\n", b"\r\n") if path in self.crlf else data
        return BOM + data if path in self.bom else data


def names() -> tuple[str, ...]:
    """All projects, for `pytest.mark.parametrize`."""
    return tuple(sorted(path.parent.name for path in HOME.glob("*/project.toml")))


def describe(name: str) -> Project:
    """What is known about project `name`."""
    table = tomllib.loads((HOME / name / "project.toml").read_text("utf-8"))
    fix = tuple(Change(**change) for change in table.pop("fix"))
    return Project(name=name, fix=fix, **{key: _frozen(value) for key, value in table.items()})


def load(name: str, tmp_path: Path) -> Path:
    """A git repository of project `name` at `tmp_path`/`name`, everything committed; its top."""
    return make_repo(tmp_path / name, describe(name).files())


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _paths(tree: Path) -> Iterator[str]:
    for path in tree.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(tree).as_posix()
