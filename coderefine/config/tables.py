"""Check values of [tool.coderefine]: numbers, commands as gates, criteria of a review."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from coderefine.errors import ConfigError

DAY = 86_400.0
WORDS = {int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class Range:
    """A range of allowed numbers: from `least` to `most`, both included.

    Infinity is allowed and means "no limit".
    """

    least: float = 0.0
    most: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"from {self.least:g} " + ("on" if math.isinf(self.most) else f"to {self.most:g}")


RANGES: Mapping[str, Range] = {
    "max-complexity": Range(1),
    "samples": Range(1),
    "min-maintainability": Range(0, 100),
    "temperature": Range(0, 2),
    "test-timeout": Range(0.01, DAY),
}
"""Ranges of keys for which "not negative" is not enough."""


def number(name: str, value: object, kind: type, where: str, span: Range | None = None) -> float:
    """Return `value` as `kind`, int or float.

    Raises ConfigError, with `name` and `where`, for another type, a number out of range, or nan.
    """
    span = span or RANGES.get(name, Range())
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind is int and isinstance(value, float)):
        raise ConfigError(f"{where}: {name} must be {WORDS[kind]}, not {value!r}")
    if value not in span:
        raise ConfigError(f"{where}: {name} must be {WORDS[kind]} {span}, not {value!r}")
    try:
        return kind(value)  # type: ignore[no-any-return]
    except OverflowError:
        raise ConfigError(f"{where}: {name} is too large a number") from None


GATES = ("pytest", "ruff", "radon")
"""The built-in gates (critics/__init__.py has their classes), and the default of the key `gates`."""
CRITERIA = ("readability", "performance", "security", "api-design")
"""The built-in sets of criteria (llm/criteria)."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion of the review, in plain language; without `text`, the built-in set with this name.

    `paths`: the folders and globs to which it applies (none: all); `weight`: its weight in the total; `source`: where
    it was configured.
    """

    name: str
    text: str = ""
    paths: tuple[str, ...] = ()
    weight: float = 1.0
    source: str = "built in"


@dataclass(frozen=True, slots=True)
class Command:
    """A program that is used as a gate. `run`: its argv; `format`: lines (with `regex`), json or sarif.

    `regex` has the named groups path, line, rule, message. `findings_exit` (in TOML `findings-exit`): the exit codes
    that mean "ran, with findings"; 0 means no findings; any other code is an error of the tool. `timeout`: seconds.
    """

    name: str
    run: tuple[str, ...]
    format: str = "lines"
    regex: str = r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<message>.*)$"
    findings_exit: tuple[int, ...] = (1,)
    timeout: float = 300.0

    @property
    def protected(self) -> tuple[str, ...]:
        """Return globs of the project's scripts that the command runs, because changing one would change the gate."""
        words = [word for word in self.run if not word.startswith("-") or word == "-m"]
        if words and re.fullmatch(r"(.*/)?(python[\d.]*|sh|bash|zsh|node|perl|ruby)", words[0]):
            words = words[1:]
        script = PurePosixPath(words[0]) if words else PurePosixPath("-m")
        local = not script.is_absolute() and (len(script.parts) > 1 or script.suffix in (".py", ".sh"))
        return (f"**/{script.as_posix()}",) if local else ()


def hint(word: str, known: set[str], *, quoted: bool = True) -> str:
    """Return a hint with the `known` word that is most similar to `word`; if none is similar, with all of them."""
    near = difflib.get_close_matches(word, sorted(known), 1)
    if near:
        return f" (did you mean {repr(near[0]) if quoted else near[0]}?)"
    return f" (known: {', '.join(sorted(known))})"


def check_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    """Raise ConfigError if `table` has a key that is not `known`."""
    for key in table:
        if key not in known:
            raise ConfigError(f"{where} has no key {key!r}{hint(key, known)}")


def commands(value: object, where: str) -> tuple[Command, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where}: commands must be written as [[tool.coderefine.commands]] tables")
    commands = tuple(_command(item, where) for item in value)
    for number, command in enumerate(commands):
        if command.name in (*GATES, *(other.name for other in commands[:number])):
            raise ConfigError(f"{where}: there is a gate {command.name!r} already: give the command another name")
    return commands


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1e9


def _all(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(type(item) is kind for item in value)


KEYS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "name": ("a string", _is_text),
    "run": ("a list of strings", _all(str)),
    "format": ("a string", _is_text),
    "regex": ("a string", _is_text),
    "findings-exit": ("a list of whole numbers", _all(int)),
    "timeout": ("a number of seconds", _is_number),
}
"""Types of a command's keys: in words and as a predicate."""


def _command(table: Mapping[str, Any], where: str) -> Command:
    check_keys(table, {item.name.replace("_", "-") for item in fields(Command)}, f"{where}: commands")
    if "name" not in table or "run" not in table:
        raise ConfigError(f"{where}: a command needs name (a string) and run (a list of strings)")
    for name, value in table.items():
        what, fits = KEYS[name]
        if not fits(value):
            raise ConfigError(f"{where}: {name} of a command must be {what}, not {value!r}")
    given: dict[str, Any] = {
        key.replace("-", "_"): tuple(item) if isinstance(item, list) else item for key, item in table.items()
    }
    return Command(**given)


def chosen(asked: Any, written: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
    """Return the criteria for `--criteria`: each is a name from the file, a built-in set, or a sentence."""
    return tuple(one if isinstance(one, Criterion) else _named(str(one), written) for one in asked)


def _named(value: str, written: tuple[Criterion, ...]) -> Criterion:
    known = {criterion.name: criterion for criterion in written}
    if value in known:
        return known[value]
    if value in CRITERIA:
        return Criterion(value)
    if len(value.split()) > 1:
        return Criterion("-".join(re.findall(r"[a-z]+", value.lower())[:4]) or "asked", value, source="asked for")
    raise ConfigError(f"criteria: there is no set {value!r}{hint(value, {*CRITERIA, *known})}; or write a sentence")


def criterion(name: str, value: object, where: str) -> Criterion:
    """Parse one entry of [tool.coderefine.criteria]: a sentence, a table, or `true` (a built-in set)."""
    table = _criterion_table(name, value, where)
    text, paths, weight = table.get("text", ""), table.get("paths", []), table.get("weight", 1.0)
    if not (_is_text(text) and _all(str)(paths) and _is_number(weight)):
        raise ConfigError(
            f"{where}: criteria.{name} must be true (a built-in set), a sentence, or a table of text (a sentence), "
            "paths (a list of globs) and weight (a number above 0)"
        )
    if not text and name not in CRITERIA:
        raise ConfigError(f"{where}: criteria.{name} needs a text: it is not a built-in set{hint(name, set(CRITERIA))}")
    return Criterion(name, text, tuple(paths), float(weight), f"built in, chosen in {where}" if not text else where)


def _criterion_table(name: str, value: object, where: str) -> dict[str, Any]:
    """Return the entry as a table. Raises ConfigError for an unknown key."""
    table: dict[str, Any] = value if isinstance(value, dict) else {"text": "" if value is True else value}
    check_keys(table, {"text", "paths", "weight"}, f"{where}: criteria.{name}")
    return table
