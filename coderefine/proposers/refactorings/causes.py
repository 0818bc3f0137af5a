"""Remove causes of exceptions (`raise … from error`) that name the exception being handled anyway.

In the handler of `error`, `raise A() from error` differs from `raise A()` in the attributes `__cause__` and
`__suppress_context__`, which tracebacks show, and in nothing else: the handled exception is the context of both. The
standard library reads `__cause__` in one place: `contextlib` looks for RuntimeErrors with a StopIteration as cause.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from coderefine.source import bound_names, last_name, syntax

READS_CAUSES = re.compile(r"__cause__|__context__|__suppress_context__")
"""Code that may read causes. Tests may contain such code; the rest of the project must not."""
SEES_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir", "globals", "_getframe", "currentframe"})
CATCHES_STOP = frozenset({"StopIteration", "StopAsyncIteration", "Exception", "BaseException"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def without_causes(before: str, after: str) -> tuple[str, str] | None:
    """Return both versions of a file without causes that name the handled exception.

    Names of exceptions that are then unused are removed, too. Return None if both versions have the same number of such
    causes, or if one version cannot be parsed.
    """
    trees = syntax(before), syntax(after)
    if trees[0] is None or trees[1] is None or _removed(trees[0]) == _removed(trees[1]):
        return None
    return ast.unparse(trees[0]), ast.unparse(trees[1])


def _removed(tree: ast.Module) -> int:
    """Remove causes that name the handled exception, then unused names of exceptions; return the number of causes."""
    found = list(_causes(tree, None))
    for statement in found:
        statement.cause = None
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        _remove_unused_names(function)
    return len(found)


def _causes(node: ast.AST, handler: ast.ExceptHandler | None) -> Iterator[ast.Raise]:
    """Yield each `raise` of a new exception in `node` whose cause is the exception of the innermost handler."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) and handler is not None and _names_handled(child, handler):
            yield child
        if isinstance(child, ast.ExceptHandler):
            yield from _causes(child, child)
        elif type(child).__name__ != "TryStar":  # `except*` handles only a part of the exception
            yield from _causes(child, None if isinstance(child, (*FUNCTIONS, ast.ClassDef)) else handler)


def _names_handled(statement: ast.Raise, handler: ast.ExceptHandler) -> bool:
    name = getattr(statement.cause, "id", None)
    if name is None or name != handler.name or not _is_new(statement.exc) or _may_wrap_stop(statement.exc, handler):
        return False
    same = [node for node in ast.walk(handler) if node is not handler and name in bound_names(node)]
    return not same


def _is_new(raised: ast.expr | None) -> bool:
    """Return whether an exception is made where it is raised, so that it has no cause yet: `A()`, or a class."""
    return isinstance(raised, ast.Call) or last_name(raised)[:1].isupper()


def _may_wrap_stop(raised: ast.expr | None, handler: ast.ExceptHandler) -> bool:
    """Return whether a RuntimeError may be raised while a StopIteration is handled."""
    made = raised.func if isinstance(raised, ast.Call) else raised
    kind = getattr(builtins, getattr(made, "id", ""), None)
    other = isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, RuntimeError)
    caught = {getattr(node, "id", "") for node in ast.walk(handler.type)} if handler.type else CATCHES_STOP
    return not other and not CATCHES_STOP.isdisjoint(caught)


def _remove_unused_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Remove `as NAME` from the handlers in `function` where NAME occurs nowhere else in the function."""
    nodes = list(ast.walk(function))
    others = [node for node in nodes if not isinstance(node, ast.ExceptHandler)]
    used = {name for node in others for name in (*bound_names(node), last_name(node))}
    if SEES_NAMES.isdisjoint(used):
        for handler in (node for node in nodes if isinstance(node, ast.ExceptHandler)):
            handler.name = handler.name if handler.name in used else None
