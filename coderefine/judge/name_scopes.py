"""Scopes of a file: which module, class, function or comprehension binds the name that is used at a place."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from coderefine.judge.change import bound, nodes
from coderefine.judge.constant_folding import NAMED
from coderefine.source import Comprehension, Definition, Function, bound_names

BUILT_INS = frozenset((*dir(builtins), "exit", "quit"))
INNER = Definition | ast.Lambda | Comprehension
"""Nodes with a scope of their own."""
PLAIN = Definition | ast.Import | ast.ImportFrom | ast.Assign
"""Statements that certainly bind names when they run."""


class NameScope:
    """A scope, which knows the names that it binds.

    `bound`: these names. `outer`: the scope in which other names are looked up; never a class. `root`: the scope of the
    module. `global_`, `nonlocal_`: the names in `global` and `nonlocal` statements.
    """

    def __init__(self, node: ast.AST, outer: NameScope | None) -> None:
        self.node = node
        self.outer: NameScope | None = outer.outer if outer and isinstance(outer.node, ast.ClassDef) else outer
        self.root: NameScope = outer.root if outer else self
        self.bound: set[str] = set()
        self.global_: set[str] = set()
        self.nonlocal_: set[str] = set()

    def home(self, name: str) -> NameScope | None:
        """Return the scope that binds `name`, if the name is used in this scope; None if no scope binds it."""
        scope = self.root if name in self.global_ else self
        if name in scope.bound and name not in self.nonlocal_:
            return scope
        return scope.outer.home(name) if scope.outer else None


def name_scopes(tree: ast.Module) -> Mapping[ast.AST, NameScope]:
    """Return the scope of each node of `tree`."""
    found: dict[ast.AST, NameScope] = {tree: NameScope(tree, None)}
    for node in nodes(tree):  # parents first
        inner = scope = found[node]
        if isinstance(node, INNER):
            inner = NameScope(node, scope)
            found.update(dict.fromkeys(_outside(node), scope))
        elif isinstance(node, ast.NamedExpr):
            found[node.target] = _around_comprehensions(scope)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            (scope.global_ if isinstance(node, ast.Global) else scope.nonlocal_).update(node.names)
        for child in ast.iter_child_nodes(node):
            found.setdefault(child, inner)
    _bind(found)
    return found


def _outside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node with a scope of its own that are evaluated outside of this scope."""
    if isinstance(node, Comprehension):
        yield node.generators[0].iter
    elif isinstance(node, Definition):
        yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from (*node.bases, *node.keywords)
    elif isinstance(node, Function | ast.Lambda):
        yield from (*node.args.defaults, *filter(None, node.args.kw_defaults))
        annotated = (inner for inner in ast.walk(node.args) if isinstance(inner, ast.arg))
        yield from filter(None, (*(item.annotation for item in annotated), getattr(node, "returns", None)))


def _around_comprehensions(scope: NameScope) -> NameScope:
    while isinstance(scope.node, Comprehension) and scope.outer:
        scope = scope.outer
    return scope


def _bind(found: Mapping[ast.AST, NameScope]) -> None:
    """Store in each scope the names that it binds.

    In a module or class, the name of a built-in function means this function until the name is bound, and again after
    `del`. There, such a name counts as bound only if it cannot mean the built-in function at any place.
    """
    uses: dict[NameScope, list[ast.Name]] = {}
    for node, scope in found.items():
        for name in bound_names(node) if isinstance(node, NAMED) else ():
            (scope.root if name in scope.global_ else scope).bound.add(name)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            uses.setdefault(scope, []).append(node)
    for scope in set(found.values()):
        if isinstance(scope.node, ast.Module | ast.ClassDef):
            scope.bound -= BUILT_INS - _surely_bound(scope.node.body, uses.get(scope, []))


def _surely_bound(body: list[ast.stmt], uses: list[ast.Name]) -> set[str]:
    """Return the names that `body` certainly binds, does not delete, and does not read before.

    `uses`: the places in the scope where names are read or deleted.
    """
    ends: dict[str, tuple[int | None, ...]] = {}
    for statement in body:
        for name in bound(statement) if isinstance(statement, PLAIN) else ():
            ends.setdefault(name, (statement.end_lineno, statement.end_col_offset))
    early = (
        use.id for use in uses if isinstance(use.ctx, ast.Del) or (use.lineno, use.col_offset) < ends.get(use.id, ())
    )
    return set(ends).difference(early)
