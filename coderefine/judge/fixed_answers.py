"""Find branches that return a constant for a constant input: `if`, `match`, `while`, conditional expressions, `and`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from coderefine.judge.change import positional
from coderefine.judge.constant_folding import Names
from coderefine.judge.input_checks import Inputs, all_at_once, literal, pattern_ways, ways
from coderefine.judge.test_literals import Key
from coderefine.source import Function, last_name

GIVING = ("append", "print", "write")
"""Functions whose argument may be the answer."""
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
    """Context of a statement: its function and the conditions under which it runs. `names`: expressions by name."""

    names: Names
    function: str = ""
    needs: frozenset[str] = frozenset()
    ways: tuple[Inputs, ...] = ((),)

    def within(self, name: str, needs: frozenset[str] = frozenset()) -> _Place:
        return _Place(self.names, f"{self.function}.{name}" if self.function else name, needs)

    def under(self, test: ast.expr, *, true: bool = True) -> _Place:
        return self.where(ways(test, self.names, true=true))

    def where(self, checks: tuple[Inputs, ...]) -> _Place:
        return replace(self, ways=all_at_once([self.ways, checks]))

    def branches(self, out: ast.expr | None, line: int) -> Iterator[FixedAnswer]:
        found = literal(out, self.names)
        if found:
            yield from (FixedAnswer(self.function, self.needs, inputs, found, line) for inputs in self.ways if inputs)


def branches(tree: ast.Module | None, names: Names) -> Iterator[FixedAnswer]:
    """Yield all branches of `tree` that return a constant for a constant input. `names`: expressions by name."""
    if tree is not None:
        yield from _block(tree.body, _Place(names))


def _block(body: list[ast.stmt], place: _Place) -> Iterator[FixedAnswer]:
    for node in body:
        if isinstance(node, Function):
            every = positional(node)
            required = every[: len(every) - len(node.args.defaults)]
            yield from _block(node.body, place.within(node.name, frozenset(required) - {"self", "cls"}))
        elif isinstance(node, ast.ClassDef):
            yield from _block(node.body, place.within(node.name))
        elif isinstance(node, ast.If | ast.While):
            otherwise = place.under(node.test, true=False)
            yield from _block(node.body, place.under(node.test))
            yield from _block(node.orelse, otherwise)
            if isinstance(node.body[-1], LEAVING):
                place = otherwise  # what follows runs in place of an `else`
        elif isinstance(node, ast.Match):
            yield from _match(node, place)
        else:
            yield from _simple(node, place)


def _match(node: ast.Match, place: _Place) -> Iterator[FixedAnswer]:
    for case in node.cases:
        inner = place.where(pattern_ways(node.subject, case.pattern, place.names))
        yield from _block(case.body, inner.under(case.guard) if case.guard else inner)
        if case.guard and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            place = place.under(case.guard, true=False)


def _simple(node: ast.stmt, place: _Place) -> Iterator[FixedAnswer]:
    for result in _results(node):
        yield from place.branches(result, node.lineno)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _expressions(child, place)
    for name in ("body", "orelse", "finalbody"):
        yield from _block(getattr(node, name, []), place)
    for handler in getattr(node, "handlers", []):
        yield from _block(handler.body, place)


def _results(node: ast.stmt) -> list[ast.expr | None]:
    """Return the expressions that may be the answer of the function if `node` runs."""
    match node:
        case ast.Return(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Raise(exc=value):
            return [value]
        case ast.Expr(value=ast.Call(func=function, args=args)) if last_name(function) in GIVING:
            return [*args]
    return []


def _expressions(outer: ast.expr, place: _Place) -> Iterator[FixedAnswer]:
    for node in ast.walk(outer):
        match node:
            case ast.Yield(value=value):
                yield from place.branches(value, node.lineno)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from place.under(test).branches(body, node.lineno)
                yield from place.under(test, true=False).branches(orelse, node.lineno)
            case ast.BoolOp(op=ast.And(), values=[*tests, last]):
                yield from place.under(ast.BoolOp(ast.And(), tests)).branches(last, node.lineno)
            case ast.Subscript(value=ast.Tuple(elts=[first, second]) | ast.List(elts=[first, second]), slice=test):
                yield from place.under(test, true=False).branches(first, node.lineno)
                yield from place.under(test).branches(second, node.lineno)
