"""Call functions with arguments that are generated from the annotations of their parameters.

The variants of recorded calls (call_probe.py) stay near the tests. Generated arguments do not: they are empty or
negative, not a number, or of another member of a union. Such calls run in `harmless`, as their effects are unforeseen.

This does not use hypothesis: the project's interpreter seldom has it, its import takes longer than all these calls, and
both versions of a program need the same arguments.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import sys
import time
import types
import typing
from collections.abc import Iterator
from typing import Any

from .call_probe import COROUTINE, Call, StoppedError, answers, in_turn, labelled, limits
from .typed_values import PLAIN, TypedValues, combined
from .value_variants import at_limits

MOST, RELATED = 60, 20
"""Maximum number of generated calls of one function, and of further calls whose arguments are related."""
SECONDS, WALL, MOST_SECONDS = 0.5, 4.0, 2.0
"""Maximum CPU seconds of all generated calls, as many for labelling them; the factor that gives their maximum wall
seconds; and maximum CPU seconds of the process that makes and executes them."""
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
PARTED = (str, bytes, list, tuple, dict, set, frozenset)
HARMFUL = ("ctypes.", "fcntl.", "mmap.", "os.", "pty.", "shutil.", "signal.", "socket.", "sqlite3.", "subprocess.")
READING = frozenset(("os.fwalk", "os.getxattr", "os.listdir", "os.listxattr", "os.scandir", "os.walk"))
"""HARMFUL: prefixes of the audit events of operations that may change files, start or end programs, or use the network.
READING: those that only read."""


def codes(functions: list[types.FunctionType], recorded: list[Call]) -> dict[str, str]:
    """Execute generated calls of `functions`; return the codes of their results by label (see `call_probe.label`).

    `recorded`: calls by tests; they give the values for annotations of classes, and for parameters without annotation.
    """
    light = [call for call in recorded if not call.heavy]
    with harmless():
        share = SECONDS / max(1, len(functions))
        calls = dict(in_turn([_generated(function, light, share) for function in functions]))
        found = answers(list(calls.values()), time.monotonic() + WALL * SECONDS, seconds=SECONDS)
    return dict(zip(calls, found.codes, strict=False))


@contextlib.contextmanager
def harmless() -> Iterator[None]:
    """Inside the block, stop each call that would change files, start or end programs, or use the network."""
    inside = [True]

    def audited(event: str, args: tuple[Any, ...]) -> None:
        writes = event == "open" and bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if inside and (writes or (event.startswith(HARMFUL) and event not in READING)):
            raise StoppedError

    sys.addaudithook(audited)
    try:
        yield
    finally:
        inside.clear()


def _generated(function: types.FunctionType, recorded: list[Call], seconds: float) -> list[tuple[str, Call]]:
    """Return calls with labels, made within `seconds`; none if a parameter has no values.

    The arguments of most calls depend on the annotations only, so that both versions of a function have these calls.
    """
    dice = random.Random(function.__qualname__)
    try:
        found = {} if function.__code__.co_flags & COROUTINE else _values(function, recorded, dice)
        rows = combined([typed or others for typed, others in found.values()], MOST, dice)
        rows += [_related(row, dice) for row in rows[:RELATED]]
        for at, (_, others) in enumerate(found.values()):
            rows += [[*row[:at], one, *row[at + 1 :]] for row, one in zip(rows[:RELATED], others, strict=False)]
        return labelled([_call(function, dict(zip(found, row, strict=True))) for row in rows], seconds)
    except (Exception, StoppedError):  # methods of the project may raise anything
        return []


def _related(row: list[Any], dice: random.Random) -> list[Any]:
    """Replace plain values by others of the row, or by parts of these, such as an item, a key or a letter."""
    parts = [item for value in row if isinstance(value, PARTED) for item in value]
    others = [[one for one in (*row, *parts) if type(one) is type(value)] for value in row]
    return [dice.choice(some) if type(value) in PLAIN else value for value, some in zip(row, others, strict=True)]


def _call(function: types.FunctionType, values: dict[inspect.Parameter, Any]) -> Call:
    named = {one.name: value for one, value in values.items() if one.kind is one.KEYWORD_ONLY}
    args = [value for one, value in values.items() if one.kind is not one.KEYWORD_ONLY]
    return Call(function, args, named, recorded=False)


def _values(
    function: types.FunctionType, recorded: list[Call], dice: random.Random
) -> dict[inspect.Parameter, tuple[list[Any], list[Any]]]:
    """Return, for each parameter, values of its type, and other values; {} if no parameter has an annotation.

    Other values are the constants that the function may compare the argument with, and recorded arguments.
    """
    values = TypedValues([value for call in recorded for value in (*call.args, *call.kwargs.values())], dice)
    own = [call for call in recorded if call.function.__code__ is function.__code__]
    found: dict[inspect.Parameter, tuple[list[Any], list[Any]]] = {}
    for at, one in enumerate(inspect.signature(function, follow_wrapped=False).parameters.values()):
        if one.kind not in VARIABLE:
            typed = values.of(_type(function, one))
            found[one] = (typed, [*_near_limits(function, typed), *_recorded(own, at, one)])
    return found if any(typed and one.annotation is not one.empty for one, (typed, _) in found.items()) else {}


def _near_limits(function: types.FunctionType, typed: list[Any]) -> Iterator[Any]:
    found = list(limits(Call(function, [], {}, recorded=False)))
    for value in {type(value): value for value in typed}.values():
        yield from at_limits(value, found)


def _recorded(calls: list[Call], at: int, parameter: inspect.Parameter) -> Iterator[Any]:
    """Yield the arguments of a parameter, at index `at`, and its default."""
    for call in calls:
        yield from call.args[at : at + 1]
        yield from (value for name, value in call.kwargs.items() if name == parameter.name)
    if parameter.default is not parameter.empty:
        yield parameter.default


def _type(function: types.FunctionType, parameter: inspect.Parameter) -> Any:
    """Return the type of a parameter; of `self`, the class. Return None if it is unknown."""
    kind = parameter.annotation
    if kind is parameter.empty and parameter.name == "self":
        kind = function.__qualname__.rpartition(".")[0]
    with contextlib.suppress(Exception):  # an annotation may be any expression, and name what is imported elsewhere
        only = types.SimpleNamespace(__annotations__={"it": kind})
        return typing.get_type_hints(only, function.__globals__)["it"]
    return None
