"""Detect removed behaviour: shrunk files, emptied functions, dropped values, swallowed errors."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from coderefine.judge.change import Change, bound, functions, nodes
from coderefine.judge.constant_folding import FUNCTIONS, NotLiteralError, constants, fold
from coderefine.judge.name_resolution import Bindings, bindings, dotted
from coderefine.judge.test_literals import Key, TestCase, key_of, test_literals
from coderefine.source import Function, last_name

BROAD = frozenset(("Exception", "BaseException"))
TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))
"""`try`, also with `except*`, which is new in Python 3.11."""
SHARE, LEAST = 0.5, 10
"""A file may lose up to this share of its statements, and in any case up to this number of them."""
SUBSTANCE = 3
"""Minimum number of statements that a function must have had, to count as emptied."""


def shrunk(changed: tuple[Change, ...]) -> Iterator[str]:
    """Yield a reason for each file that loses more than the share SHARE of its statements, and more than LEAST of them.

    Imports and docstrings do not count. Code that is moved to another file of the same patch is not lost.
    """
    weights = [(change, _weight(change.old), _weight(change.new)) for change in changed]
    moved = sum(max(0, after - before) for _, before, after in weights)
    for change, before, after in weights:
        gone = before - after - moved
        if change.old is not None and change.new is not None and gone > LEAST and gone > SHARE * before:
            yield f"removes {before - after} of {before} statements from {change.path}"


def dropped(change: Change, tests: Sequence[str]) -> Iterator[str]:
    """Yield a reason for each public constant that loses a value, if a failing test mentions the constant.

    Such a test may go through all values of the constant, and then pass only because the failing value is missing. A
    value may be replaced by another one. Values may be removed if a failing test contains all of them, or all values
    that remain.
    """
    was, now = _collections(change.old), _collections(change.new)
    lost = [name for name in was.keys() & now.keys() if was[name] - now[name] and not now[name] - was[name]]
    for name in (name for name in lost if any(re.search(rf"\b{name}\b", test) for test in tests)):
        if not _is_asked(frozenset(was[name]), frozenset(now[name]), test_literals(tests)):
            yield f"removes a value from {name} in {change.path}"


def _is_asked(was: frozenset[Key], left: frozenset[Key], cases: Sequence[TestCase]) -> bool:
    """Return whether one of `cases`, the literals of tests, has all values that are removed, or all that are left."""
    gone = was - left
    return not gone or any(gone <= case or (bool(left) and left <= case) for case in cases)


def _collections(tree: ast.Module | None) -> dict[str, Counter[Key]]:
    """Return the items (keys of a dict) of public constants that are collections of literals, by name."""
    found = {}
    names = constants(tree) if tree else {}
    for name in (name for one in (tree.body if tree else ()) for name in bound(one) if not name.startswith("_")):
        with suppress(NotLiteralError):
            items = fold(names[name], names) if name in names else None
            if isinstance(items, Collection) and not isinstance(items, str | bytes):
                found[name] = Counter(map(key_of, items))
    return found


def _weight(tree: ast.Module | None) -> int:
    return 0 if tree is None else sum(map(_counts, nodes(tree)))


def _counts(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not isinstance(node, ast.Import | ast.ImportFrom) and not text


def emptied(change: Change) -> Iterator[str]:
    """Yield a reason for each function that is reduced to `pass`, `...`, NotImplementedError or a constant return.

    Functions that had fewer than SUBSTANCE statements do not count.
    """
    was = functions(change.old)
    for name, new in functions(change.new).items():
        old = was.get(name)
        if (
            old is not None
            and sum(isinstance(node, ast.stmt) for item in work(old) for node in ast.walk(item)) >= SUBSTANCE
            and not all(map(_empty, work(old)))
            and all(map(_empty, work(new)))
        ):
            yield f"empties {name} in {change.path}"


def swallowing(change: Change) -> Iterator[str]:
    """Yield a reason for each function whose whole body is newly wrapped in `except Exception: pass` or the like.

    A function that was wrapped like this before the patch may be renamed, or moved in the file.
    """
    was = _swallowing(change.old)
    for name, new in _swallowing(change.new).items():
        if name not in was and new not in was.values():
            yield f"swallows every error of {name} in {change.path}"


def _swallowing(tree: ast.Module | None) -> dict[str, str]:
    """Return the dumps of the functions that swallow every error, by name."""
    names = bindings(tree) if tree else None
    return {name: ast.dump(one) for name, one in functions(tree).items() if names and _swallows(one, names)}


def work(function: Function) -> list[ast.stmt]:
    """Return the statements that can run: no docstring, nothing after the first `return` or `raise`.

    A leading `if` with a constant condition that is true is replaced by its body.
    """
    body = [node for node in function.body if _counts(node) or not isinstance(node, ast.Expr)]
    match body:
        case [ast.If(test=ast.Constant(value=value), body=first), *others] if value:
            body = [*first, *others]
    for number, node in enumerate(body):
        if isinstance(node, ast.Return | ast.Raise):
            return body[: number + 1]
    return body


def _empty(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        exception = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(exception, ast.Name) and exception.id == "NotImplementedError"
    if isinstance(node, ast.Return):
        return node.value is None or not _depends(node.value)
    if isinstance(node, ast.Assign):
        return not _depends(node.value)
    return isinstance(node, ast.Pass)


def _depends(value: ast.expr) -> bool:
    """Return whether `value` depends on anything other than literals."""
    return any(
        isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Await | ast.Yield) for node in ast.walk(value)
    )


def _swallows(function: Function, names: Bindings) -> bool:
    if function.name in ("__exit__", "__aexit__"):
        return all(map(_excuses, function.body))
    inner = ast.walk(function)
    return _wraps(function, names) or any(isinstance(node, TRY) and _returns_finally(node) for node in inner)


def _wraps(function: Function, names: Bindings) -> bool:
    match _between_constants(function):
        case [ast.With(items=items)]:
            return any(_suppresses(_meant(item.context_expr, names), names) for item in items)
        case [statement] if isinstance(statement, TRY):
            return any(_broad(item.type, names) and _silent(item) for item in statement.handlers)
    return False


def _suppresses(manager: ast.expr, names: Bindings) -> bool:
    match manager:
        case ast.Call(func=function, args=kinds) if _last(function, names) == "suppress":
            return any(_broad(kind, names) for kind in kinds)
    return False


def _excuses(node: ast.stmt) -> bool:
    """Return whether a statement of `__exit__` is `return True`, or has no effect."""
    if isinstance(node, ast.Return):
        return isinstance(node.value, ast.Constant) and bool(node.value.value)
    return _empty(node) or not _counts(node)


def _returns_finally(node: ast.Try) -> bool:
    """Return whether `finally` returns, which drops the exception."""
    return any(isinstance(inner, ast.Return) for item in node.finalbody for inner in ast.walk(item))


def _between_constants(function: Function) -> list[ast.stmt]:
    """Return the body without assignments of constants at its start and a `return` of a constant at its end."""
    body = [node for node in work(function) if _counts(node)]
    while body and isinstance(body[-1], ast.Return) and _empty(body[-1]):
        body.pop()
    while body and isinstance(body[0], ast.Assign) and _empty(body[0]):
        body.pop(0)
    return body


def _broad(kind: ast.expr | None, names: Bindings) -> bool:
    kind = _meant(kind, names) if kind else None
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(one is None or _last(_meant(one, names), names) in BROAD for one in kinds)


def _meant(node: ast.expr, names: Bindings) -> ast.expr:
    """Return the expression of a name that the file binds once; `node` itself for anything else."""
    return names.constants.get(node.id, node) if isinstance(node, ast.Name) else node


def _last(node: ast.expr, names: Bindings) -> str:
    """Return the last part of the original name of `node`; "" if it has none."""
    return dotted(node, names).rpartition(".")[2]


def _silent(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler neither raises, nor calls anything, nor reads the exception."""
    inner = [node for item in handler.body if not _is_name(item) for node in ast.walk(item)]
    used = any(isinstance(node, ast.Name) and node.id == handler.name for node in inner)
    return not used and not any(isinstance(node, ast.Raise) or _acts(node) for node in inner)


def _is_name(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Name)


def _acts(node: ast.AST) -> bool:
    """Return whether `node` is a call, other than one like `int()`, which only returns a constant."""
    return isinstance(node, ast.Call) and (bool(node.args) or last_name(node.func) not in FUNCTIONS)
