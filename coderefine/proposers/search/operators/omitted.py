"""Edits that add what was forgotten: an operand, the complement of a rate, the update of a name that is only read."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.operators.constants import is_number
from coderefine.proposers.search.operators.inserted import IDLE, idle
from coderefine.proposers.search.operators.operands import moved_by
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit
from coderefine.proposers.search.value_kinds import NUMERIC, dotted

WHOLES = ("1", "100")
"""The wholes of rates (1) and percentages (100)."""
SEQUENCES = ("list", "tuple")
TAKING = (ast.Return, ast.Assign, ast.AugAssign, ast.Call, ast.keyword, ast.Tuple, ast.List)
"""Parents of an expression whose value may lack an operand."""
MOST_ELEMENTS = 4
"""Maximum number of sequences whose last element is tried."""


def next_term(site: Site) -> Iterator[Edit]:
    """Add the next or the previous element to a sum or product of elements: `row[i] + row[i + 1]` for `row[i]`."""
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
    """Store a value in the variable with which an `if` in a loop compares it, if nothing else changes the variable.

    For example, insert `seen.add(x)` after `if x in seen: continue`.
    """
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
    """Yield statements that store `value` in `holder`; they depend on the `operator` that compares the two."""
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
    """Reset a counter when a series ends: add an `else` with the counter's initial value to the `if` that counts."""
    stmt = site.stmt
    if not isinstance(stmt, ast.If) or stmt.orelse or site.loop is None:
        return
    counts = [node.target for node in stmt.body if isinstance(node, ast.AugAssign)]
    for target in counts:
        for value in _initial(site, site.code(target), site.loop):
            text = f"else:\n{site.module.step}{site.code(target)} = {value}"
            yield from emit.insertion(site.module, stmt, text, after=True, boost=IDLE)


def _initial(site: Site, name: str, loop: ast.stmt) -> Iterator[str]:
    """Yield the constants and lists that the function assigns to `name` outside of the loop."""
    inside = {id(node) for node in ast.walk(loop)}
    for node in ast.walk(site.local.function or site.module.tree):
        if isinstance(node, ast.Assign) and id(node) not in inside and isinstance(node.value, ast.Constant | ast.List):
            yield from (site.code(node.value) for target in node.targets if site.code(target) == name)
