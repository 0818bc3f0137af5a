"""Make values of the types that annotations name: edge values first, then random ones; the same ones in every run."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import math
import random
import typing
from collections import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from .call_probe import UNIONS

RANDOM, MADE, LONGEST = 6, 24, 5
"""Numbers of random values of a plain type, and of random containers or objects; maximum length of these containers."""
DEPTH = 3
"""Maximum depth of containers and objects that are inside each other; those that are deeper are empty or missing."""
LETTERS = "abcABC019 .,:-_/%{}\t\nßÉ中"
CONTAINERS: dict[Any, Callable[[Any], Any]] = {
    **dict.fromkeys((list, abc.Iterable, abc.Collection, abc.Sequence, abc.MutableSequence), list),
    **dict.fromkeys((set, abc.Set, abc.MutableSet), set),
    frozenset: frozenset,
    tuple: tuple,
    **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), dict),
}
"""For each type of containers, a function that makes one of a list of items, or of pairs (key, value)."""
PLAIN: dict[Any, tuple[tuple[Any, ...], Callable[[random.Random], Any]]] = {
    bool: ((False, True), lambda dice: dice.random() < 0.5),
    int: ((0, 1, -1, 2, 3, 10, -10, 100, 1000), lambda dice: dice.randrange(-50, 500)),
    float: (
        (0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 0.125, 1e-9, 1e16, math.nan, math.inf, -math.inf),
        lambda dice: round(dice.uniform(-50, 50), 2),
    ),
    str: (
        ("", " ", "a", "Ab", "a b", " a  b ", "1", "-1", "²", "1.50", "a.b.c", "\t\n", "a\nb\r\n", "Straße", "x" * 80),
        lambda dice: "".join(dice.choices(LETTERS, k=dice.randrange(1, 9))),
    ),
    bytes: ((b"", b"a", b"a b", b"\0\xff", b"a\r\nb"), lambda dice: bytes(dice.choices(range(256), k=3))),
    object: ((None, 0, "a", (1, 2), ()), lambda dice: dice.choice((True, 2.5, b"a", "b", (3,)))),
    type(None): ((None,), lambda _: None),
}
"""For each plain type, its edge values, and a function that makes a random value."""


class TypedValues:
    """Makes values of types; objects that it cannot construct are taken from `known` values, if there are any."""

    def __init__(self, known: list[Any], dice: random.Random) -> None:
        self._known = known
        self._dice = dice

    def of(self, kind: Any, depth: int = DEPTH) -> list[Any]:
        """Return values of the type `kind`, as in the result of `typing.get_type_hints`; none if it makes no values."""
        origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
        if origin in PLAIN:
            edges, make = PLAIN[origin]
            return [*edges, *(make(self._dice) for _ in range(RANDOM))]
        if origin is Literal:
            return list(parts)
        if origin in UNIONS:
            return [value for part in parts for value in self.of(part, depth)]
        if origin in CONTAINERS:
            return self._containers(origin, parts, depth)
        return self._objects(origin, depth) if isinstance(origin, type) else []

    def _containers(self, origin: Any, parts: tuple[Any, ...], depth: int) -> list[Any]:
        inner = [self.of(one, depth - 1) if depth else [] for one in parts if one is not ...]
        rows = list(map(tuple, combined(inner, MADE, self._dice)))
        if origin is tuple and ... not in parts:
            return rows
        return list(self._rows(CONTAINERS[origin], rows if len(inner) > 1 else inner[0] if inner else []))

    def _rows(self, make: Callable[[Any], Any], items: list[Any]) -> Iterator[Any]:
        yield make(())
        for at in range(MADE if items else 0):
            some = self._dice.choices(items, k=2) if at % 2 else items  # of two, one is there more than once
            with contextlib.suppress(TypeError):  # an item that has no hash
                yield make(self._dice.choices(some, k=1 + at % LONGEST))

    def _objects(self, kind: Any, depth: int) -> list[Any]:
        if issubclass(kind, enum.Enum):
            return list(kind)
        found = [value for value in self._known if isinstance(value, kind)][:MADE]
        names = _fields(kind)
        hints = typing.get_type_hints(kind) if names and depth else {}
        for row in combined([self.of(hints.get(name), depth - 1) for name in names], MADE, self._dice):
            with contextlib.suppress(Exception):  # a __post_init__ of the project may refuse the values
                found.append(kind(**dict(zip(names, row, strict=True))))
        return found


def _fields(kind: Any) -> list[str]:
    """Return the names of the fields of a data class or NamedTuple, with which it is called; none for other classes."""
    if dataclasses.is_dataclass(kind):
        return [one.name for one in dataclasses.fields(kind) if one.init]
    return list(getattr(kind, "_fields", ())) if issubclass(kind, tuple) else []


def combined(pools: Sequence[list[Any]], most: int, dice: random.Random) -> list[list[Any]]:
    """Return `most` rows with one value of each pool, first each value once; none if there is no pool or no value."""
    if not pools or not all(pools):
        return []
    mixed = [dice.sample(pool, len(pool)) for pool in pools]
    return [[pool[at] if at < len(pool) else dice.choice(pool) for pool in mixed] for at in range(most)]
