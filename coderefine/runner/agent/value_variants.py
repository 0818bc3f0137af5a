"""Make variants of a value: similar values of the same type."""

from __future__ import annotations

import contextlib
import copy
import datetime
import decimal
import random
import types
from collections.abc import Callable, Iterable
from typing import Any

from .value_codes import fields_of

MOST = 7
"""Maximum number of variants of one value."""
DEEPEST = 4
"""Maximum depth of the values inside a value that are varied: an object may contain itself."""
MOST_LIMITS, MOST_BETWEEN, LONGEST = 4, 2, 40
"""Maximum number of values at limits, of numbers below them, and of items of a sequence that is as long as a limit."""
NUMBERS, ROWS = (int, float), (str, list, tuple)
CONTAINERS = (list, dict, set)
DAY = datetime.timedelta(days=1)
PLAIN = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType)


def variants(value: Any, dice: random.Random, depth: int = DEEPEST) -> list[Any]:
    """Return at most MOST values of the same type that are similar to `value`.

    For a type that is not in MAKERS, see `objects`. `depth`: how deep the values inside `value` are varied; if it is 0,
    return [].
    """
    if depth == 0:
        return []
    make = MAKERS.get(type(value))
    if make is None:
        return objects(value, dice, depth)
    try:
        kept = [one for one in make(value, dice, depth) if type(one) is type(value) and one != value]
    except ArithmeticError:  # a date or a Decimal at the end of its range
        return []
    return kept if len(kept) <= MOST else dice.sample(kept, MOST)


def at_limits(value: Any, limits: Iterable[Any]) -> list[Any]:
    """Return at most MOST_LIMITS values that equal one of `limits`, or sequences with one of `limits` as length.

    Programs that differ in a comparison (`<` and `<=`) often differ only for such values. If `value` is a float, at
    most MOST_BETWEEN numbers between an integer limit and the integer below it are added: only these numbers
    distinguish `< 10` from `<= 9`.
    """
    found: list[Any] = []
    between: list[Any] = []
    for limit in limits:
        one = _at(value, limit)
        if one is not None and one != value and one not in found:
            found.append(one)
        if type(value) is float and type(limit) is int and limit - 0.5 not in (value, *between):
            between.append(limit - 0.5)
    return [*found[:MOST_LIMITS], *between[:MOST_BETWEEN]]


def _at(value: Any, limit: Any) -> Any:
    """Return `limit` if it can replace `value`, or `value` with the length `limit`; None if neither is possible."""
    kinds = type(value), type(limit)
    if kinds == (str, str):
        return limit if len(limit) <= LONGEST else None
    if kinds[0] in NUMBERS and kinds[1] in NUMBERS:
        return limit
    if kinds[0] in ROWS and kinds[1] is int and value and 0 < limit <= LONGEST:
        return (value * limit)[:limit]
    return None


def objects(value: Any, dice: random.Random, depth: int = DEEPEST) -> list[Any]:
    """Return at most MOST copies of an object, each with another value of one attribute; none if it has no attributes.

    An object that is also a container is not copied: `copy.copy` adds the items to the copy by methods of the class. As
    the copy shares all attributes with the original, this may never end.
    """
    if isinstance(value, (*PLAIN, *CONTAINERS)):
        return []
    fields = [(name, inner) for name, inner in fields_of(value).items() if type(inner) in MAKERS]
    found = []
    with contextlib.suppress(Exception):  # a __copy__ of the project may raise anything
        for name, inner in fields:
            found += [with_field(value, name, one) for one in variants(inner, dice, depth - 1)[:3]]
    return found if len(found) <= MOST else dice.sample(found, MOST)


def with_field(value: Any, name: str, field: Any) -> Any:
    """Return a copy of an object with another value of the attribute `name`; raises what its `__copy__` raises."""
    twin = copy.copy(value)
    if name in getattr(twin, "__dict__", ()):
        twin.__dict__[name] = field
    else:
        object.__setattr__(twin, name, field)  # a slot, also of a class whose objects are not to be changed
    return twin


def _of_text(value: Any, dice: random.Random, _: int) -> list[Any]:
    cut = dice.randrange(len(value) + 1)
    return [value[:0], value[:-1], value[1:], value + value, value[::-1], value.upper(), value[:cut] + value[cut + 1 :]]


def _of_row(value: Any, dice: random.Random, depth: int) -> list[Any]:
    found = [value[:0], value[:1], value[:-1], value[1:], value[::-1], value + value[:1]]
    for _ in range(2):
        if value:
            at = dice.randrange(len(value))
            found += [
                value[:at] + type(value)([one]) + value[at + 1 :] for one in variants(value[at], dice, depth - 1)[:1]
            ]
    return found


def _of_dict(value: dict[Any, Any], dice: random.Random, depth: int) -> list[Any]:
    found: list[Any] = [{}]
    for key in list(value)[:3]:
        found.append({other: item for other, item in value.items() if other != key})
        found += [{**value, key: one} for one in variants(value[key], dice, depth - 1)[:1]]
    return found


def _of_set(value: Any, *_: object) -> list[Any]:
    return [type(value)(), *(value - {one} for one in sorted(value, key=repr)[:2])]


def _of_date(value: Any, dice: random.Random, _: int) -> list[Any]:
    steps = (1, -1, 7, dice.randrange(20, 400))
    return [value + datetime.timedelta(days=step) for step in steps]


MAKERS: dict[type, Callable[[Any, random.Random, int], list[Any]]] = {
    bool: lambda value, *_: [not value],
    int: lambda value, dice, _: [value + 1, value - 1, 0, 1, -value, value * 2, dice.randrange(2, 50)],
    float: lambda value, dice, _: [value + 1, value - 0.5, 0.0, -value, value * 2, round(dice.uniform(0, 20), 2)],
    str: _of_text,
    bytes: _of_text,
    list: _of_row,
    tuple: _of_row,
    dict: _of_dict,
    set: _of_set,
    frozenset: _of_set,
    decimal.Decimal: lambda value, *_: [value + 1, value - 1, value * 0, -value, value * 2],
    datetime.date: _of_date,
    datetime.datetime: _of_date,
    datetime.timedelta: lambda value, *_: [value + DAY, value - DAY, value * 0, -value, value * 2],
}
