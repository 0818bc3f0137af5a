"""The value of an expression that is made of literals, worked out without running anything of the project.

Only functions and methods of plain values are called, on small values: what a disguise is made of ("120"[::-1], an
int of a string, a dict of pairs), and nothing that takes time.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Any

SMALL, LONG, HIGH, STEPS = 10**9, 400, 40, 4000
"""The largest number to calculate with, the most items of a value, the highest power, and all steps of one value."""

Names = Mapping[str, ast.expr]
"""Expressions that names stand for."""
NONE: Names = MappingProxyType({})

OPERATORS: Mapping[type, Callable[[object, object], object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
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
METHODS = frozenset(
    (
        *("join", "split", "rsplit", "splitlines", "strip", "lstrip", "rstrip", "replace", "format", "lower", "upper"),
        *("title", "swapcase", "capitalize", "casefold", "partition", "rpartition", "removeprefix", "removesuffix"),
        *("encode", "decode", "get", "items", "keys", "values", "copy", "index", "find", "count", "hex", "fromhex"),
        *("__add__", "__sub__", "__mul__", "__getitem__", "__str__", "__int__", "__abs__", "__neg__"),
    )
)
OWNERS = {"bytes": bytes, "str": str, "int": int, "float": float, "dict": dict}
WIDTH = re.compile(r"\d{3}|\*|\{[^}]*\{")
"""In a format: how a short text becomes a long one."""


class NotLiteralError(ValueError):
    """The expression is not made of literals."""


def fold(node: ast.AST, names: Names = NONE) -> object:
    """The value of `node`, in which `names` stand for expressions. Raises NotLiteralError."""
    try:
        return _Folding(names).value(node)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError) as error:
        raise NotLiteralError from error


class _Folding:
    """One expression. Every method may raise what Python raises for a wrong value."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._steps = STEPS

    def value(self, node: ast.AST) -> object:
        self._steps -= 1
        if self._steps < 0:
            raise NotLiteralError
        if isinstance(node, ast.Constant):
            if node.value is ...:
                raise NotLiteralError
            return node.value
        make = getattr(self, f"_{type(node).__name__.lower()}", None)
        if make is None:
            raise NotLiteralError
        found: object = make(node)
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
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        if isinstance(left, str | bytes) and isinstance(node.op, ast.Mod):
            _narrow(left)
        elif isinstance(node.op, ast.Mult) and not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise NotLiteralError
        return OPERATORS[type(node.op)](left, right)

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        plain = all(not isinstance(part, ast.FormattedValue) or part.format_spec is None for part in node.values)
        if not plain:
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
        found = self._owner(node.value)
        if node.attr == "format":
            _narrow(found)
        method: Callable[..., object] = getattr(found, node.attr)
        return method

    def _owner(self, node: ast.expr) -> object:
        """A built-in type, or a value."""
        known = isinstance(node, ast.Name) and node.id not in self._names
        return OWNERS[node.id] if known and isinstance(node, ast.Name) else _small(self.value(node))


def _small(value: object) -> object:
    """`value`, if work on it is soon done. Raises NotLiteralError."""
    if isinstance(value, int | float) and abs(value) > SMALL:
        raise NotLiteralError
    if isinstance(value, Collection) and len(value) > LONG:
        raise NotLiteralError
    return value


def _power(base: object, exponent: object) -> object:
    if isinstance(base, int | float) and isinstance(exponent, int) and abs(base) <= LONG and abs(exponent) <= HIGH:
        found: object = base**exponent
        return found
    raise NotLiteralError


def _narrow(form: object) -> None:
    """Raise NotLiteralError for a format that may make a long text of a short one."""
    if WIDTH.search(form.decode("latin-1") if isinstance(form, bytes) else str(form)):
        raise NotLiteralError


def constants(tree: ast.Module) -> Names:
    """Expressions of names that are given a value once in all of `tree`, and are nothing else besides."""
    values: dict[str, ast.expr | None] = {}
    single: dict[int, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            single[id(node.targets[0])] = node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            single[id(node.target)] = node.value
        for name, value in _bound(node, single):
            values[name] = None if name in values else value
    return {name: value for name, value in values.items() if value is not None}


def _bound(node: ast.AST, single: Mapping[int, ast.expr]) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, single.get(id(node))
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, None
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0], None
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, None
