"""Compare two versions of the program on variants of the tests' calls.

A version that special-cases the tests' inputs differs from the correct version on the variants. Unlike the edits of
code_diff.py, `OtherVersion` need not be exactly equal to an import of the other files: helpers, imports or constants
that only one version has are allowed.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import importlib.util
import itertools
import numbers
import os
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

from .call_probe import Call, answers, label, replaced
from .copies import copied_or_shared
from .loaded_modules import loaded
from .value_codes import fields_of
from .value_variants import with_field

VARIANTS = 60
"""Maximum number of variants that are derived from one recorded call."""
PLACES = 8
"""Maximum number of characters of a string, of items of a container, or of attributes of an object, that are varied."""
STEPS = (1, -1, 2, -2, 3, -3, 5, -5, 7, 10, -10, 20, -20, 50, 100, -100, 200, -200, 1000, -1000)
PLAIN = (type(None), types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, types.MethodType)
HOUR = datetime.timedelta(hours=1)


def with_variants(calls: list[Call]) -> tuple[list[Call], list[int]]:
    """Return the recorded calls followed by up to VARIANTS variants of each, and the number of variants of each call.

    A variant differs from its call in one argument.
    """
    rows = [replaced(call, partial(varied, dice=random.Random(at)))[:VARIANTS] for at, call in enumerate(calls)]
    return [*calls, *itertools.chain(*rows)], [len(row) for row in rows]


def compared(recorded: list[Call], files: dict[str, bytes | None], seconds: float) -> dict[str, Any]:
    """Return the codes of the results of the `recorded` calls and their variants, for two versions of the program.

    The other version is the program with `files`. Keys: "labels" of the calls; "sizes": the number of variants of each
    recorded call. Each of the other keys has two rows of codes. Three keys have a row for each of two runs: "own"
    (results of the program), "other" (results of the other version) and "within" (results of the program's functions
    when the functions that they call are those of the other version). "values" has a row for the program and one for
    the other version: the values that the calls return, without the changed arguments.
    """
    calls, sizes = with_variants(recorded)
    found: dict[str, Any] = {"labels": [label(call) for call in calls], "sizes": sizes, "values": [], "within": []}
    other = OtherVersion(files)
    alone = [_without_arguments(call) for call in calls]
    for name, version in (("own", contextlib.nullcontext), ("other", other.wholly)):
        with version():
            rows = [answers(asked, time.monotonic() + seconds / 8).codes for asked in (calls, calls, alone)]
        found[name] = rows[:2]
        found["values"].append(rows[2])
    for _ in range(2):
        until, row = time.monotonic() + seconds / 8, list[str]()
        for call in calls:
            with other.within():
                row += answers([call], until).codes
        found["within"].append(row)
    return found


def _without_arguments(call: Call) -> Call:
    def ask() -> Any:
        args, kwargs = copied_or_shared((call.args, call.kwargs), call.function)
        return call.function(*args, **kwargs)

    return Call(cast(types.FunctionType, ask), [], {}, recorded=False)


def varied(value: Any, dice: random.Random) -> list[Any]:
    """Return at most VARIANTS values that have the type of `value` and are similar, but not equal to it."""
    make = MAKERS.get(type(value), _of_object)
    try:
        return [one for one in make(value, dice) if type(one) is type(value) and _other(one, value)][:VARIANTS]
    except Exception:  # a type of the project may raise anything when it is compared, copied or calculated with
        return []


def _other(one: Any, value: Any) -> bool:
    return bool(one is not value if hasattr(value, "__dict__") else one != value)


def _of_int(value: int, dice: random.Random) -> Iterator[Any]:
    yield from (value + step for step in STEPS)
    yield from (value * 2, value * 10, value // 2, -value, 0, 1, 2, 3, 4, 6)
    yield from (dice.randrange(0, 2 * abs(value) + 50) for _ in range(20))


def _of_float(value: float, dice: random.Random) -> Iterator[Any]:
    yield from (value + step for step in STEPS)
    yield from (value * 2, value * 10, value / 2, value + 0.5, value - 0.25, value + 0.01, -value, 0.0, 1.0)
    yield from (round(dice.uniform(0, 2 * abs(value) + 10), 2) for _ in range(10))


def _of_text(value: str, dice: random.Random) -> Iterator[Any]:
    """Yield texts with other digits and letters at the same positions, then shorter and otherwise changed texts."""
    places = [place for place, letter in enumerate(value) if letter.isalnum()]
    for place in dice.sample(places, min(PLACES, len(places))):
        letter = value[place]
        if letter.isdigit():
            others = [str((int(letter) + step) % 10) for step in (1, 2, 9)] if letter.isdecimal() else []
        else:
            others = [letter.swapcase(), chr(ord(letter) + 1), chr(ord(letter) + 2), "a", "q", "Z"]
        yield from (value[:place] + other + value[place + 1 :] for other in others)
    yield from (value[:-1], value[1:], value[::-1], value.upper(), value.lower(), value.title(), "x")


def _of_bytes(value: bytes, dice: random.Random) -> Iterator[Any]:
    yield from (one.encode("latin-1", "replace") for one in _of_text(value.decode("latin-1"), dice))


def _of_row(value: Any, dice: random.Random) -> Iterator[Any]:
    rows = [
        [value[:at] + type(value)([one]) + value[at + 1 :] for one in varied(value[at], dice)[:12]]
        for at in range(min(len(value), PLACES))
    ]
    yield from (one for layer in itertools.zip_longest(*rows) for one in layer if one is not None)
    yield from (value[:-1], value[1:], value[::-1], value + value[:1], value + value, value[:0])


def _of_set(value: Any, dice: random.Random) -> Iterator[Any]:
    for item in list(value)[:PLACES]:
        yield type(value)(value - {item})
        yield from (type(value)((value - {item}) | {one}) for one in varied(item, dice)[:8])
    yield type(value)()


def _of_dict(value: dict[Any, Any], dice: random.Random) -> Iterator[Any]:
    for key in list(value)[:PLACES]:
        yield from ({**value, key: one} for one in varied(value[key], dice)[:8])
        yield {other: item for other, item in value.items() if other != key}
    yield {}


def _of_object(value: Any, dice: random.Random) -> Iterator[Any]:
    """Yield other numbers and dates, or objects with one changed attribute."""
    if isinstance(value, numbers.Number):
        yield from (value + step for step in STEPS)  # type: ignore[operator]
    elif isinstance(value, (datetime.date, datetime.timedelta)):
        yield from (value + 24 * step * HOUR for step in STEPS)
        yield from (value + step * HOUR for step in STEPS)
    elif not isinstance(value, PLAIN):
        for name, inner in list(fields_of(value).items())[:PLACES]:
            yield from (with_field(value, name, one) for one in varied(inner, dice)[:12])


MAKERS: dict[type, Callable[[Any, random.Random], Iterator[Any]]] = {
    bool: lambda value, _: iter([not value]),
    int: _of_int,
    float: _of_float,
    str: _of_text,
    bytes: _of_bytes,
    list: _of_row,
    tuple: _of_row,
    dict: _of_dict,
    set: _of_set,
    frozenset: _of_set,
}


# -- the other version ------------------------------------------------------------------------------------


Values = list[tuple[dict[str, Any], str, Any, Any]]
"""Tuples of a module's namespace, a name, its value in this version, and that in the other version."""
MISSING = object()


class OtherVersion:
    """Another version of some modules of the loaded program, given by `files` (absolute path -> content).

    `functions`: for each function that both versions have, its code in the loaded and in the other version.
    """

    def __init__(self, files: dict[str, bytes | None]) -> None:
        self.functions: dict[types.FunctionType, tuple[types.CodeType, types.CodeType]] = {}
        self._values: Values = []
        for path, data in files.items():
            for module in modules(path) if data else ():
                self._add(module, data or b"")

    def _add(self, module: types.ModuleType, data: bytes) -> None:
        text = importlib.util.decode_source(data)
        with open(str(module.__file__), "rb") as file:
            now = importlib.util.decode_source(file.read())
        codes = dict(_codes(compile(text, str(module.__file__), "exec", dont_inherit=True), ""))
        for name, function in _functions(module.__dict__, "", module.__name__, set()):
            code = codes.get(name)
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                self.functions[function] = (function.__code__, code)
        if _outside(text) != _outside(now):
            self._compare(module, text)

    def _compare(self, module: types.ModuleType, text: str) -> None:
        """Execute the other version's `text` and record the module attributes whose values differ."""
        other = {name: value for name, value in module.__dict__.items() if name.startswith("__")}
        try:
            exec(compile(text, str(module.__file__), "exec", dont_inherit=True), other)
        except BaseException:  # SystemExit included: then the module's values are those of this version
            return
        for name, value in other.items():
            here = module.__dict__.get(name, MISSING)
            if here is MISSING or (_plain(here) and _plain(value) and repr(here) != repr(value)):
                self._values.append((module.__dict__, name, here, value))

    @contextlib.contextmanager
    def wholly(self) -> Iterator[None]:
        """Inside the block, let calls run the functions of the other version, with its module attributes."""
        self._set(other=True)
        for function, (_, code) in self.functions.items():
            function.__code__ = code
        try:
            yield
        finally:
            self._set(other=False)
            self._restore()

    @contextlib.contextmanager
    def within(self) -> Iterator[None]:
        """Inside the block, let calls run this version of a function, but their inner calls run the other version."""
        first = {code: (function, other) for function, (code, other) in self.functions.items()}

        def entered(frame: types.FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code in first:
                function, other = first[frame.f_code]
                function.__code__ = other

        sys.setprofile(entered)
        try:
            yield
        finally:
            sys.setprofile(None)
            self._restore()

    def _set(self, *, other: bool) -> None:
        for names, name, here, there in self._values:
            value = there if other else here
            if value is MISSING:
                names.pop(name, None)
            else:
                names[name] = value

    def _restore(self) -> None:
        for function, (code, _) in self.functions.items():
            function.__code__ = code


def modules(path: str) -> list[types.ModuleType]:
    real = os.path.realpath(path)
    found = [(module, getattr(module, "__file__", None)) for _, module in loaded()]
    return [module for module, file in found if isinstance(file, str) and os.path.realpath(file) == real]


def _codes(code: types.CodeType, prefix: str) -> Iterator[tuple[str, types.CodeType]]:
    """Yield (qualified name, code object) of the functions and methods in `code`, without nested functions."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and not inner.co_name.startswith("<"):
            yield prefix + inner.co_name, inner
            if not inner.co_flags & 0x02:  # no CO_NEWLOCALS: a class
                yield from _codes(inner, prefix + inner.co_name + ".")


def _functions(names: Any, prefix: str, module: str, seen: set[int]) -> Iterator[tuple[str, types.FunctionType]]:
    for name, value in list(names.items()):
        if isinstance(value, type) and value.__module__ == module and id(value) not in seen:
            seen.add(id(value))
            yield from _functions(vars(value), prefix + name + ".", module, seen)
        for one in (value, getattr(value, "fget", None), getattr(value, "fset", None)):
            function = _unwrapped(one)
            if function is not None and function.__module__ == module:
                yield prefix + function.__name__, function


def _unwrapped(value: Any) -> types.FunctionType | None:
    """Return the function inside decorators with `__wrapped__` or `__func__`; None if there is none."""
    for _ in range(9):
        if not isinstance(value, types.FunctionType) or hasattr(value, "__wrapped__"):
            value = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
    return value if isinstance(value, types.FunctionType) else None


def _outside(text: str) -> list[str]:
    """Return AST dumps of a module's statements, except for definitions of functions and classes."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [ast.dump(node) for node in ast.parse(text).body if not isinstance(node, definitions)]


def _plain(value: Any) -> bool:
    return not isinstance(value, (types.FunctionType, types.ModuleType, type, types.BuiltinFunctionType))
