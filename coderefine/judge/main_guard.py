"""The lines of a file under its main guard, which do not run at import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache

from coderefine.judge.change import TREES, name_set, nodes
from coderefine.judge.name_resolution import Bindings, bindings, dotted, text
from coderefine.source import Function, bound_names, last_name

NAME = "__name__"
NAMESPACES = name_set("globals builtins.globals sys.modules")
"""Values through which a module's variables can be set without their names being written."""
READERS = name_set("getattr hasattr attrgetter get startswith endswith append")


@lru_cache(maxsize=TREES)
def main_guard(tree: ast.Module | None) -> frozenset[int]:
    """Return the lines under `if __name__ == "__main__":`, without those of functions that are defined there.

    Return an empty set if the file may set `__name__` itself, because the guard may then be true at import.
    """
    guards = [node for node in tree.body if _is_guard(node)] if tree else []
    if not tree or not guards or _may_set_name(tree):
        return frozenset()
    inner = {node for guard in guards for node in ast.walk(guard) if isinstance(node, Function)}
    return frozenset(_lines(guards)).difference(_lines(inner))


def _is_guard(node: ast.stmt) -> bool:
    match node:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), orelse=[]):
            names = {side.id for side in (left, right) if isinstance(side, ast.Name)}
            return names == {NAME} and "__main__" in map(text, (left, right))
    return False


def _lines(found: Iterable[ast.stmt]) -> set[int]:
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _may_set_name(tree: ast.Module) -> bool:
    names = bindings(tree)
    return any(NAME in bound_names(node) or _takes_namespace(node, names) or _spells_name(node) for node in nodes(tree))


def _takes_namespace(node: ast.AST, names: Bindings) -> bool:
    """Return whether `node` may give access to all variables of the module, or may set `__name__` in another way.

    It may be a name such as `globals`, the target `….__name__`, or `import *` from a module outside the standard
    library.
    """
    match node:
        case ast.Name() | ast.Attribute():
            written = isinstance(node, ast.Attribute) and node.attr == NAME and not isinstance(node.ctx, ast.Load)
            return written or dotted(node, names) in NAMESPACES
        case ast.Call(func=ast.Name(id="vars" | "locals"), args=[]):
            return True
        case ast.ImportFrom(module=module, names=[ast.alias(name="*")]):
            return (module or "").partition(".")[0] not in sys.stdlib_module_names
    return False


def _spells_name(node: ast.AST) -> bool:
    """Return whether `node` contains the string "__name__" where it may serve to set this variable."""
    places: Sequence[ast.expr | None] = ()
    match node:
        case ast.Dict(keys=places) | ast.Tuple(elts=places) | ast.List(elts=places):
            pass
        case ast.Subscript(slice=place, ctx=ast.Store() | ast.Del()):
            places = [place]
        case ast.Call(func=function, args=args) if last_name(function) not in READERS:
            places = args
    return any(text(place) == NAME for place in places if place is not None)
