"""Suspicion of code that runs when its module is imported: no test executes it, but suspects read what it made."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from coderefine.proposers.search.syntax import Function, Module, has_docstring, own_nodes

AT_IMPORT = 0.6
"""Share of the most suspicious reader that what binds or fills a name at import gets."""
FOR_THIS = 1.0
"""Share where it was bound or filled for the very input of a failing test: a text of it stands in the failure."""
CALLED = 0.4
"""Share for the other statements of a function that the module itself calls when it is imported."""


QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


def add_imported(weights: dict[ast.stmt, float], modules: Mapping[str, Module], said: Sequence[str]) -> None:
    """Statements at import that bind or change a name (or attribute) that a suspect reads: a share of its weight."""
    readers = _readers(weights, modules)
    words = frozenset(word for text in said for pair in QUOTED.findall(text) for word in pair if len(word) > 1)
    for module in modules.values():
        called = _called(module, words)
        for stmt in module.statements:
            function = module.function(stmt)
            share = AT_IMPORT if function is None else called.get(function, 0.0)
            _raise_to(weights, stmt, share * _read_most(readers, stmt, inside=function is not None))
        for function in called:
            _lift(weights, function)


def _read_most(readers: Mapping[str, float], stmt: ast.stmt, *, inside: bool) -> float:
    """The suspicion of the worst reader of what a statement makes."""
    return max((readers.get(name, 0.0) for name in _made(stmt, inside=inside)), default=0.0)


def _raise_to(weights: dict[ast.stmt, float], stmt: ast.stmt, weight: float) -> None:
    if weight > weights.get(stmt, 0.0):
        weights[stmt] = weight


def _lift(weights: dict[ast.stmt, float], function: Function) -> None:
    """What surrounds a suspicious statement of a function that ran at import."""
    inside = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    best = max((weights.get(stmt, 0.0) for stmt in inside), default=0.0)
    for stmt in inside:
        documents = stmt is function.body[0] and has_docstring(function)
        if not documents:
            _raise_to(weights, stmt, CALLED / AT_IMPORT * best)


def _called(module: Module, words: frozenset[str]) -> dict[Function, float]:
    """Functions that the module's own top-level code calls by their names, and the share of what they fill."""
    names: dict[str, float] = {}
    for node in _at_top(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            share = FOR_THIS if _texts(node) & words else AT_IMPORT
            names[node.func.id] = max(names.get(node.func.id, 0.0), share)
    return {stmt: names[stmt.name] for stmt in module.tree.body if isinstance(stmt, Function) and stmt.name in names}


def _at_top(module: Module) -> Iterator[ast.AST]:
    """Nodes of the statements that run at import, definitions left out."""
    for stmt in module.statements:
        if module.function(stmt) is None and not isinstance(stmt, Function | ast.ClassDef):
            yield from own_nodes(stmt)


def _texts(node: ast.Call) -> set[str]:
    return {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}


def _made(stmt: ast.stmt, *, inside: bool) -> Iterator[str]:
    """Names that a statement binds at import, and names whose value it changes; `inside` a function only these."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
    for target in targets if isinstance(stmt, ast.Assign | ast.AnnAssign | ast.AugAssign) else ():
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and (not inside or isinstance(target, ast.Subscript | ast.Attribute)):
                yield node.id
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name


def _readers(weights: Mapping[ast.stmt, float], modules: Mapping[str, Module]) -> dict[str, float]:
    """Each name and attribute that the suspects read, with the suspicion of the worst of them."""
    readers: dict[str, float] = defaultdict(float)
    for module in modules.values():
        for stmt in module.statements:
            if stmt in weights:
                for name in _read(stmt):
                    readers[name] = max(readers[name], weights[stmt])
    return readers


def _read(stmt: ast.stmt) -> Iterator[str]:
    for node in own_nodes(stmt):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
