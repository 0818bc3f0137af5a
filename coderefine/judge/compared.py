"""Find what a comparison method compares completely: `a` in `self.a == other.a`, but not in `bool(self.a)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coderefine.judge.change import name_set, positional
from coderefine.judge.constant_folding import Names, NotLiteralError, constants, fold
from coderefine.source import Function, last_name

EQUAL, ORDERED = (ast.Eq, ast.NotEq), (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
REVERSIBLE = ast.Add | ast.Sub | ast.Mult | ast.Div
"""Operators that keep different values different, if the other operand is constant and not 0."""
PARTIAL = name_set("abs all any bool callable hasattr hash id isinstance issubclass len max min print round sum type")
"""Functions whose result is the same for many different arguments."""
TOLERANCE = 0.005
"""Maximum difference of numbers that still count as equal: rounding errors are smaller, wrong results larger."""
TOLERANCES = re.compile(r"tol|eps|delta|precision", re.IGNORECASE)
"""Names of tolerances."""


def compared(function: Function, names: Names, blind: Mapping[str, bool]) -> frozenset[str]:
    """Return the attributes that `function` compares completely, and the names of objects that it compares as a whole.

    `names`: expressions by name. `blind`: for each function of the module, by name, whether it ignores its arguments.
    """
    names = {**names, **constants(ast.Module(function.body, []))}
    return _Comparison(positional(function)[:2], names, blind, frozenset(_keys(function))).of(function)


def _keys(function: Function) -> Iterator[str]:
    """Yield the subscripts that read a whole object: `:`, and variables of loops, but not of `for k in [0]`."""
    yield ":"
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.comprehension) and {*map(last_name, ast.walk(node.iter))} - {"", "range"}:
            yield last_name(node.target)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A comparison method. `objects`: the names of the two objects. `keys`: see `_keys`. For others see `compared`."""

    objects: Sequence[str]
    names: Names
    blind: Mapping[str, bool]
    keys: frozenset[str]

    def of(self, function: Function) -> frozenset[str]:
        operators = EQUAL if function.name in ("__eq__", "__ne__") else ORDERED
        sides = (side for node in ast.walk(function) for side in self._sides(node, operators))
        return frozenset(name for side in sides for name in self._whole(side, self.names))

    def _sides(self, node: ast.AST, operators: tuple[type[ast.cmpop], ...]) -> Sequence[ast.expr]:
        """Return the expressions that `node` compares, or passes to a function that may compare them."""
        match node:
            case ast.Compare(
                left=ast.Attribute(attr=name) as left, ops=[ast.Is()], comparators=[ast.Attribute() as right]
            ):
                return [left, right] if operators is EQUAL and not name.startswith("__") else []
            case ast.Compare(left=left, ops=ops, comparators=others) if all(isinstance(op, operators) for op in ops):
                constant = any(isinstance(side, ast.Constant) for side in (left, *others))
                return self._difference(node, operators) if constant else [left, *others]
            case ast.Compare():
                return self._difference(node, operators)
            case ast.Call():
                return self._given(node)
        return []

    def _difference(self, node: ast.Compare, operators: tuple[type[ast.cmpop], ...]) -> Sequence[ast.expr]:
        """Return the difference `a - b` that `node` compares with 0, or with a tolerance, in a list; [] for none."""
        limits: list[ast.expr] = []
        match node:
            case ast.Compare(
                left=ast.Call(func=called, args=[difference]), ops=[ast.Lt() | ast.LtE()], comparators=[high]
            ) if last_name(called) in ("abs", "fabs"):
                limits = [high]
            case ast.Compare(
                left=low, ops=[ast.Lt() | ast.LtE(), ast.Lt() | ast.LtE()], comparators=[difference, high]
            ):
                limits = [low, high]
            case ast.Compare(left=difference, ops=[op], comparators=[ast.Constant(value=0)]) if isinstance(
                op, operators
            ):
                pass
            case _:
                return []
        match difference:
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if ast.dump(left) != ast.dump(right):
                return [difference] if all(map(self._is_tolerance, limits)) else []
        return []

    def _given(self, node: ast.Call) -> Sequence[ast.expr]:
        """Return the arguments of a call that may compare the two objects, with the object of a method."""
        given = [node.func.value, *node.args] if isinstance(node.func, ast.Attribute) else node.args
        used = {last_name(inner) for item in given for inner in ast.walk(item)}
        name = last_name(node.func)
        compares = used.issuperset(self.objects) or "super" in used
        return given if compares and not self.blind.get(name, name in PARTIAL) else []

    def _is_tolerance(self, limit: ast.expr) -> bool:
        """Return whether `limit` is a small number, an unknown value with the name of a tolerance, or a multiple."""
        known = ast.Name(limit.attr) if isinstance(limit, ast.Attribute) else limit
        try:
            value = fold(known, self.names)
        except NotLiteralError:
            pass
        else:
            return isinstance(value, int | float) and abs(value) <= TOLERANCE
        match limit:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._is_tolerance(operand)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._is_tolerance(left) or self._is_tolerance(right)
        return bool(TOLERANCES.search(last_name(limit)))

    def _whole(self, node: ast.AST, names: Names) -> Iterator[str]:
        """Yield the attributes and objects on whose complete value the value of `node` depends."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in self.objects:
                yield attribute
            case ast.Name(id=name) if name in self.objects:
                yield name
            case ast.Name(id=name) if name in names:
                yield from self._whole(names[name], {one: names[one] for one in names if one != name})
            case ast.Call(func=ast.Name(id="super")):
                yield from self.objects
            case ast.Subscript(value=value, slice=key) if ast.unparse(key) in self.keys:
                yield from self._whole(value, names)
            case _:
                yield from (found for part in _parts(node) for found in self._whole(part, names))


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of `node` on whose complete value its value depends."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return []
        case ast.Call(func=ast.Name(id="round"), args=[value, ast.Constant(value=int(places))]) if places >= 3:
            return [value]
        case ast.Call(func=called) if last_name(called) in PARTIAL:
            return []
        case ast.Call(func=ast.Attribute(value=owner), args=args):
            return [owner, *args]
        case ast.Subscript(slice=key):
            return [key]
        case ast.BinOp(left=left, op=operator, right=right):
            zero = any(map(_is_zero, (left, right)))
            return [left, right] if isinstance(operator, REVERSIBLE) and not zero else []
    return ast.iter_child_nodes(node)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
