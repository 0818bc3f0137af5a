"""Constant folding: evaluate expressions of literals without running code of the project.

Only functions and methods of built-in types are called, on small values, so that folding is fast. This detects
disguised literals such as `"021"[::-1]`, `int("120")` or `dict([(5, 120)])`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Any

from coderefine.judge.change import name_set, nodes
from coderefine.source import Function, bound_names

SMALL, LONG, HIGH, STEPS = 10**9, 400, 40, 4000
"""Maxima: absolute value of a number, items of a collection, exponent, and steps of one evaluation."""

Names = Mapping[str, ast.expr]
"""Constant expressions by name."""
NONE: Names = MappingProxyType({})
BINDERS = Function | ast.ClassDef | ast.arg | ast.ExceptHandler | ast.pattern
"""Nodes that bind names, besides assignments and imports."""
NAMED = BINDERS | ast.Name | ast.alias

OPERATORS: Mapping[type, Callable[[object, object], object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.RShift: operator.rshift,
}  # fmt: skip
UNARY: Mapping[type, Callable[[Any], object]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
FUNCTIONS: Mapping[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        *(int, float, str, bool, complex, chr, ord, len, abs, round, sum, min, max, divmod, repr, hex, bytes),
        *(dict, list, tuple, set, frozenset, sorted),
    )
}
ITERATORS: Mapping[str, Callable[..., Iterator[object]]] = {"reversed": reversed, "zip": zip, "enumerate": enumerate}
METHODS = name_set(
    "join split rsplit splitlines strip lstrip rstrip replace format lower upper title swapcase capitalize casefold "
    "partition rpartition removeprefix removesuffix encode decode get items keys values copy index find count hex "
    "fromhex __add__ __sub__ __mul__ __getitem__ __str__ __int__ __abs__ __neg__"
)
OWNERS = {"bytes": bytes, "str": str, "int": int, "float": float, "dict": dict}
WIDTH = re.compile(r"\d{3}|\*|\{[^}]*\{")
"""A width in a format string, which may create a very long text."""


class NotLiteralError(ValueError):
    """The expression is not made of literals, or its evaluation would exceed a limit or raise an exception."""


def fold(node: ast.AST, names: Names = NONE) -> object:
    """Return the value of `node`, with `names` replaced by their expressions. Raises NotLiteralError."""
    try:
        return _Folding(names).value(node)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError) as error:
        raise NotLiteralError from error


class _Folding:
    """Evaluates one expression. Every method may raise Python's errors for invalid values."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._steps = STEPS

    def value(self, node: ast.AST) -> object:
        self._steps -= 1
        if self._steps < 0:
            raise NotLiteralError
        if isinstance(node, ast.Constant) and node.value is not ...:
            return node.value
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotLiteralError
        found: object = method(node)
        return found

    def _all(self, nodes: Collection[ast.expr]) -> list[object]:
        if len(nodes) > LONG:
            raise NotLiteralError
        return [self.value(node) for node in nodes]

    def _name(self, node: ast.Name) -> object:
        if node.id not in self._names:
            raise NotLiteralError
        return self.value(self._names[node.id])

    def _tuple(self, node: ast.Tuple) -> object:
        return tuple(self._all(node.elts))

    def _list(self, node: ast.List) -> object:
        return self._all(node.elts)

    def _set(self, node: ast.Set) -> object:
        return set(self._all(node.elts))

    def _dict(self, node: ast.Dict) -> object:
        keys = [key for key in node.keys if key is not None]
        if len(keys) < len(node.keys):
            raise NotLiteralError
        return dict(zip(self._all(keys), self._all(node.values), strict=True))

    def _unaryop(self, node: ast.UnaryOp) -> object:
        return UNARY[type(node.op)](self.value(node.operand))

    def _binop(self, node: ast.BinOp) -> object:
        left, right = _small(self.value(node.left)), _small(self.value(node.right))
        if isinstance(node.op, ast.Pow | ast.LShift):
            return _power(left, right) if isinstance(node.op, ast.Pow) else _shifted(left, right)
        if isinstance(left, str | bytes) and isinstance(node.op, ast.Mod):
            _narrow(left)
        elif isinstance(node.op, ast.Mult) and not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise NotLiteralError
        return OPERATORS[type(node.op)](left, right)

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        if any(isinstance(part, ast.FormattedValue) and part.format_spec is not None for part in node.values):
            raise NotLiteralError
        return "".join(map(str, self._all(parts)))

    def _slice(self, node: ast.Slice) -> object:
        return slice(*(part and self.value(part) for part in (node.lower, node.upper, node.step)))

    def _subscript(self, node: ast.Subscript) -> object:
        found: object = operator.getitem(self.value(node.value), self.value(node.slice))  # type: ignore[call-overload]
        return found

    def _call(self, node: ast.Call) -> object:
        if any(isinstance(item, ast.Starred) for item in node.args) or any(item.arg is None for item in node.keywords):
            raise NotLiteralError
        call = self._function(node.func)
        args = [_small(item) for item in self._all(node.args)]
        named = {item.arg: _small(self.value(item.value)) for item in node.keywords if item.arg}
        found = call(*args, **named)
        return list(found) if isinstance(found, Iterator | ItemsView | KeysView | ValuesView) else found

    def _function(self, node: ast.expr) -> Callable[..., object]:
        if isinstance(node, ast.Name) and node.id not in self._names:
            return FUNCTIONS.get(node.id) or ITERATORS[node.id]
        if not isinstance(node, ast.Attribute) or node.attr not in METHODS:
            raise NotLiteralError
        owner = node.value
        known = isinstance(owner, ast.Name) and owner.id not in self._names  # a built-in type: bytes.fromhex
        found = OWNERS[owner.id] if known and isinstance(owner, ast.Name) else _small(self.value(owner))
        if node.attr == "format":
            _narrow(found)
        method: Callable[..., object] = getattr(found, node.attr)
        return method


def _small(value: object) -> object:
    """Return `value` if it is small enough for calculations. Raises NotLiteralError."""
    large = isinstance(value, int | float) and abs(value) > SMALL
    if large or (isinstance(value, Collection) and len(value) > LONG):
        raise NotLiteralError
    return value


def _power(base: object, exponent: object) -> object:
    if isinstance(base, int | float) and isinstance(exponent, int) and abs(base) <= LONG and abs(exponent) <= HIGH:
        found: object = base**exponent
        return found
    raise NotLiteralError


def _shifted(number: object, places: object) -> object:
    if isinstance(number, int) and isinstance(places, int) and 0 <= places <= HIGH:
        return number << places
    raise NotLiteralError


def _narrow(form: object) -> None:
    """Raise NotLiteralError for a format string that may create a very long text."""
    if WIDTH.search(form.decode("latin-1") if isinstance(form, bytes) else str(form)):
        raise NotLiteralError


def constants(tree: ast.Module) -> Names:
    """Return the expressions of names that are bound exactly once in `tree`, by an assignment to one name."""
    values: dict[str, ast.expr | None] = {}
    assigned: dict[int, ast.expr] = {}
    for node in nodes(tree):  # an assignment comes before its target
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            assigned[id(node.targets[0])] = node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            assigned[id(node.target)] = node.value
        elif name := _binds(node):
            values[name] = None if name in values else assigned.get(id(node))
    return {name: value for name, value in values.items() if value is not None}


def _binds(node: ast.AST) -> str:
    """Return the name that `node` binds or deletes; "" for none."""
    return next(iter(bound_names(node)), "") if isinstance(node, NAMED) else ""
