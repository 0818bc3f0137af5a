"""Mutants of a patch: tests that do not kill them are weak evidence for the patch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from coderefine.core import Mutation, Patch
from coderefine.judge.change import nodes, parse
from coderefine.judge.evidence import changed_lines
from coderefine.source import syntax

COMPARE: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
BINARY: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}  # fmt: skip

NEGATED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons that COMPARE replaces by their negation."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A patch with one small mistake. `files`: whole new content of the one file that is mutated.

    `constant`: whether the mistake is that a condition is always true, or always false.
    """

    mutation: Mutation
    files: Mapping[str, bytes]
    constant: bool = False


def mutants(
    patch: Patch, originals: Mapping[str, bytes | None], most: int | None = None, *, repairing: bool = False
) -> Iterator[Mutant]:
    """Yield first-order mutants of the lines that `patch` changed: operators, constants, conditions, return values.

    These are the classic operators of mutation analysis (Offutt et al. 1996: ROR, AOR, LCR, plus constants and
    returns). Statements that the patch did not touch, and files that are not UTF-8, are not mutated. `most`: maximum
    number of mutants, distributed over the patch (None: all). `repairing`: whether tests fail without the patch; then
    a mutant that is the original again is left out, because these tests kill it, whatever they check.
    """
    files = ((path, after) for path, after in sorted(patch.files.items()) if after)
    found = [(path, after, *pair) for path, after in files for pair in _pairs(path, originals.get(path), after)]
    step = max(1, -(-len(found) // most)) if most else 1
    for path, after, node, twin in found[::step]:
        original = originals.get(path) if repairing else None
        if text := _mutated(after, node, twin, original):
            mutation = Mutation(path, node.lineno, ast.unparse(node), ast.unparse(twin))
            yield Mutant(mutation, {path: text}, _is_true_or_false(twin) and not isinstance(node, ast.Constant))


def _mutated(after: bytes, node: ast.expr, twin: ast.expr, original: bytes | None) -> bytes | None:
    """Return the text `after` with `twin` in place of `node`; None if it is `original` again, or does not parse."""
    starts = [0, *accumulate(map(len, after.splitlines(keepends=True)))]
    first = starts[node.lineno - 1] + node.col_offset
    last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
    before, behind = after[:first], after[last:]
    if original and _undoes(original, before, twin, behind):
        return None
    text = before + b"(" + ast.unparse(ast.fix_missing_locations(twin)).encode() + b")" + behind
    return text if syntax(text) is not None else None  # the offsets of `node` may be wrong


def _is_true_or_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _undoes(original: bytes, before: bytes, twin: ast.expr, after: bytes) -> bool:
    """Return whether the file with the expression `twin` between `before` and `after` is the original again."""
    if not (original.startswith(before) and original.endswith(after)):
        return False
    try:
        old = ast.parse(original[len(before) : len(original) - len(after)].strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return ast.dump(old) == ast.dump(twin)


def _pairs(path: str, before: bytes | None, after: bytes) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield (expression on a changed line, its mutant) for each possible mutation."""
    tree = parse(after)
    lines = changed_lines(path, before, after)
    for node in nodes(tree) if tree else ():
        yield from (pair for pair in _wrong(node) if pair[0].lineno in lines)


def _wrong(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from ((test, twin) for twin in _conditions(test, endless=isinstance(node, ast.While)))
        case ast.Return(value=ast.Constant(value=None)):
            pass
        case ast.Return(value=ast.expr() as value):
            yield value, ast.Constant(None)
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=value):
            yield value, ast.UnaryOp(ast.USub(), value)
        case ast.expr():
            yield from ((node, twin) for twin in _twins(node))


def _conditions(test: ast.expr, *, endless: bool) -> Iterator[ast.expr]:
    """Yield the opposite of a condition, and constants. `endless`: whether it is that of a loop, which has to end."""
    match test:
        case ast.Compare(ops=[operator]) if isinstance(operator, NEGATED):
            pass  # `_twins` yields the opposite
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield inner
        case _:
            yield ast.UnaryOp(ast.Not(), test)
    if not endless and not isinstance(test, ast.Constant):
        yield from map(ast.Constant, (True, False))


def _twins(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            ops = [*node.ops[:place], COMPARE[type(operator)](), *node.ops[place + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        yield ast.BinOp(node.left, BINARY[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
