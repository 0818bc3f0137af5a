"""Many calls beside those of the tests, of the same shape: what tells a general answer from one for the tests alone."""

from __future__ import annotations

import contextlib
import copy
import datetime
import itertools
import numbers
import random
import time
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, cast

from .call_probe import Call, answers, label
from .other_version import OtherVersion

BESIDE = 60
"""Calls made of one that the tests make."""
PLACES = 8
"""Letters of a text, or items of a row, that are varied."""
STEPS = (1, -1, 2, -2, 3, -3, 5, -5, 7, 10, -10, 20, -20, 50, 100, -100, 200, -200, 1000, -1000)
PLAIN = (type(None), types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, types.MethodType)
HOUR = datetime.timedelta(hours=1)


def beside(calls: List[Call]) -> "Tuple[List[Call], List[int]]":
    """The recorded calls, then up to BESIDE for each that differ from it in one argument; and how many for each."""
    found, sizes = list(calls), []
    for number, call in enumerate(calls):
        dice = random.Random(number)
        rows = [[_given(call, at, one) for one in varied(value, dice)] for at, value in enumerate(call.args)]
        rows += [
            [call._replace(kwargs={**call.kwargs, name: one}, recorded=False) for one in varied(value, dice)]
            for name, value in call.kwargs.items()
        ]
        mixed = [one for layer in itertools.zip_longest(*rows) for one in layer if one is not None]
        found += mixed[:BESIDE]
        sizes.append(len(mixed[:BESIDE]))
    return found, sizes


def compared(recorded: List[Call], files: Dict[str, Optional[bytes]], seconds: float) -> Dict[str, List[str]]:
    """Codes of the answers to `recorded` calls and to those beside them, each twice.

    "?": the calls; "*": how many stand beside each recorded one; "own": the program; "other": it with `files` instead;
    "within": the program where whatever its functions call of themselves is the other version; "own value" and
    "other value": the answers alone, without what became of the arguments.
    """
    calls, sizes = beside(recorded)
    codes = {"?": [label(call) for call in calls], "*": [str(size) for size in sizes]}
    other = OtherVersion(files)
    ways = (("own", contextlib.nullcontext), ("other", other.wholly))
    alone = [_without_arguments(call) for call in calls]
    for name, way in ways:
        with way():
            for end, asked in (("", calls), ("2", calls), (" value", alone)):
                codes[name + end] = answers(asked, time.monotonic() + seconds / 8).codes
    for name in ("within", "within2"):
        until = time.monotonic() + seconds / 8
        codes[name] = []
        for call in calls:
            with other.within():
                codes[name] += answers([call], until).codes
    return codes


def _without_arguments(call: Call) -> Call:
    def ask() -> Any:
        return call.function(*call.args, **call.kwargs)

    return Call(cast(types.FunctionType, ask), [], {}, recorded=False)


def _given(call: Call, at: int, value: Any) -> Call:
    return call._replace(args=[*call.args[:at], value, *call.args[at + 1 :]], recorded=False)


def varied(value: Any, dice: random.Random) -> List[Any]:
    """Values of the type and shape of `value`, without itself."""
    make = MAKERS.get(type(value), _of_object)
    try:
        return [one for one in make(value, dice) if type(one) is type(value) and _other(one, value)][:BESIDE]
    except Exception:  # whatever a type of theirs raises when it is compared, copied or calculated with
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
    """Other digits and letters in the same places, then shorter texts: what begins with it may well be like it."""
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


def _of_dict(value: Dict[Any, Any], dice: random.Random) -> Iterator[Any]:
    for key in list(value)[:PLACES]:
        yield from ({**value, key: one} for one in varied(value[key], dice)[:8])
        yield {other: item for other, item in value.items() if other != key}
    yield {}


def _of_object(value: Any, dice: random.Random) -> Iterator[Any]:
    """Other numbers, dates, and objects of which one attribute is another."""
    if isinstance(value, numbers.Number):
        yield from (value + step for step in STEPS)  # type: ignore[operator]
    elif isinstance(value, (datetime.date, datetime.timedelta)):
        yield from (value + 24 * step * HOUR for step in STEPS)
        yield from (value + step * HOUR for step in STEPS)
    elif not isinstance(value, PLAIN):
        yield from _of_attributes(value, dice)


def _of_attributes(value: Any, dice: random.Random) -> Iterator[Any]:
    for name, inner in list(getattr(value, "__dict__", {}).items())[:PLACES]:
        for one in varied(inner, dice)[:12]:
            twin = copy.copy(value)
            twin.__dict__[name] = one
            yield twin


MAKERS: Dict[type, Callable[[Any, random.Random], Iterator[Any]]] = {
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
