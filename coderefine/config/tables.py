"""Check and convert the values of [tool.coderefine]: plain values, and the tables that become frozen dataclasses."""

from __future__ import annotations

import difflib
import math
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar, get_args, get_type_hints

from coderefine.errors import ConfigError

Table = TypeVar("Table")

KINDS: Mapping[Any, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple[str, ...]: "a list of strings",
    tuple[int, ...]: "a list of whole numbers",
    Mapping[str, str]: "a table",
}
"""The types of values, and their names in messages."""


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


NOT_NEGATIVE = Range()
RANGES: Mapping[str, Range] = {
    "max-complexity": Range(1),
    "samples": Range(1),
    "processes": Range(1),
    "min-maintainability": Range(0, 100),
    "temperature": Range(0, 2),
    "test-timeout": Range(0.01, 86_400),
    "timeout of a command": Range(0.001, 1e9),
    "weight": Range(0.001, 1e9),
    "performance.target": Range(1, 1e9),
    "performance.enough": Range(1, 1e9),
    "performance.seconds": Range(0, 1e9),
}
"""Ranges of keys for which NOT_NEGATIVE is not enough."""


def converted(name: str, value: object, kind: Any, where: str) -> Any:
    """Convert `value`, which is as in TOML, to the type `kind`, one of KINDS.

    Raises ConfigError, with `where` and `name`, for another type or a number out of range. A bool is not a number.
    """
    if kind in (int, float):
        return number(name, value, kind, where)
    items = {tuple[str, ...]: str, tuple[int, ...]: int}.get(kind)
    if items and isinstance(value, list | tuple) and all(type(item) is items for item in value):
        return tuple(value)
    if items or not isinstance(value, dict if kind == Mapping[str, str] else kind):
        raise ConfigError(f"{where}: {name} must be {KINDS[kind]}, not {value!r}")
    return value


def number(name: str, value: object, kind: type, where: str) -> float:
    """Convert `value` to `kind`, int or float. Raises ConfigError as `converted` does, also for nan."""
    allowed = RANGES.get(name, NOT_NEGATIVE)
    what = KINDS[kind] + " of seconds" * ("time" in name)
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind is int and isinstance(value, float)):
        raise ConfigError(f"{where}: {name} must be {what}, not {value!r}")
    if value not in allowed:
        raise ConfigError(f"{where}: {name} must be {what} {allowed}, not {value!r}")
    try:
        return kind(value)  # type: ignore[no-any-return]
    except OverflowError:
        raise ConfigError(f"{where}: {name} is too large a number") from None


def kinds_of(table: type) -> Mapping[str, Any]:
    """Return the type of each field of a dataclass: `X` for a field that is `X | None`, and so on."""
    hints = get_type_hints(table).items()
    return {name: get_args(hint)[0] if type(None) in get_args(hint) else hint for name, hint in hints}


def made(table: type[Table], values: Mapping[str, Any], where: str, name: str) -> Table:
    """Return the dataclass `table` with `values`; the key `a-b` belongs to the field `a_b`.

    `name`: how a key is called in messages; `{}` in it stands for the key. Raises the errors of `converted`.
    """
    kinds = kinds_of(table)
    found = {key.replace("-", "_"): value for key, value in values.items()}
    given = {key: converted(name.format(key.replace("_", "-")), found[key], kinds[key], where) for key in found}
    return table(**given)


def hint(word: str, known: Collection[str], *, quoted: bool = True) -> str:
    """Return a hint with the most similar of the `known` words; if none is similar to `word`, with all of them."""
    near = difflib.get_close_matches(word, sorted(known), 1)
    if near:
        return f" (did you mean {repr(near[0]) if quoted else near[0]}?)"
    return f" (known: {', '.join(sorted(known))})"


def check_keys(table: Mapping[str, object], known: Collection[str], where: str) -> None:
    """Raise ConfigError if `table` has a key that is not `known`; a key may be written with underscores."""
    for key in table:
        if (spelled := key.replace("_", "-")) not in known:
            raise ConfigError(f"{where} has no key {key!r}{hint(spelled, known)}")


def keys_of(table: Any) -> list[str]:
    """Return the keys of a dataclass, as they are written in TOML."""
    return [item.name.replace("_", "-") for item in fields(table)]


GATES = ("pytest", "ruff", "radon")
"""The built-in gates (critics/__init__.py has their classes), and the default of the key `gates`."""
CRITERIA = ("readability", "performance", "security", "api-design")
"""The built-in sets of criteria (llm/prompts/criteria)."""
CLOCKS = ("wall", "cpu")


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

    `regex` has the named groups path, line, rule, severity, message; a note or an info is advice. `findings_exit` (in
    TOML `findings-exit`): the exit codes that mean "ran, with findings"; 0 means no findings; any other code is an
    error of the tool. `timeout`: seconds.
    """

    name: str
    run: tuple[str, ...]
    format: str = "lines"
    regex: str = r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:){0,3} (?P<message>(?:(?P<severity>note|info): )?.*)$"
    findings_exit: tuple[int, ...] = (1,)
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class Performance:
    """[tool.coderefine.performance]: how speed is measured, and which speed-up a patch needs.

    `run`: a command in the project's root, such as `python bench.py`; empty: the project's pytest-benchmark tests.
    `target` and `enough` are factors of speed (1.5 means 1.5 times as fast): a patch is accepted if it is certainly at
    least `target` times as fast, and ends the run if it is certainly `enough` times as fast. `clock`: see CLOCKS; cpu
    is user and system time. `seconds`: time for measuring one attempt.
    """

    run: tuple[str, ...] = ()
    target: float = 1.05
    enough: float = 1.5
    clock: str = CLOCKS[0]
    seconds: float = 120.0


def commands(value: object, where: str) -> tuple[Command, ...]:
    """Convert the value of the key `commands`. Raises ConfigError; the message names `where`."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where}: commands must be written as [[tool.coderefine.commands]] tables")
    taken, found = list(GATES), []
    for table in value:
        check_keys(table, keys_of(Command), f"{where}: commands")
        if "name" not in table or "run" not in table:
            raise ConfigError(f"{where}: a command needs name (a string) and run (a list of strings)")
        found.append(made(Command, table, where, "{} of a command"))
        if found[-1].name in taken:
            raise ConfigError(f"{where}: there is a gate {found[-1].name!r} already: give the command another name")
        taken.append(found[-1].name)
    return tuple(found)


def performance(value: object, where: str) -> Performance:
    """Convert the value of the key `performance`, a table or only a command. Raises ConfigError, as `commands` does."""
    table = {"run": value} if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: performance must be a table or a command, not {value!r}")
    check_keys(table, keys_of(Performance), f"{where}: performance")
    if isinstance(run := table.get("run", []), str):
        try:
            table = {**table, "run": shlex.split(run)}
        except ValueError as error:
            raise ConfigError(f"{where}: performance.run cannot be read: {error}") from error
    elif not isinstance(run, list):
        raise ConfigError(f"{where}: performance.run must be a command line or a list of strings, not {run!r}")
    found = made(Performance, table, where, "performance.{}")
    if found.clock not in CLOCKS:
        raise ConfigError(f"{where}: performance.clock must be one of {', '.join(CLOCKS)}, not {found.clock!r}")
    return found


def criterion(name: str, value: object, where: str) -> Criterion:
    """Convert one entry of [tool.coderefine.criteria]: a sentence, a table, or `true` (a built-in set).

    Raises ConfigError; the message names `where`.
    """
    table: dict[str, Any] = value if isinstance(value, dict) else {"text": "" if value is True else value}
    check_keys(table, ("text", "paths", "weight"), f"{where}: criteria.{name}")
    try:
        found = made(Criterion, {"name": name, **table}, where, "{}")
    except ConfigError as error:
        raise ConfigError(
            f"{where}: criteria.{name} must be true (a built-in set), a sentence, or a table of text (a sentence), "
            "paths (a list of globs) and weight (a number above 0)"
        ) from error
    if not found.text and name not in CRITERIA:
        raise ConfigError(f"{where}: criteria.{name} needs a text: it is not a built-in set{hint(name, CRITERIA)}")
    source = where if found.text else f"built in, chosen in {where}"
    return Criterion(name, found.text, found.paths, found.weight, source)


def chosen(value: str | Criterion, written: Collection[Criterion]) -> Criterion:
    """Return the criterion that `value` means: one with this name in the file, a built-in set, or a new one.

    A new criterion is a sentence. `written`: the criteria in the file. Raises ConfigError for an unknown name.
    """
    if isinstance(value, Criterion):
        return value
    known = {criterion.name: criterion for criterion in written}
    if value in known or value in CRITERIA:
        return known.get(value) or Criterion(value)
    if len(value.split()) > 1:
        return Criterion("-".join(re.findall(r"[a-z]+", value.lower())[:4]) or "asked", value, source="asked for")
    raise ConfigError(f"criteria: there is no set {value!r}{hint(value, {*CRITERIA, *known})}; or write a sentence")
