"""Find branches that return a constant for a constant input: `if`, `match`, conditional expressions, `and`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, product

from coderefine.judge.constant_folding import NotLiteralError
from coderefine.judge.test_literals import Key, key
from coderefine.source import Function

Inputs = tuple[tuple[str, Key], ...]
"""A conjunction of checks: pairs (dump of an expression, literal that it must equal)."""
MOST = 64
LEAVING = ast.Return | ast.Raise | ast.Continue | ast.Break


@dataclass(frozen=True, slots=True)
class FixedAnswer:
    """A branch: `function` returns `out` if all `inputs` are true. `needs`: the function's required parameters."""

    function: str
    needs: frozenset[str]
    inputs: Inputs
    out: Key
    line: int

    @property
    def given(self) -> frozenset[Key]:
        return frozenset(literal for _, literal in self.inputs)

    @property
    def subjects(self) -> frozenset[str]:
        return frozenset(subject for subject, _ in self.inputs)

    @property
    def case(self) -> tuple[frozenset[Key], Key]:
        """Return the input and output literals."""
        return self.given, self.out

    @property
    def kinds(self) -> tuple[frozenset[str], str]:
        """Return the types of the input and output literals."""
        return frozenset(literal.partition(":")[0] for literal in self.given), self.out.partition(":")[0]


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of a statement: its function and the conditions under which it runs."""

    function: str = ""
    needs: frozenset[str] = frozenset()
    ways: tuple[Inputs, ...] = ((),)

    def within(self, name: str, needs: frozenset[str] = frozenset()) -> _Place:
        return _Place(f"{self.function}.{name}" if self.function else name, needs)

    def under(self, ways: tuple[Inputs, ...]) -> _Place:
        return replace(self, ways=_all_at_once([self.ways, ways]))

    def branches(self, out: ast.expr | None, line: int) -> Iterator[FixedAnswer]:
        literal = _literal(out)
        if literal:
            yield from (FixedAnswer(self.function, self.needs, inputs, literal, line) for inputs in self.ways if inputs)


def branches(tree: ast.Module | None) -> Iterator[FixedAnswer]:
    """Yield all branches of `tree` that return a constant for a constant input."""
    if tree is not None:
        yield from _block(tree.body, _Place())


def _block(body: list[ast.stmt], place: _Place) -> Iterator[FixedAnswer]:
    for node in body:
        if isinstance(node, Function):
            every = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
            required = every[: len(every) - len(node.args.defaults)]
            yield from _block(node.body, place.within(node.name, frozenset(required) - {"self", "cls"}))
        elif isinstance(node, ast.ClassDef):
            yield from _block(node.body, place.within(node.name))
        elif isinstance(node, ast.If):
            otherwise = place.under(_ways(_negated(node.test)))
            yield from _block(node.body, place.under(_ways(node.test)))
            yield from _block(node.orelse, otherwise)
            if isinstance(node.body[-1], LEAVING):
                place = otherwise  # what follows runs in place of an `else`
        elif isinstance(node, ast.Match):
            subject = ast.dump(node.subject)
            for case in node.cases:
                ways = tuple(((subject, literal),) for literal in _patterns(case.pattern))
                yield from _block(case.body, place.under(ways))
        else:
            yield from _simple(node, place)


def _simple(node: ast.stmt, place: _Place) -> Iterator[FixedAnswer]:
    if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign):
        yield from place.branches(node.value, node.lineno)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
        yield from place.branches(node.value.value, node.lineno)
    elif isinstance(node, ast.Raise):
        yield from place.branches(node.exc, node.lineno)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _expressions(child, place)
    for name in ("body", "orelse", "finalbody"):
        yield from _block(getattr(node, name, []), place)
    for handler in getattr(node, "handlers", []):
        yield from _block(handler.body, place)


def _expressions(outer: ast.expr, place: _Place) -> Iterator[FixedAnswer]:
    for node in ast.walk(outer):
        if isinstance(node, ast.IfExp):
            yield from place.under(_ways(node.test)).branches(node.body, node.lineno)
            yield from place.under(_ways(_negated(node.test))).branches(node.orelse, node.lineno)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            test = ast.BoolOp(ast.And(), node.values[:-1])
            yield from place.under(_ways(test)).branches(node.values[-1], node.lineno)


def _patterns(pattern: ast.pattern) -> Iterator[Key]:
    if isinstance(pattern, ast.MatchValue):
        yield from filter(None, [_literal(pattern.value)])
    elif isinstance(pattern, ast.MatchSingleton):
        yield key(ast.Constant(pattern.value))
    elif isinstance(pattern, ast.MatchOr):
        for item in pattern.patterns:
            yield from _patterns(item)
    elif isinstance(pattern, ast.MatchSequence):
        inner = [list(_patterns(item)) for item in pattern.patterns]
        if all(inner):
            yield "seq:" + ",".join(item[0] for item in inner)


def _ways(test: ast.expr) -> tuple[Inputs, ...]:
    """Return the alternatives that make `test` true, each a conjunction of checks; () if `test` checks no input."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _ways(_negated(operand))
        case ast.BoolOp(op=ast.Or(), values=parts):
            return tuple(way for part in parts for way in _ways(part))
        case ast.BoolOp(values=parts):
            return tuple(filter(None, _all_at_once(map(_ways, parts))))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return (*_equal(left, right), *_equal(right, left))
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set() as right]):
            return tuple(((ast.dump(left), literal),) for literal in filter(None, map(_literal, right.elts)))
    return ()


def _equal(subject: ast.expr, other: ast.expr) -> tuple[Inputs, ...]:
    literal = _literal(other)
    return (((ast.dump(subject), literal),),) if literal and not _literal(subject) else ()


def _all_at_once(conditions: Iterable[tuple[Inputs, ...]]) -> tuple[Inputs, ...]:
    """Return the alternatives under which all `conditions` are true: their combinations, at most MOST."""
    ways = product(*(ways or ((),) for ways in conditions))
    return tuple(tuple(chain.from_iterable(way)) for way in islice(ways, MOST))


def _negated(test: ast.expr) -> ast.expr:
    """Return the condition of the `else` branch of `test`, with True for all that checks no input."""
    match test:
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.IsNot()], comparators=comparators):
            return ast.Compare(left, [ast.Eq()], comparators)
        case ast.Compare(left=left, ops=[ast.NotIn()], comparators=comparators):
            return ast.Compare(left, [ast.In()], comparators)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.BoolOp(op=operator, values=parts):
            return ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), list(map(_negated, parts)))
    return ast.Constant(value=True)


def _literal(node: ast.expr | None) -> Key | None:
    """Return the key of a literal, or of a raised exception; None for anything else."""
    if node is None:
        return None
    try:
        return key(node)
    except NotLiteralError:
        raised = node.func if isinstance(node, ast.Call) else node
        name = raised.id if isinstance(raised, ast.Name) else ""
        return f"raise:{name}" if name.endswith(("Error", "Exception", "Exit", "Iteration")) else None
