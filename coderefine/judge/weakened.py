"""Changes of functions that assert on behalf of the tests, and of what those functions read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from coderefine.judge.change import Change
from coderefine.judge.normal import Function

Helpers = Callable[[str, "bytes | None"], frozenset[str]]
"""Qualified names of the assertion helpers of the file at a path that holds these bytes (Protection.helpers)."""
Binding = tuple[str, str]
"""A name and what it is bound to: the whole statement for values and imports, only the kind for functions."""
BLOCKS = ("body", "orelse", "finalbody", "handlers")


def no_helpers(_path: str, _data: bytes | None) -> frozenset[str]:
    """For trees without tests."""
    return frozenset()


def weakened(change: Change, helpers: frozenset[str]) -> Iterator[str]:
    """One reason per helper that is not what it was, or that reads a name that is bound otherwise by now."""
    for name in sorted(helpers):
        was, now = list(_bodies(change.old, name)), list(_bodies(change.new, name))
        if was != now or _surroundings(change.old, name) != _surroundings(change.new, name):
            yield f"changes {name} in {change.path}, which asserts on behalf of the tests"


def _bodies(tree: ast.Module | None, name: str) -> Iterator[str]:
    """Everything that is bound to the qualified name `name`."""
    owner, _, plain = name.rpartition(".")
    for prefix, statement in _statements(tree.body if tree else [], ""):
        if prefix == owner:
            if isinstance(statement, Function) and statement.name == plain:
                yield ast.dump(statement)
            else:
                yield from (what for bound, what in _bindings(statement) if bound == plain)


def _surroundings(tree: ast.Module | None, name: str) -> tuple[Binding, ...]:
    """What the names that the helper `name` reads are bound to in its module."""
    every = list(_statements(tree.body if tree else [], ""))
    read = {node.id for prefix, one in every for node in _inside(one, prefix, name) if isinstance(node, ast.Name)}
    outer = [binding for prefix, statement in every if not prefix for binding in _bindings(statement)]
    return tuple(binding for binding in outer if binding[0] in read)


def _inside(statement: ast.stmt, prefix: str, name: str) -> Iterator[ast.AST]:
    """The nodes of `statement`, if it defines the function with the qualified name `name`."""
    if isinstance(statement, Function) and f"{prefix}.{statement.name}".strip(".") == name:
        yield from ast.walk(statement)


def _statements(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Statements with the qualified name of the class they are in; those of functions are left out."""
    for statement in body:
        yield prefix, statement
        if isinstance(statement, ast.ClassDef):
            yield from _statements(statement.body, f"{prefix}.{statement.name}".strip("."))
        elif not isinstance(statement, Function):
            for item in (item for block in BLOCKS for item in getattr(statement, block, [])):
                yield from _statements(item.body if isinstance(item, ast.ExceptHandler) else [item], prefix)


def _bindings(statement: ast.stmt) -> Iterator[Binding]:
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name, "defined"
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        module = getattr(statement, "module", "")
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], f"{module} {alias.name}"
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete | ast.For | ast.Expr):
        names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        yield from ((node.id, ast.dump(statement)) for node in names if not isinstance(node.ctx, ast.Load))
