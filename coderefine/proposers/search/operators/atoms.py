"""Atomic conditions on names in scope, for guards and for extending conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from coderefine.proposers.search.index import Piece
from coderefine.proposers.search.operators.names import likeness
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.value_kinds import NUMERIC, SIZED

MOST = 240
"""Maximum number of conditions for one site: those with the highest weights."""
HOLDING = ("list", "tuple", "dict", "set", "iter", "")
NUMBER = (
    ("{} == 0", 1.2),
    ("{} < 0", 1.2),
    ("{} <= 0", 1.2),
    ("{} > 0", 1.0),
    ("{} >= 0", 0.6),
    ("{} != 0", 0.5),
    ("{} == 1", 0.6),
    ("{} <= 1", 0.6),
    ("{} < 1", 0.6),
    ("{} > 1", 0.6),
    ("{} < 2", 0.6),
    ("not {}", 0.4),
    ("{}", 0.3),
    ("{} % 2 == 0", 0.1),
)
TRUTH = (("{}", 1.2), ("not {}", 1.2))
KNOWN = (("{} is None", 0.7), ("{} is not None", 0.5), ("not {}", 1.5), ("{}", 1.2))
SIZE = (
    ("len({}) == 0", 0.3),
    ("len({}) == 1", 0.6),
    ("len({}) < 2", 0.6),
    ("len({}) <= 1", 0.6),
    ("len({}) > 1", 0.5),
    ("len({}) > 0", 0.2),
    ("len({}) != 1", 0.1),
    ("len({}) == 2", 0.1),
)
TEXT = (
    ("{}.isdigit()", 0.4),
    ("{}.strip()", 0.4),
    ("not {}.strip()", 0.4),
    ("{}.isalpha()", 0.4),
    ("{}.isupper()", 0.4),
    ("{}.isspace()", 0.4),
    ("{}.islower()", 0.4),
    ("{}.isalnum()", 0.4),
)
UNKNOWN = (
    ("{} is None", 1.3),
    ("{} is not None", 1.0),
    ("not {}", 1.5),
    ("{}", 1.2),
    ("isinstance({}, str)", 0.5),
    ("not isinstance({}, str)", 0.5),
    ("isinstance({}, (list, tuple))", 0.35),
    ("isinstance({}, list)", 0.35),
    ("isinstance({}, dict)", 0.35),
    ("isinstance({}, int)", 0.25),
    ("not isinstance({}, (str, bytes))", 0.35),
    ("{} == 0", 0.5),
    ("{} < 0", 0.5),
    ("{} <= 0", 0.5),
    ("{} > 0", 0.4),
    ("callable({})", 0.1),
    ("isinstance({}, bool)", 0.15),
    ("not isinstance({}, bool)", 0.15),
    ("{} == 1", 0.2),
    ("{} <= 1", 0.2),
)
"""Conditions on a value of unknown kind, with their weights."""


def atoms(site: Site) -> dict[str, float]:
    """Return conditions with weights: existing ones of this function and file, and new ones on one or two names."""
    if "atoms" not in site.memo:
        found: dict[str, float] = {}
        for text, weight in (*_written(site), *_single(site), *_paired(site), *_predicate_calls(site), *_listed(site)):
            found[text] = max(found.get(text, 0.0), weight)
        best = sorted(found.items(), key=lambda item: -item[1])
        site.memo["atoms"] = {text: weight**1.5 for text, weight in best[:MOST]}
    return site.memo["atoms"]


def _written(site: Site) -> Iterator[tuple[str, float]]:
    """Yield conditions from elsewhere in the function and file whose names are all in scope."""
    for piece in site.module.index.tests:
        if piece.names <= site.known:
            weight = 1.6 if piece.function is site.local.function else 0.8
            yield piece.text, weight
            yield f"not {site.tight(piece.node)}", weight * 0.4


def _single(site: Site) -> Iterator[tuple[str, float]]:
    loops = set(site.names[:3])
    for path in site.paths:
        near = (1.3 if path in site.local.parameters or path in loops else 0.8) * (0.6 if "." in path else 1.0)
        yield from ((text.format(path), weight * near) for text, weight in _about(site.kinds.name(path)))
    for piece in site.module.index.expressions:
        if isinstance(piece.node, ast.Subscript) and _readable(site, piece):
            yield f"not {piece.text}", 0.9
            yield piece.text, 0.8
    yield from ((f"self.{name}()", 0.5) for name in _predicates(site))


def _predicate_calls(site: Site) -> Iterator[tuple[str, float]]:
    """Yield calls of a parameter that is a function, with a name in scope as argument: `key(x)`."""
    for name in site.local.callables:
        weight = 1.4 if name in site.local.unused else 0.5
        for path in site.names[:5]:
            if path != name:
                yield f"{name}({path})", weight
                yield f"not {name}({path})", weight * 0.5


def _listed(site: Site) -> Iterator[tuple[str, float]]:
    """Yield membership tests of a name in a constant collection of the file."""
    for name in site.module.index.collections[:8]:
        for path in site.names[:5]:
            if site.kinds.name(path) in ("str", "int", ""):
                yield from ((f"{path} in {name}", 0.9), (f"{path} not in {name}", 0.5))
            if site.kinds.name(path) in ("str", ""):
                yield f"{path}.lower() in {name}", 0.5


def _readable(site: Site, piece: Piece) -> bool:
    return piece.function is site.local.function and piece.names <= site.known


def _predicates(site: Site) -> list[str]:
    """Return the names of the class's methods that return a bool, judging by their names."""
    return [name for name in site.local.methods if name.startswith(("is_", "has_"))] if site.local.receiver else []


def _about(kind: str) -> Iterable[tuple[str, float]]:
    """Return conditions on one value of a kind; {} stands for the value."""
    if kind in ("int", "float"):
        return NUMBER
    if kind == "bool":
        return TRUTH
    if not kind:
        return UNKNOWN
    return (*KNOWN, *(SIZE if kind in SIZED else ()), *(TEXT if kind == "str" else ()))


def _paired(site: Site) -> Iterator[tuple[str, float]]:
    """Yield conditions that relate two names: order, equality, membership, length."""
    paths = site.paths[:14]
    for one in paths:
        for two in paths:
            if one != two:
                a, b = site.kinds.name(one), site.kinds.name(two)
                yield from _between(one, two, a, b, 0.5 + 0.5 * likeness(one, two))


def _between(one: str, two: str, a: str, b: str, weight: float) -> Iterator[tuple[str, float]]:
    """Yield conditions that relate `one`, of kind `a`, to `two`, of kind `b`."""
    if b in HOLDING and a not in ("list", "dict", "set"):
        boost = (1.6 if b else 0.5) * (0.5 + weight)
        yield f"{one} in {two}", boost * 0.7
        yield f"{one} not in {two}", boost * 0.8
    if a in NUMERIC and b in NUMERIC:
        yield from _of_numbers(one, two, a, b, weight)
    elif a == b:
        yield from _equal(one, two, weight)
    yield from _by_kinds(one, two, a, b, weight)


def _of_numbers(one: str, two: str, a: str, b: str, weight: float) -> Iterator[tuple[str, float]]:
    if not a and not b and one >= two:  # if both kinds are unknown, one order is enough
        return
    boost = 1.0 if a and b else 0.5
    for sign in ("<", "<=", ">", ">="):
        yield f"{one} {sign} {two}", weight * boost * 0.7
    yield from _equal(one, two, weight * boost)


def _equal(one: str, two: str, weight: float) -> Iterator[tuple[str, float]]:
    if one < two:  # the reverse order is equivalent
        yield f"{one} == {two}", weight * 0.6
        yield f"{one} != {two}", weight * 0.6


def _by_kinds(one: str, two: str, a: str, b: str, weight: float) -> Iterator[tuple[str, float]]:
    """Yield conditions on the sizes or texts of both values."""
    if a in SIZED and b == "int":
        for sign in ("<", "<=", ">=", ">", "=="):
            yield f"len({one}) {sign} {two}", weight * 0.8
            yield f"{two} {sign} len({one})", weight * 0.5
    if a in SIZED and a == b:
        yield f"len({one}) != len({two})", weight * 0.5
        yield f"len({one}) > len({two})", weight * 0.3
    if a == b == "str":
        yield f"{one}.startswith({two})", weight * 0.3
        yield f"{one}.endswith({two})", weight * 0.3
