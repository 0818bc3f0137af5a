"""Measure what rules limit in a function: radon's complexity, and what ruff counts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import UnionType

from coderefine.source import Function

COMPLEXITY, STATEMENTS = "CC", "PLR0915"
COUNTED = {
    "C901": ("If", "For", "While", "ExceptHandler", "Try else", "match_case", "FunctionDef"),
    "PLR0911": ("Return",),
    "PLR0912": (
        *("If", "If else", "For", "For else", "While", "While else"),
        *("ExceptHandler", "Try else", "finally", "match_case", "match_default"),
    ),
    STATEMENTS: (
        *("If", "If else", "While", "With", "Try", "ExceptHandler", "handlers", "Try else", "finally", "finally"),
        *("Match", "match_case", "match_default", "FunctionDef", "ClassDef", "simple"),
    ),
}
"""For each rule of ruff, the parts (see `_parts`) that it counts; a part that is named twice counts twice."""
INNER: Mapping[str, UnionType] = {"C901": Function | ast.ClassDef, STATEMENTS: Function}
"""For each rule, the definitions inside a function whose bodies count, too."""
LEAST = {COMPLEXITY: 1, "C901": 1}
"""The value of a function without any statement that counts; 0 for other rules."""
WEIGHTS = {STATEMENTS: 0.2}
"""What one more is worth beside one more decision, because the usual limits differ; 1 for other rules."""
Inner = type[ast.AST] | UnionType | tuple[()]
Limits = Mapping[str, float]
"""The maximum for each rule that limits a function."""


def size(body: Iterable[ast.stmt], rule: str) -> int:
    """Return by how much `body` increases what `rule` counts in a function."""
    return sum(_counted(statement, rule) for statement in body)


def excess(sizes: Mapping[str, float], limits: Limits) -> float:
    """Return by how much a function exceeds its limits: the weighted sum for all rules; 0 if it is within all."""
    return sum(WEIGHTS.get(rule, 1) * max(0, sizes[rule] - limit) for rule, limit in limits.items())


@lru_cache(maxsize=20_000)
def decisions(statement: ast.stmt) -> int:
    """Return how much radon's complexity of a function increases by `statement`."""
    from radon.visitors import ComplexityVisitor

    visitor = ComplexityVisitor(off=False)
    visitor.visit(statement)
    return int(visitor.complexity)


@lru_cache(maxsize=20_000)
def _counted(statement: ast.stmt, rule: str) -> int:
    if rule == COMPLEXITY:
        return decisions(statement)
    return sum(map(COUNTED[rule].count, _parts(statement, INNER.get(rule, ()))))


def _parts(node: ast.AST, inner: Inner) -> Iterator[str]:
    """Yield a word for each part of a statement that rules may count, also for those of the statements inside.

    `inner`: the definitions into which to look.
    """
    kind = type(node).__name__.removeprefix("Async")
    yield _word(node, kind)
    if _otherwise(node):
        yield f"{kind} else"
    if getattr(node, "finalbody", ()):
        yield "finally"
    if len(getattr(node, "handlers", ())) > 1:
        yield "handlers"
    if not isinstance(node, Function | ast.ClassDef) or isinstance(node, inner):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield from _parts(child, inner)


def _word(node: ast.AST, kind: str) -> str:
    match node:
        case ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None):
            return "match_default"
        case ast.Match() | ast.Return():
            return kind
    return kind if hasattr(node, "body") else "simple"


def _otherwise(node: ast.AST) -> bool:
    """Return whether a statement has an `else`, which is no `elif`."""
    match node:
        case ast.If(orelse=[ast.If() as inner]):
            return inner.col_offset > node.col_offset
    return bool(getattr(node, "orelse", ()))
