"""Edits of operators and operands of arithmetic, comparison and boolean expressions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from coderefine.proposers.search import emit
from coderefine.proposers.search.site import NEUTRAL, Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import NUMBERS, dotted, fits

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
COMPARE_FOR: dict[str, dict[str, float]] = {
    "<": {"<=": 8, ">": 5, ">=": 3, "!=": 1, "==": 1},
    "<=": {"<": 8, ">=": 5, ">": 3, "==": 1, "!=": 1},
    ">": {">=": 8, "<": 5, "<=": 3, "!=": 1, "==": 1},
    ">=": {">": 8, "<=": 5, "<": 3, "==": 1, "!=": 1},
    "==": {"!=": 8, ">=": 2, "<=": 2, "in": 1.5, "is": 1, ">": 1, "<": 1},
    "!=": {"==": 8, "<": 2, ">": 2, "is not": 1, "not in": 1, "<=": 1, ">=": 1},
    "is": {"is not": 8, "==": 3},
    "is not": {"is": 8, "!=": 3},
    "in": {"not in": 8, "==": 2},
    "not in": {"in": 8, "!=": 1},
}
"""For each comparison operator, the operators in its place, with weights."""
ARITH: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
ARITH_FOR: dict[str, dict[str, float]] = {
    "+": {"-": 8, "*": 3, "|": 0.5, "/": 0.5, "%": 0.5},
    "-": {"+": 8, "/": 1, "*": 1, "//": 0.5, "%": 0.5},
    "*": {"/": 6, "+": 4, "//": 3, "**": 3, "-": 1, "%": 0.5},
    "/": {"*": 6, "//": 6, "%": 1, "-": 1, "+": 0.5},
    "//": {"/": 6, "%": 4, "*": 4, "-": 0.5},
    "%": {"//": 6, "/": 4, "*": 1, "+": 1, "-": 1},
    "**": {"*": 6, "//": 0.5, "+": 0.5, "/": 0.5, "^": 0.5},
    "<<": {">>": 8, "*": 1},
    ">>": {"<<": 8, "//": 1},
    "|": {"&": 8, "^": 3, "-": 1, "+": 1},
    "&": {"|": 8, "^": 3, "-": 2},
    "^": {"&": 4, "|": 4, "**": 4},
    "@": {"*": 4},
}
"""For each arithmetic or bitwise operator, the operators in its place, with weights."""


DOES_NOTHING = {ARITH[kind]: operand for kind, operand in NEUTRAL.items()}
"""For each operator, the right operand with which it has no effect."""
OPPOSITES = ("== !=", "!= ==", "is is not", "is not is", "in not in", "not in in")
EQUALITIES = ("in ==", "not in !=")
"""OPPOSITES, EQUALITIES: replacements of operators, written as the old and the new one."""


def comparisons(site: Site) -> Iterator[Edit]:
    """Replace a comparison operator by another one."""
    for node in site.exprs:
        if isinstance(node, ast.Compare):
            left: ast.expr = node.left
            parent = site.module.parents.get(node)
            denied = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)  # `not (a != b)` is unusual
            for operator, right in zip(node.ops, node.comparators, strict=True):
                old = COMPARE[type(operator)]
                # `not (a is not b)` is the bytecode of `a is b`, and `negation` proposes the latter, which is plainer.
                vain = (*(OPPOSITES if denied else ()), *_unequal(site, operator, left, right))
                for new, weight in COMPARE_FOR[old].items():
                    if f"{old} {new}" not in vain:
                        yield from emit.between(site.module, left, right, old, new, weight / (4 if denied else 1))
                left = right


def _unequal(site: Site, operator: ast.cmpop, value: ast.expr, collection: ast.expr) -> Sequence[str]:
    """Return EQUALITIES if it makes no sense to replace `in` by `==` in `value in collection`, else ().

    It makes no sense if the collection contains only constants, or if it is of another kind than `value`.
    """
    if not isinstance(operator, ast.In | ast.NotIn):
        return ()
    constants = isinstance(collection, ast.Tuple | ast.List | ast.Set) and all(
        isinstance(one, ast.Constant) for one in collection.elts
    )
    return EQUALITIES if constants or not fits(site.kinds.of(value), site.kinds.of(collection)) else ()


def arithmetic(site: Site) -> Iterator[Edit]:
    """Replace an arithmetic or bitwise operator by another one, unless the new operation has no effect (`x * 1`)."""
    for node in site.nodes:
        if isinstance(node, ast.BinOp):
            old = ARITH[type(node.op)]
            textual = "str" in (site.kinds.of(node.left), site.kinds.of(node.right))
            for new, weight in _operations(site, old, node.right):
                yield from emit.between(site.module, node.left, node.right, old, new, weight / (4 if textual else 1))
        elif isinstance(node, ast.AugAssign):
            old = ARITH[type(node.op)]
            for new, weight in _operations(site, old, node.value):
                yield from emit.between(site.module, node.target, node.value, old + "=", new + "=", weight)


def _operations(site: Site, old: str, right: ast.expr) -> Iterator[tuple[str, float]]:
    """Yield operators in place of `old`, with weights, without those that have no effect with the operand `right`."""
    text = site.code(right)
    return ((new, weight) for new, weight in ARITH_FOR[old].items() if DOES_NOTHING.get(new) != text)


def boolean(site: Site) -> Iterator[Edit]:
    """Replace `or` by `and`, or vice versa."""
    for node in site.exprs:
        if isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            pairs = list(itertools.pairwise(node.values))
            edits = [edit for one, two in pairs for edit in emit.between(site.module, one, two, old, new, 1.0)]
            yield Edit(tuple(part for edit in edits for part in edit.parts), 2.0)
            if len(pairs) > 1:
                yield from edits


def negation(site: Site) -> Iterator[Edit]:
    """Add `not` or `-`, or remove a unary operator."""
    for node in site.conditions:
        handed_on = _handed_on(node, site.module.parents.get(node))
        if not isinstance(node, ast.UnaryOp | ast.Constant) and not handed_on:
            weight = 0.3 if isinstance(node, ast.Compare) else 1.0
            inner = site.code(node) if emit.rank(node) > emit.RANKS[ast.Not] else f"({site.code(node)})"
            yield from site.swap(node, f"not {inner}", weight)
    for node in site.values:
        yield from _other_sign(site, node)


def _other_sign(site: Site, node: ast.expr) -> Iterator[Edit]:
    kind, parent = site.kinds.of(node), site.module.parents.get(node)
    named = isinstance(node, ast.Name | ast.Attribute | ast.Call)
    if isinstance(node, ast.UnaryOp):
        yield from site.swap(node, site.code(node.operand), 2.0)
        does_nothing = isinstance(node.op, ast.UAdd)  # most likely the sign is wrong
        yield from site.swap(node, f"-{site.code(node.operand)}", 3.0 * does_nothing)
    elif named and kind in ("int", "float"):
        yield from site.swap(node, f"-{site.code(node)}", 0.15)
    elif isinstance(node, ast.Subscript | ast.Call) and isinstance(parent, ast.Tuple | ast.Lambda):
        yield from site.swap(node, f"-{site.code(node)}", 0.4)  # for a sort key, this reverses the order
    elif named and kind == "bool" and node not in site.conditions and not _handed_on(node, parent):
        yield from site.swap(node, f"not {site.code(node)}", 0.5)


def _handed_on(node: ast.expr, parent: ast.AST | None) -> bool:
    """Return whether a value is passed to a keyword with the same name: `f(strict=strict)`."""
    return isinstance(parent, ast.keyword) and dotted(node).rsplit(".", 1)[-1] == parent.arg


def operand_order(site: Site) -> Iterator[Edit]:
    """Swap the operands of `in` or of an operation that is not commutative, or the two values of `… if … else …`."""
    for node in site.exprs:
        if isinstance(node, ast.BinOp):
            if isinstance(node.left, ast.BinOp):
                yield from _chain_order(site, node, node.left)
            if not _commutes(site, node):
                yield emit.exchanged(site.module, node.left, node.right, 1.0)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield emit.exchanged(site.module, node.left, node.comparators[0], 0.5)
        elif isinstance(node, ast.IfExp):
            yield emit.exchanged(site.module, node.body, node.orelse, 1.5)


QUOTIENTS = {ast.Mult, ast.Div, ast.FloorDiv, ast.Mod}
"""Operators of the same precedence, of which only multiplication is commutative."""


def _commutes(site: Site, node: ast.BinOp) -> bool:
    if isinstance(node.op, ast.Add):
        return site.kinds.of(node) in NUMBERS
    return isinstance(node.op, ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor)


def _chain_order(site: Site, node: ast.BinOp, left: ast.BinOp) -> Iterator[Edit]:
    """Yield other orders of the operands of `a - b + c` or `a * b / c` that change the place of `c`."""
    signs = {type(node.op), type(left.op)}
    sums = signs <= {ast.Add, ast.Sub} and (ast.Sub in signs or site.kinds.of(node) not in NUMBERS)
    if not sums and not (signs <= QUOTIENTS and signs != {ast.Mult}):
        return
    first, second, third = left.left, left.right, node.right
    code, text = site.module.code, site.module.text
    before = text[site.module.end(first) : site.module.start(second)]
    after = text[site.module.end(second) : site.module.start(third)]
    if any(sign in after for sign in "()"):
        return
    yield emit.exchanged(site.module, first, third, 0.5)
    yield emit.exchanged(site.module, second, third, 0.5)
    if not any(sign in before + after for sign in "()#"):
        yield from site.swap(node, code(second) + after + code(third) + before + code(first), 0.5)


def dropped_operand(site: Site) -> Iterator[Edit]:
    """Replace an operation by one of its operands."""
    for node in site.exprs:
        if isinstance(node, ast.BinOp):
            small = isinstance(node.right, ast.Constant) and isinstance(node.op, ast.Add | ast.Sub)
            yield from site.swap(node, site.code(node.left), 2.5 if small else 1.0)
            if not isinstance(node.left, ast.Constant):
                yield from site.swap(node, site.code(node.right), 0.6)
        elif isinstance(node, ast.BoolOp):
            for index in range(len(node.values)):
                if len(node.values) == 2:
                    yield from site.swap(node, site.code(node.values[1 - index]), 1.0)
                else:
                    yield _without(site, node.values, index)
        elif isinstance(node, ast.IfExp):
            yield from site.swap(node, site.code(node.body), 0.5)
            yield from site.swap(node, site.code(node.orelse), 0.5)


def _without(site: Site, values: list[ast.expr], index: int) -> Edit:
    start = site.module.start(values[index]) if index == 0 else site.module.end(values[index - 1])
    end = site.module.start(values[1]) if index == 0 else site.module.end(values[index])
    return Edit((Replacement(start, end, ""),), 1.0)


def grouping(site: Site) -> Iterator[Edit]:
    """Change the order of evaluation by adding or removing parentheses."""
    for node in site.exprs:
        if isinstance(node, ast.BinOp):
            yield from _grouped(site, node)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            yield from _grouped_bool(site, node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BoolOp):
            first = node.operand.values[0]
            start, end = site.module.start(node), site.module.end(node)
            whole = site.code(node.operand)
            yield Edit((Replacement(start, end, f"not {site.tight(first)}{whole[len(site.code(first)) :]}"),), 0.5)


def _grouped(site: Site, node: ast.BinOp) -> Iterator[Edit]:
    """Put parentheses around adjacent operands of an outermost operation, or remove the existing ones."""
    module = site.module
    if isinstance(module.parents.get(node), ast.BinOp):
        return
    leaves = _leaves(node)
    for low in range(len(leaves)):
        for high in range(low + 1, min(len(leaves), low + 5)):
            if (low, high) != (0, len(leaves) - 1):
                start, end = module.start(leaves[low]), module.end(leaves[high])
                yield Edit((Replacement(start, start, "("), Replacement(end, end, ")")), 1.0)
    operator = ARITH[type(node.op)]
    text = f"{site.code(node.left)} {operator} {site.code(node.right)}"
    yield Edit((Replacement(module.start(node), module.end(node), text),), 0.5)


def _leaves(node: ast.expr) -> list[ast.expr]:
    """Return the operands of nested operations, from left to right."""
    return [*_leaves(node.left), *_leaves(node.right)] if isinstance(node, ast.BinOp) else [node]


def _grouped_bool(site: Site, node: ast.BoolOp) -> Iterator[Edit]:
    for index, value in enumerate(node.values):
        if not (isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And)):
            continue
        if index + 1 < len(node.values):  # a and b or c -> a and (b or c)
            start, end = site.module.start(value.values[-1]), site.module.end(node.values[index + 1])
            yield Edit((Replacement(start, start, "("), Replacement(end, end, ")")), 1.0)
        if index > 0:  # a or b and c -> (a or b) and c
            start, end = site.module.start(node.values[index - 1]), site.module.end(value.values[0])
            yield Edit((Replacement(start, start, "("), Replacement(end, end, ")")), 1.0)


def by_one(site: Site) -> Iterator[Edit]:
    """Add or subtract one where an integer is an index, a bound, a count or a limit."""
    for node in site.values:
        parent = site.module.parents.get(node)
        if isinstance(node, ast.Constant | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.Lambda) or not (
            bonus := _countable(site, node, parent)
        ):
            continue
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub):
            continue
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant()):
                continue
        text = site.code(node) if emit.rank(node) >= emit.RANKS[ast.Sub] else f"({site.code(node)})"
        yield from site.swap(node, f"{text} + 1", bonus)
        yield from site.swap(node, f"{text} - 1", bonus)


def shifted(site: Site) -> Iterator[Edit]:
    """Shift all indices of one sequence by one: `row[i] + row[i + 1]` for `row[i - 1] + row[i]`."""
    by_base: dict[str, list[ast.expr]] = {}
    for node in site.exprs:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.BinOp):
            by_base.setdefault(site.code(node.value), []).append(node.slice)
    for indices in by_base.values():
        for step in (-1, 1) if len(indices) > 1 else ():
            edits = [emit.expression(site.module, index, moved_by(site, index, step)) for index in indices]
            yield Edit(tuple(part for edit in edits for part in edit.parts))


def moved_by(site: Site, index: ast.expr, step: int) -> str:
    """Return the text of an index after adding `step`: `i` for `i + 1` and -1."""
    match index:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(number))):
            total = (number if isinstance(op, ast.Add) else -number) + step
            text = site.code(left)
        case ast.Constant(value=int(number)):
            return str(number + step)
        case _:
            total, text = step, site.code(index)
    return f"{text} {'+' if total > 0 else '-'} {abs(total)}" if total else text


def _countable(site: Site, node: ast.expr, parent: ast.AST | None) -> float:
    """Return a weight for how likely the integer `node` (an index, bound, count …) is wrong by one; 0 for never."""
    kind = site.kinds.of(node)
    if kind not in ("int", ""):
        return 0.0
    sure = kind == "int"
    if isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and parent.slice is node and sure):
        return 2.0
    if isinstance(parent, ast.Call):
        return _countable_argument(node, parent, sure=sure)
    if isinstance(parent, ast.Compare):
        return 1.0 if sure else 0.0
    if isinstance(parent, ast.Return | ast.Assign | ast.Tuple | ast.AugAssign):
        return _countable_result(node, sure=sure)
    return 0.0


def _countable_argument(node: ast.expr, call: ast.Call, *, sure: bool) -> float:
    if not isinstance(call.func, ast.Name):
        return 0.8 if sure else 0.0
    if call.func.id == "range":
        return 2.0
    return 0.7 if sure and node in call.args else 0.0


def _countable_result(node: ast.expr, *, sure: bool) -> float:
    if sure:
        return 0.8
    return 0.1 if isinstance(node, ast.Name | ast.Call) else 0.0
