"""Where code answers a fixed input with a fixed output: branches, ternaries, match cases, tables."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, product

from coderefine.judge.folding import NotLiteralError
from coderefine.judge.normal import Function
from coderefine.judge.specimens import Key, key

Pins = tuple[tuple[str, Key], ...]
"""What a condition fixes: (dump of the expression, literal it must equal), all of them at once."""
MOST = 64


@dataclass(frozen=True, slots=True)
class Branch:
    """`function` answers `out` when all `pins` hold. `needs`: dumps of the parameters without default."""

    function: str
    needs: frozenset[str]
    pins: Pins
    out: Key
    line: int

    @property
    def given(self) -> frozenset[Key]:
        return frozenset(literal for _, literal in self.pins)

    @property
    def subjects(self) -> frozenset[str]:
        return frozenset(subject for subject, _ in self.pins)

    @property
    def case(self) -> tuple[frozenset[Key], Key]:
        """Question and answer."""
        return self.given, self.out


@dataclass(frozen=True, slots=True)
class _Spot:
    function: str = ""
    needs: frozenset[str] = frozenset()
    pins: tuple[Pins, ...] = ((),)

    def under(self, more: tuple[Pins, ...]) -> _Spot:
        return replace(self, pins=_all_at_once([self.pins, more]))

    def branches(self, out: ast.expr | None, line: int) -> Iterator[Branch]:
        literal = _literal(out)
        for pins in self.pins if literal else ():
            if pins and literal:
                yield Branch(self.function, self.needs, pins, literal, line)


def branches(tree: ast.Module | None) -> Iterator[Branch]:
    """All literal answers to literal questions in `tree`."""
    if tree is not None:
        yield from _block(tree.body, _Spot())


def _block(body: list[ast.stmt], spot: _Spot) -> Iterator[Branch]:
    for node in body:
        if isinstance(node, Function):
            yield from _block(node.body, _Spot(_qualified(spot, node.name), _needs(node)))
        elif isinstance(node, ast.ClassDef):
            yield from _block(node.body, _Spot(_qualified(spot, node.name)))
        elif isinstance(node, ast.If):
            yield from _block(node.body, spot.under(pins(node.test)))
            yield from _block(node.orelse, spot.under(pins(_negated(node.test))))
        elif isinstance(node, ast.Match):
            yield from _match(node, spot)
        else:
            yield from _simple(node, spot)


def _qualified(spot: _Spot, name: str) -> str:
    return f"{spot.function}.{name}" if spot.function else name


def _needs(node: Function) -> frozenset[str]:
    every = [*node.args.posonlyargs, *node.args.args]
    plain = every[: len(every) - len(node.args.defaults)]
    return frozenset(ast.dump(ast.Name(item.arg, ast.Load())) for item in plain if item.arg not in ("self", "cls"))


def _simple(node: ast.stmt, spot: _Spot) -> Iterator[Branch]:
    if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign):
        yield from spot.branches(node.value, node.lineno)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
        yield from spot.branches(node.value.value, node.lineno)
    elif isinstance(node, ast.Raise):
        yield from spot.branches(node.exc, node.lineno)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _expressions(child, spot)
    for name in ("body", "orelse", "finalbody"):
        yield from _block(getattr(node, name, []), spot)
    for handler in getattr(node, "handlers", []):
        yield from _block(handler.body, spot)


def _match(node: ast.Match, spot: _Spot) -> Iterator[Branch]:
    subject = ast.dump(node.subject)
    for case in node.cases:
        fixed = tuple(((subject, literal),) for literal in _patterns(case.pattern))
        yield from _block(case.body, spot.under(fixed))


def _patterns(pattern: ast.pattern) -> Iterator[Key]:
    if isinstance(pattern, ast.MatchValue):
        literal = _literal(pattern.value)
        if literal:
            yield literal
    elif isinstance(pattern, ast.MatchSingleton):
        yield key(ast.Constant(pattern.value))
    elif isinstance(pattern, ast.MatchOr):
        for item in pattern.patterns:
            yield from _patterns(item)
    elif isinstance(pattern, ast.MatchSequence):
        inner = [list(_patterns(item)) for item in pattern.patterns]
        if all(inner):
            yield "seq:" + ",".join(item[0] for item in inner)


def _expressions(outer: ast.expr, spot: _Spot) -> Iterator[Branch]:
    for node in ast.walk(outer):
        if isinstance(node, ast.IfExp):
            yield from spot.under(pins(node.test)).branches(node.body, node.lineno)
            yield from spot.under(pins(_negated(node.test))).branches(node.orelse, node.lineno)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            test = ast.BoolOp(ast.And(), node.values[:-1])
            yield from spot.under(pins(test)).branches(node.values[-1], node.lineno)


def pins(test: ast.expr) -> tuple[Pins, ...]:
    """The ways in which `test` holds, each as what it fixes; () when it fixes nothing."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=parts):
            return tuple(way for part in parts for way in pins(part))
        case ast.BoolOp(values=parts):
            return tuple(filter(None, _all_at_once(map(pins, parts))))
        case ast.Compare(ops=[_]):
            return tuple((pin,) for pin in _compared(test))
    return ()


def _all_at_once(conditions: Iterable[tuple[Pins, ...]]) -> tuple[Pins, ...]:
    """The ways in which all `conditions` hold, MOST at most: their number is a product."""
    ways = product(*(ways or ((),) for ways in conditions))
    return tuple(tuple(chain.from_iterable(way)) for way in islice(ways, MOST))


def _compared(test: ast.Compare) -> Iterator[tuple[str, Key]]:
    left, op, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(op, ast.Eq | ast.Is):
        for subject, other in ((left, right), (right, left)):
            literal = _literal(other)
            if literal and not _literal(subject):
                yield ast.dump(subject), literal
    elif isinstance(op, ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set):
        for item in right.elts:
            literal = _literal(item)
            if literal:
                yield ast.dump(left), literal


def _negated(test: ast.expr) -> ast.expr:
    """The condition of the `else` branch, as far as it can fix anything."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotEq | ast.IsNot):
        return ast.Compare(test.left, [ast.Eq()], test.comparators)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.Constant(value=True)


def _literal(node: ast.expr | None) -> Key | None:
    """The key of a literal, or of an exception that is raised; None for anything else."""
    if node is None:
        return None
    try:
        return key(node)
    except NotLiteralError:
        name = node.func if isinstance(node, ast.Call) else node
        known = isinstance(name, ast.Name) and name.id.endswith(("Error", "Exception", "Exit", "Iteration"))
        return f"raise:{name.id}" if known and isinstance(name, ast.Name) else None
