"""Edits that add what was forgotten: an operand, the complement of a rate, the update of a name that is only read."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterator, Sequence

from coderefine.proposers.search import emit
from coderefine.proposers.search.operators.constants import is_number
from coderefine.proposers.search.operators.inserted import IDLE, idle
from coderefine.proposers.search.operators.operands import moved_by
from coderefine.proposers.search.operators.values import NUMERIC
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import dotted

WHOLES = ("1", "100")
"""The wholes of rates (1) and percentages (100)."""
SEQUENCES = ("list", "tuple")
TAKING = (ast.Return, ast.Assign, ast.AugAssign, ast.Call, ast.keyword, ast.Tuple, ast.List)
"""Parents of an expression whose value may lack an operand."""
MOST_ELEMENTS = 4
"""Maximum number of sequences whose last element is tried."""


def next_term(site: Site) -> Iterator[Edit]:
    """Add the next element to a sum or product of elements: `row[i] + row[i + 1]` for `row[i]`."""
    for node in site.values:
        match node:
            case ast.BinOp(op=ast.Add() | ast.Mult() as op, right=ast.Subscript() as last):
                sign = "+" if isinstance(op, ast.Add) else "*"
            case ast.Subscript() as last if isinstance(site.module.parents.get(node), TAKING):
                sign = "+"
            case _:
                continue
        if not isinstance(last.slice, ast.Slice | ast.Tuple) and site.kinds.of(last.slice) in ("int", ""):
            base = site.code(last.value)
            for step in (1, -1):
                yield from site.swap(node, f"{site.code(node)} {sign} {base}[{moved_by(site, last.slice, step)}]")


def element(site: Site) -> Iterator[Edit]:
    """Add or subtract an element of a sequence: `10 - rolls[-1]` for `10`, `old[1] + count` for `count`."""
    elements = _elements(site)
    for node in site.values:
        if isinstance(site.module.parents.get(node), TAKING) and _is_number(site, node):
            text = site.code(node)
            for other, weight in elements:
                yield from site.swap(node, f"{text} - {other}", weight)
                yield from site.swap(node, f"{other} + {text}", weight)
                yield from site.swap(node, f"{other} - {text}", weight / 2)


def _is_number(site: Site, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return is_number(node.value)
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp) and site.kinds.of(node) in NUMERIC


def _elements(site: Site) -> list[tuple[str, float]]:
    """Return elements of sequences: the last one and, of local variables that are never read, also the first two."""
    unused = site.local.unused
    found = [(f"{name}[{at}]", 3.0) for name in site.names if name in unused for at in (0, 1, -1)]
    named = (path for path in site.readable if site.kinds.name(path) in SEQUENCES and path not in unused)
    return [*found, *((f"{path}[-1]", 1.0) for path in itertools.islice(named, MOST_ELEMENTS))]


def complement(site: Site) -> Iterator[Edit]:
    """Use what is left of a whole: `100 - percent` for `percent`, `price - price * rate` for `price * rate`.

    Also use the sum instead of the difference: `100 + percent`, `price + price * rate`.
    """
    for node in site.values:
        parent = site.module.parents.get(node)
        if isinstance(node, ast.Name | ast.Attribute) and _scales(parent) and site.kinds.of(node) in NUMERIC:
            yield from _parts(site, node)
        elif _scales(node) and isinstance(parent, TAKING):
            names = (site.code(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute))
            for whole, sign in itertools.product(itertools.islice(names, 1), "-+"):
                yield from site.swap(node, f"{whole} {sign} {site.code(node)}")


def _scales(node: ast.AST | None) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)


def _parts(site: Site, node: ast.expr) -> Iterator[Edit]:
    function = site.local.function or site.stmt
    used = {repr(one.value) for one in ast.walk(function) if isinstance(one, ast.Constant)}
    for whole in WHOLES:
        weight = 2.0 if whole in used else 0.5
        yield from site.swap(node, f"({whole} - {site.code(node)})", weight)
        yield from site.swap(node, f"({whole} + {site.code(node)})", weight / 2)


def moved_addend(site: Site) -> Iterator[Edit]:
    """Add after multiplying, not before: `x * 9 / 5 + 32` for `(x + 32) * 9 / 5`."""
    for node in site.exprs:
        inner = node
        while isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult | ast.Div):
            inner = inner.left
        if inner is not node and isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add | ast.Sub):
            sign = "+" if isinstance(inner.op, ast.Add) else "-"
            rest = site.module.text[site.module.end(inner) : site.module.end(node)].removeprefix(")")
            yield from site.swap(node, f"{site.code(inner.left)}{rest} {sign} {site.tight(inner.right)}")


def set_default(site: Site) -> Iterator[Edit]:
    """Keep an existing entry: `groups.setdefault(key, [])` for `groups[key] = []`."""
    match site.stmt:
        case ast.Assign(targets=[ast.Subscript(value=base, slice=key)], value=value) if not isinstance(key, ast.Slice):
            text = f"{site.code(base)}.setdefault({site.code(key)}, {site.code(value)})"
            yield emit.statement(site.module, site.stmt, text)


def noted(site: Site) -> Iterator[Edit]:
    """Store a compared value in the other operand if nothing changes it: `seen.add(x)` after `if x in seen: ...`."""
    if not isinstance(site.stmt, ast.If) or site.loop is None:
        return
    unchanged = idle(site)
    for node in ast.walk(site.stmt.test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            pairs = ((node.left, node.comparators[0]), (node.comparators[0], node.left))
            for value, holder in pairs:
                if dotted(holder) in unchanged:
                    for text in _notes(site, site.code(value), site.code(holder), node.ops[0]):
                        yield from _behind(site, site.stmt, text)


def _notes(site: Site, value: str, holder: str, operator: ast.cmpop) -> Iterator[str]:
    """Yield statements that store `value`, with which `holder` is compared, in `holder`."""
    if not isinstance(operator, ast.In | ast.NotIn):
        yield f"{holder} = {value}"
        return
    kind = site.kinds.name(holder)
    if kind in ("set", ""):
        yield f"{holder}.add({value})"
    if kind in ("list", ""):
        yield f"{holder}.append({value})"


def _behind(site: Site, stmt: ast.If, text: str) -> Iterator[Edit]:
    """Yield insertions of `text`: at the end of the block around `stmt`, after `stmt`, and at the end of its body."""
    for place in dict.fromkeys((site.siblings[-1], stmt, stmt.body[-1])):
        yield from emit.insertion(site.module, place, text, after=True, boost=IDLE)


def reset(site: Site) -> Iterator[Edit]:
    """Reset a counter when a series ends: add an `else` that assigns the initial value of what the `if` counts."""
    stmt = site.stmt
    if not isinstance(stmt, ast.If) or stmt.orelse or site.loop is None:
        return
    counts = [node.target for node in stmt.body if isinstance(node, ast.AugAssign)]
    for target in counts:
        for value in _initial(site, site.code(target), site.loop):
            text = f"else:\n{site.module.step}{site.code(target)} = {value}"
            yield from emit.insertion(site.module, stmt, text, after=True, boost=IDLE)


def _initial(site: Site, name: str, loop: ast.stmt) -> Iterator[str]:
    """Yield the constants that the function assigns to `name` outside of the loop."""
    inside = {id(node) for node in ast.walk(loop)}
    for node in ast.walk(site.local.function or site.module.tree):
        if isinstance(node, ast.Assign) and id(node) not in inside and isinstance(node.value, ast.Constant | ast.List):
            yield from (site.code(node.value) for target in node.targets if site.code(target) == name)


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
            if isinstance(alternatives, ast.Tuple | ast.List | ast.Set):
                for text, weight in _members(site, alternatives.elts):
                    at = site.module.end(alternatives.elts[-1]) if alternatives.elts else 0
                    if at:
                        yield Edit((Replacement(at, at, f", {text}"),), weight)
            elif isinstance(node, ast.Call):
                for text, weight in _members(site, [alternatives]):
                    yield from site.swap(alternatives, f"({site.code(alternatives)}, {text})", weight)


def _alternatives(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a value is tested against: the container of `in`, the types of `isinstance`, the affixes of a text."""
    match node:
        case ast.Compare(ops=operators, comparators=containers):
            pairs = zip(operators, containers, strict=True)
            yield from (one for operator, one in pairs if isinstance(operator, ast.In | ast.NotIn))
        case ast.Call(func=ast.Name(id=name), args=[_, types]) if name in CHECKS:
            yield types
        case ast.Call(func=ast.Attribute(attr=name), args=[affix]) if name in AFFIXES:
            yield affix


def _members(site: Site, members: Sequence[ast.expr]) -> Iterator[tuple[str, float]]:
    """Yield further members of the same form, with weights, that are not among `members`."""
    known = {site.code(one) for one in members}
    values = [one.value for one in members if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    found = [*_strings(site, values)] if values and len(values) == len(members) else []
    for base in dict.fromkeys(dotted(one.value) for one in members if isinstance(one, ast.Attribute)):
        read = site.world.uses[base][False] if base else frozenset[str]()
        found += [(f"{base}.{name}", 1.0) for name in sorted(read)[:MOST_MEMBERS]]
    found += [(KIN[name], 1.5) for name in sorted(known & KIN.keys())]
    if not known.isdisjoint(TYPES):
        found += [(name, 3.0) for name in sorted(site.hints.literals & TYPES)]
    yield from ((text, weight) for text, weight in found if text not in known)


def _strings(site: Site, values: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield strings of the failing tests that are like `values`: single characters, or whole strings."""
    literals = sorted(site.hints.literals)
    if all(len(value) == 1 for value in values):
        words = any(value.isalnum() for value in values)
        found = dict.fromkeys(letter for text in literals for letter in text if letter.isalnum() is words)
    else:
        found = dict.fromkeys(text for text in literals if 0 < len(text) <= LONGEST_MEMBER)
    yield from ((repr(text), 1.0) for text in itertools.islice(found, MOST_MEMBERS))
