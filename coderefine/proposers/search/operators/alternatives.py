"""Add a member to the alternatives with which a value is compared."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterable, Iterator, Sequence

from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import dotted

KIN = {"list": "tuple", "tuple": "list", "int": "float", "float": "int", "str": "bytes", "dict": "Mapping"}
"""Types that are often forgotten beside another in an `isinstance`."""
TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
CHECKS, AFFIXES = ("isinstance", "issubclass"), ("startswith", "endswith")
MOST_MEMBERS, LONGEST_MEMBER = 12, 40
"""Maximum number of members that are tried of one source, and of characters of a string."""


def member(site: Site) -> Iterator[Edit]:
    """Add a member to the alternatives of a test: `x in (A, B, C)` for `x in (A, B)`, `isinstance(x, (A, B))`."""
    for node in site.exprs:
        for alternatives in _alternatives(node):
            if isinstance(alternatives, ast.Tuple | ast.List | ast.Set) and alternatives.elts:
                at, end = site.module.end(alternatives.elts[-1]), site.module.end(alternatives) - 1
                if ")" in site.module.text[at:end]:
                    continue  # the last member is in brackets of its own
                for text, weight in _members(site, alternatives.elts):
                    yield Edit((Replacement(at, at, f", {text}"),), weight)
            elif isinstance(node, ast.Call):
                for text, weight in _members(site, [alternatives]):
                    yield from site.swap(alternatives, f"({site.code(alternatives)}, {text})", weight)


def _alternatives(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a value is tested against: the container of `in`, types of `isinstance`, affixes of `endswith`."""
    match node:
        case ast.Compare(ops=operators, comparators=containers):
            pairs = zip(operators, containers, strict=True)
            yield from (one for operator, one in pairs if isinstance(operator, ast.In | ast.NotIn))
        case ast.Call(func=ast.Name(id=name), args=[_, types]) if name in CHECKS:
            yield types
        case ast.Call(func=ast.Attribute(attr=name), args=[affix]) if name in AFFIXES:
            yield affix


def _members(site: Site, members: Sequence[ast.expr]) -> Iterator[tuple[str, float]]:
    """Yield strings, attributes and types, with weights, that may be missing among `members`."""
    known = {site.code(one) for one in members}
    sources = (_strings(site, members), _attributes(site, members), _types(site, known))
    yield from (pair for pair in itertools.chain(*sources) if pair[0] not in known)


def _attributes(site: Site, members: Sequence[ast.expr]) -> Iterator[tuple[str, float]]:
    """Yield attributes of the objects whose attributes are among `members`: `T.C` beside `T.A`."""
    for base in dict.fromkeys(dotted(one.value) for one in members if isinstance(one, ast.Attribute)):
        read = site.world.uses[base][False] if base else frozenset[str]()
        yield from ((f"{base}.{name}", 1.0) for name in sorted(read)[:MOST_MEMBERS])


def _types(site: Site, known: set[str]) -> Iterator[tuple[str, float]]:
    """Yield types that are often forgotten beside those in `known` (see KIN), and types that a failing test names.

    `known`: the code of the present members.
    """
    yield from ((KIN[name], 1.5) for name in sorted(known & KIN.keys()))
    yield from ((name, 3.0) for name in sorted(site.hints.literals & TYPES) if known & TYPES)


def _strings(site: Site, members: Sequence[ast.expr]) -> Iterator[tuple[str, float]]:
    """Yield strings of the failing tests that are like `members`: single characters, or whole strings."""
    values = [one.value for one in members if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if values and len(values) == len(members):
        found = (text for text in dict.fromkeys(_like(sorted(site.hints.literals), values)) if text not in values)
        yield from ((repr(text), 1.0) for text in itertools.islice(found, MOST_MEMBERS))


def _like(literals: Iterable[str], values: Sequence[str]) -> Iterator[str]:
    """Yield the `literals` that are not empty and not longer than LONGEST_MEMBER.

    If all `values` are single characters, yield the characters of `literals` instead: letters and digits if a value is
    one, else the other characters.
    """
    if any(len(value) != 1 for value in values):
        yield from (text for text in literals if 0 < len(text) <= LONGEST_MEMBER)
    else:
        words = any(map(str.isalnum, values))
        yield from (letter for text in literals for letter in text if letter.isalnum() is words)
