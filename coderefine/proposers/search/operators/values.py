"""Edits of values: returned and assigned values, bounds, defaults, and replacement of whole expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search.operators.inserted import nearest
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import NUMERIC, dotted, fits, is_none

MAPPERS = ("str", "int", "tuple", "list", "len", "float", "bool", "set")
"""Builtins that are often passed as functions."""
MAPPING = ("map", "filter", "reduce", "functools.reduce")
"""Calls whose first argument is a function."""
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.Div)
TAKES_VALUE = (
    ast.Call,
    ast.Assign,
    ast.Return,
    ast.keyword,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.Subscript,
    ast.IfExp,
)
"""Parents of a None that may have to be replaced by another value."""
GROWS = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Call, ast.BinOp)
EQUAL_TO_NUMBERS = {"True": 0.0, "False": 0.0}
"""Weights of the values that replace no number: tests cannot tell them from 1 and 0, which are tried, too."""
BOUNDED = (
    ast.Assign,
    ast.Return,
    ast.Call,
    ast.Tuple,
    ast.AugAssign,
    ast.keyword,
    ast.Slice,
    ast.List,
    ast.AnnAssign,
)
"""Parents of a value that may need a bound."""


def returned(site: Site) -> Iterator[Edit]:
    """Return another value: a local variable, an attribute, a simple value; or add such a value to a bare `return`."""
    node = site.stmt
    if not isinstance(node, ast.Return) or site.local.function is None:
        return
    options = {path: 1.5 if "." not in path else 0.8 for path in site.paths}
    options |= {
        "True": 0.7,
        "False": 0.7,
        "None": 0.5,
        "[]": 0.4,
        "0": 0.4,
        '""': 0.3,
        "{}": 0.2,
        "1": 0.2,
        "-1": 0.2,
        "self": 0.5 if site.local.receiver else 0.0,
    }
    if _is_number(node.value):
        options |= EQUAL_TO_NUMBERS
    for text in options:
        if node.value is None:
            yield Edit((Replacement(site.module.start(node), site.module.end(node), f"return {text}"),), options[text])
        else:
            yield from site.swap(node.value, text, options[text])


def none_value(site: Site) -> Iterator[Edit]:
    """Replace None as an argument, value or result by a variable in scope, or by a builtin function."""
    paths = [(path, 1.0 / (1 + 0.1 * at)) for at, path in enumerate(site.readable)]
    for node in filter(is_none, site.exprs):
        if isinstance(site.module.parents.get(node), TAKES_VALUE):
            called = [(name, 0.5) for name in MAPPERS] if _to_be_called(site, node) else []
            for text, weight in (*called, *paths):
                yield from site.swap(node, text, weight)


def _to_be_called(site: Site, node: ast.expr) -> bool:
    """Return whether a function is expected in place of `node`: `map(None, rows)`, `sorted(rows, key=None)`."""
    parent = site.module.parents.get(node)
    if isinstance(parent, ast.keyword):
        return parent.arg in ("key", "default_factory")
    return isinstance(parent, ast.Call) and dotted(parent.func) in MAPPING and parent.args[0] is node


def ingredient(site: Site) -> Iterator[Edit]:
    """Replace an expression by another expression of this file, of suitable kind and with names in scope."""
    pool = _pool(site)
    for node in site.values:
        if _part_of_name(site, node):
            continue
        kind, plain = site.kinds.of(node), is_none(node)
        for text, other, weight in pool:
            if plain or fits(kind, other):
                near = 1.0 if plain else _alike_in_size(site.code(node), text)
                yield from site.swap(node, text, weight * near * (1.5 if kind and kind == other else 1.0))


def _alike_in_size(one: str, other: str) -> float:
    return min(len(one), len(other)) / max(len(one), len(other)) + 0.2 if one else 1.0


def _part_of_name(site: Site, node: ast.AST) -> bool:
    """Return whether `node` is a called function, or a name before a dot."""
    dot = isinstance(site.module.parents.get(node), ast.Attribute)
    return site.module.is_called(node) or (dot and isinstance(node, ast.Name))


def _pool(site: Site) -> list[tuple[str, str, float]]:
    """Return (text, kind, weight) of compound expressions whose names are all in scope."""
    found: dict[str, tuple[str, str, float]] = {}
    for weight, piece in nearest(site, site.module.index.expressions):
        if piece.text not in found and len(piece.text) <= 70 and piece.names <= site.known:
            found[piece.text] = (piece.text, site.kinds.of(piece.node), weight)
        if len(found) > 150:
            break
    return list(found.values())


def composed(site: Site) -> Iterator[Edit]:
    """Replace a value by a combination of it with a name, and None by a combination of two names.

    Combinations are `a + b`, `max(a, b)`, `a[b]` and others.
    """
    for node in site.values:
        if not _part_of_name(site, node) and (is_none(node) or isinstance(node, GROWS)):
            yield from _grown(site, node, empty=is_none(node))


def _grown(site: Site, node: ast.expr, *, empty: bool) -> Iterator[Edit]:
    kind = site.kinds.of(node)
    paths = site.paths[:12]
    for base in paths[:6] if empty else [_operand(site, node)]:
        own = site.kinds.name(base) if empty else kind
        for other in paths:
            if other != base:
                for text, weight in _joined(base, other, own, site.kinds.name(other)):
                    yield from site.swap(node, text, weight)
        if own == "list" and not empty:
            yield from site.swap(node, f"{base} + [{paths[0]}]" if paths else base, 0.3)


def _operand(site: Site, node: ast.expr) -> str:
    """Return the node's text, in parentheses if it has lower precedence than arithmetic operators."""
    loose = isinstance(node, ast.BinOp) and not isinstance(node.op, ARITHMETIC)
    return site.tight(node) if loose else site.code(node)


def _joined(base: str, other: str, own: str, theirs: str) -> Iterator[tuple[str, float]]:
    """Yield expressions that combine two names of the kinds `own` and `theirs`, with weights."""
    if own in NUMERIC and theirs in NUMERIC:
        yield from _reckoned(base, other, own, theirs)
    elif own == theirs and own in ("str", "list"):
        yield f"{base} + {other}", 0.8
        yield f"{other} + {base}", 0.5
    if own in ("list", "dict", "tuple", "str", "") and theirs in ("int", "str", ""):
        yield f"{base}[{other}]", 0.5 if own else 0.15
    if own == "dict":
        yield f"{base}.get({other})", 0.5


def _reckoned(base: str, other: str, own: str, theirs: str) -> Iterator[tuple[str, float]]:
    for sign, weight in (("+", 1.0), ("-", 1.0), ("*", 0.7), ("//", 0.3), ("/", 0.3), ("%", 0.4)):
        yield f"{base} {sign} {other}", weight * (1.0 if own and theirs else 0.3)
    for call in ("min", "max"):
        yield f"{call}({base}, {other})", 0.7 * (1.0 if own else 0.4)


def rounded_up(site: Site) -> Iterator[Edit]:
    """Round an integer division up or to the nearest integer, instead of down."""
    for node in site.exprs:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            left, right = site.code(node.left), site.tight(node.right)
            yield from site.swap(node, f"({left} + {right} - 1) // {right}", 2.0)
            yield from site.swap(node, f"-(-{site.tight(node.left)} // {right})", 1.0)
            yield from site.swap(node, f"({left} + {right} // 2) // {right}", 0.5)
            yield from site.swap(node, f"{left} // {right} + 1", 0.5)


LOST = 0.8
"""Penalty (log odds) for each part, except the first, of an expression that a new value replaces: few faults are so
large."""


def assigned(site: Site) -> Iterator[Edit]:
    """Replace an assigned value by a simple one, an infinity, a variable, or an element or the size of a collection."""
    node = site.stmt
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return
    kind = site.kinds.of(node.value)
    options = {
        "0": 1.0,
        "1": 1.0,
        "[]": 0.7,
        "{}": 0.5,
        "set()": 0.5,
        '""': 0.5,
        "None": 0.7,
        "True": 0.4,
        "False": 0.4,
        'float("inf")': 0.7,
        'float("-inf")': 0.7,
        "-1": 0.4,
        "0.0": 0.2,
    }
    for name in site.names:
        if site.kinds.name(name) in ("list", "tuple", "str"):
            options |= {f"{name}[0]": 0.8, f"len({name})": 0.6, f"{name}[-1]": 0.3, f"len({name}) - 1": 0.5}
    options |= {name: 0.8 for name in site.paths if fits(kind, site.kinds.name(name))}
    if _is_number(node.value):
        options |= EQUAL_TO_NUMBERS
    lost = _parts(node.value) - 1
    for text, weight in options.items():
        yield from site.swap(node.value, text, weight, -LOST * lost)


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _parts(value: ast.expr) -> int:
    """Return how many values and functions an expression is made of, at least 1; `self.x` counts as one."""
    inner = {node.value for node in ast.walk(value) if isinstance(node, ast.Attribute)}
    leaves = ast.Name | ast.Attribute | ast.Constant
    return max(1, sum(isinstance(node, leaves) and node not in inner for node in ast.walk(value)))


def extreme(site: Site) -> Iterator[Edit]:
    """Bound a number by another number: `max(a, b)` or `min(a, b)`."""
    for node in site.values:
        if not _boundable(site, node):
            continue
        text = site.code(node)
        for other in [*_operands(site, node), *site.paths[:14]]:
            if other != text and site.kinds.name(other) in NUMERIC:
                weight = 1.0 if site.kinds.name(other) else 0.6
                for call in ("max", "min"):
                    yield from site.swap(node, f"{call}({other}, {text})", weight)
                    yield from site.swap(node, f"{call}({text}, {other})", weight * 0.7)


def _boundable(site: Site, node: ast.expr) -> bool:
    """Return whether `node` may be a number in a position where its value is used."""
    if isinstance(node, ast.Compare | ast.BoolOp | ast.Constant) or _part_of_name(site, node):
        return False
    return isinstance(site.module.parents.get(node), BOUNDED) and site.kinds.of(node) in NUMERIC


def _operands(site: Site, node: ast.AST) -> list[str]:
    """Return up to eight other subscript expressions that the function reads: `best[k]`, `pair[1]`."""
    own = site.code(node)
    pieces = nearest(site, [piece for piece in site.module.index.expressions if isinstance(piece.node, ast.Subscript)])
    texts = [piece.text for weight, piece in pieces if weight == 2.0 and piece.names <= site.known]
    return [text for text in dict.fromkeys(texts) if text != own and len(text) <= 40][:8]


def emptied(site: Site) -> Iterator[Edit]:
    """Add a default for a value that may be missing or empty: `x or []`."""
    for node in site.values:
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) and not _part_of_name(site, node):
            parent = site.module.parents.get(node)
            if isinstance(
                parent, ast.Assign | ast.Return | ast.Call | ast.For | ast.keyword | ast.BinOp | ast.comprehension
            ):
                for empty in ("[]", '""', "0", "{}", "()", "None", "1"):
                    yield from site.swap(node, f"{site.code(node)} or {empty}", 1.0)
