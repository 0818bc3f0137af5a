"""[tool.coderefine.performance]: how speed is measured, and which speed-up a patch needs.

run = "python bench.py"        # default: the project's pytest-benchmark tests
target = 1.05                  # accept a patch that is certainly at least this many times as fast
enough = 1.5                   # end the run when a patch is certainly this many times as fast
clock = "wall"                 # or "cpu": user and system time
seconds = 120                  # time for measuring one attempt
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from coderefine.config.tables import Range, check_keys, number
from coderefine.errors import ConfigError

CLOCKS = ("wall", "cpu")
SPANS = {"target": Range(1, 1e9), "enough": Range(1, 1e9), "seconds": Range(0, 1e9)}


@dataclass(frozen=True, slots=True)
class Performance:
    """Settings for measuring speed. `run`: a command in the project's root; empty: the pytest-benchmark tests.

    `target` and `enough` are factors of speed: 1.5 means 1.5 times as fast.
    """

    run: tuple[str, ...] = ()
    target: float = 1.05
    enough: float = 1.5
    clock: str = "wall"
    seconds: float = 120.0

    @property
    def protected(self) -> tuple[str, ...]:
        """Return globs of the files that the command runs, which no patch may change."""
        return tuple(f"**/{path}" for path in _named(self.run))


def _named(words: tuple[str, ...]) -> Iterator[str]:
    """Yield files that a command names, including modules after `-m`."""
    for before, word in zip(("", *words), words, strict=False):
        if before == "-m":
            module = word.replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py")
        elif PurePosixPath(word).suffix and not word.startswith("-"):
            yield PurePosixPath(word).as_posix()


def performance(value: object, where: str) -> Performance:
    """Convert the value of the key `performance`: a table, or only a command.

    Raises ConfigError; the message names `where`.
    """
    table = {"run": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: performance must be a table or a command, not {value!r}")
    check_keys(table, {item.name for item in fields(Performance)}, f"{where}: performance")
    given: dict[str, Any] = {key: _command(item, where) if key == "run" else item for key, item in table.items()}
    for key in given.keys() & SPANS.keys():
        given[key] = number(f"performance.{key}", given[key], float, where, SPANS[key])
    if given.get("clock", "wall") not in CLOCKS:
        raise ConfigError(f"{where}: performance.clock must be one of {', '.join(CLOCKS)}, not {given['clock']!r}")
    return Performance(**given)


def _command(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if not isinstance(value, str):
        raise ConfigError(f"{where}: performance.run must be a command line or a list of strings, not {value!r}")
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ConfigError(f"{where}: performance.run cannot be read: {error}") from error
