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


@dataclass(frozen=True, slots=True)
class Mutant:
    """A patch with one small mistake. `files`: whole new content of the one file that is mutated."""

    mutation: Mutation
    files: Mapping[str, bytes]


def mutants(patch: Patch, originals: Mapping[str, bytes | None], most: int | None = None) -> Iterator[Mutant]:
    """Yield first-order mutants of the lines that `patch` changed: operators, constants, conditions, return values.

    These are the classic operators of mutation analysis (Offutt et al. 1996: ROR, AOR, LCR, plus constants and
    returns). Statements that the patch did not touch, and files that are not UTF-8, are not mutated. `most`: maximum
    number of mutants, distributed over the patch (None: all).
    """
    files = ((path, after) for path, after in sorted(patch.files.items()) if after)
    found = [(path, after, *pair) for path, after in files for pair in _pairs(path, originals.get(path), after)]
    step = max(1, -(-len(found) // most)) if most else 1
    for path, after, node, twin in found[::step]:
        starts = [0, *accumulate(map(len, after.splitlines(keepends=True)))]
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = after[:first] + b"(" + ast.unparse(ast.fix_missing_locations(twin)).encode() + b")" + after[last:]
        if syntax(text) is not None:  # it does not parse if the offsets of `node` are wrong
            yield Mutant(Mutation(path, node.lineno, ast.unparse(node), ast.unparse(twin)), {path: text})


def _pairs(path: str, before: bytes | None, after: bytes) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield (expression on a changed line, its mutant) for each possible mutation."""
    tree = parse(after)
    lines = changed_lines(path, before, after)
    for node in nodes(tree) if tree else ():
        yield from (pair for pair in _wrong(node) if pair[0].lineno in lines)


def _wrong(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.Constant(value=None)):
            pass
        case ast.Return(value=ast.expr() as value):
            yield value, ast.Constant(None)
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=value):
            yield value, ast.UnaryOp(ast.USub(), value)
        case ast.expr():
            yield from ((node, twin) for twin in _twins(node))


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
