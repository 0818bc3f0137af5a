"""Normalise code, so that repairs which mean the same by the rules of the language have the same text.

Compared calls cannot show that two repairs behave alike if their results are random, or if no call reaches the edit.
"""

from __future__ import annotations

import ast

from coderefine.source import last_name

INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE}
COUNTS = ("len", "count", "index", "find", "ord")
"""Functions and methods that return integers."""
STRIPS = ("strip", "lstrip", "rstrip")
IDEMPOTENT = frozenset(("lower", "upper", "casefold", "abs", "list", "tuple", "set", "str", "int", "float", "bool"))
"""Functions and methods that, applied twice, have the same result as applied once."""


def normalised(tree: ast.AST) -> str:
    """Normalise `tree` in place, and return its dump.

    `not` is moved inwards, and inverts comparisons. `a < b` becomes `b > a`. `len(x) >= 1` becomes `len(x) > 0`, also
    with other functions in COUNTS and other integers. `a - -b` becomes `a + b`, `a + -b` becomes `a - b`, `1 + a`
    becomes `a + 1`, and `2 * a` becomes `a * 2`. `a.strip().rstrip()` becomes `a.strip()`, and `a.lower().lower()`
    becomes `a.lower()`. It is assumed that `not a < b` means `a >= b`, which is wrong for NaN.
    """
    return ast.dump(_Normaliser().visit(tree))


class _Normaliser(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(op=operator, values=values)):
                inverted = ast.Or() if isinstance(operator, ast.And) else ast.And()
                negated: list[ast.expr] = [ast.UnaryOp(ast.Not(), value) for value in values]
                return self._visited(ast.BoolOp(inverted, negated))
            case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(left=left, ops=[operator], comparators=values)):
                return self._visited(ast.Compare(left, [INVERSE[type(operator)]()], values))
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if type(operator) in MIRRORED:
            left, operator, right = right, MIRRORED[type(operator)](), left
        if isinstance(operator, ast.GtE):
            if _counts(left) and (least := _whole(right)) is not None:
                operator, right = ast.Gt(), ast.Constant(least - 1)
            elif _counts(right) and (most := _whole(left)) is not None:
                operator, left = ast.Gt(), ast.Constant(most + 1)
        return ast.Compare(left, [operator], [right])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.UnaryOp(op=ast.USub(), operand=right)):
                return ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), right)
            case ast.BinOp(op=ast.Add() | ast.Mult()) if _whole(node.left) is not None and _whole(node.right) is None:
                return ast.BinOp(node.right, node.op, node.left)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=value, attr=first)) as inner, attr=second)
            ) if _arguments(inner) == _arguments(node):
                if first in STRIPS and second in STRIPS:
                    name = first if first == second else "strip"
                    return ast.Call(ast.Attribute(value, name, ast.Load()), node.args, node.keywords)
                return inner if first == second and first in IDEMPOTENT else node
            case ast.Call(func=ast.Name(id=second), args=[ast.Call(func=ast.Name(id=first)) as inner], keywords=[]):
                return inner if first == second and first in IDEMPOTENT else node
        return node

    def _visited(self, node: ast.expr) -> ast.expr:
        found: ast.expr = self.visit(node)
        return found


def _arguments(call: ast.Call) -> list[str]:
    return [ast.dump(argument) for argument in (*call.args, *call.keywords)]


def _counts(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in COUNTS


def _whole(node: ast.expr) -> int | None:
    """Return the value of an integer constant; None for other nodes."""
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
