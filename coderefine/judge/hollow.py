"""Code that is emptied instead of repaired: shrunk files, gutted functions, swallowed errors."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from coderefine.judge.change import Change
from coderefine.judge.names import last
from coderefine.judge.normal import TREES, Function, nodes

QUIET = (ast.Import, ast.ImportFrom)
BROAD = frozenset(("Exception", "BaseException"))
SHARE, LEAST, SUBSTANCE = 0.5, 10, 3


def shrunk(changed: tuple[Change, ...]) -> Iterator[str]:
    """Files that lose more than half of their statements and more than ten; imports and docstrings do not count.

    Code that moves to another file of the same patch is not lost.
    """
    moved = sum(max(0, _weight(change.new) - _weight(change.old)) for change in changed if change.new)
    for change in changed:
        if change.old is None or change.new is None:
            continue
        before, after = _weight(change.old), _weight(change.new)
        gone = before - after - moved
        if gone > LEAST and gone > SHARE * before:
            yield f"removes {before - after} of {before} statements from {change.path}"


def _weight(tree: ast.Module | None) -> int:
    return 0 if tree is None else sum(_counts(node) for node in nodes(tree))


def _counts(node: ast.AST) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not isinstance(node, QUIET) and not text


def gutted(change: Change) -> Iterator[str]:
    """Functions whose work is gone: nothing but `pass`, `...`, NotImplementedError or a fixed return is left."""
    was = functions(change.old)
    for name, new in functions(change.new).items():
        old = was.get(name)
        if old is not None and len(_deep(work(old))) >= SUBSTANCE and not hollow(old) and hollow(new):
            yield f"empties {name} in {change.path}"


def swallowed(change: Change) -> Iterator[str]:
    """Functions newly wrapped whole in `except Exception: pass` or the like."""
    was = functions(change.old)
    for name, new in functions(change.new).items():
        old = was.get(name)
        if _swallows(new) and (old is None or not _swallows(old)):
            yield f"swallows every error of {name} in {change.path}"


@lru_cache(maxsize=TREES)
def functions(tree: ast.Module | None) -> Mapping[str, Function]:
    """Every function by qualified name; of two with the same name, the last."""
    found: dict[str, Function] = {}
    _collect(tree, "", found)
    return found


def _collect(node: ast.AST | None, prefix: str, found: dict[str, Function]) -> None:
    for child in ast.iter_child_nodes(node) if node else ():
        if isinstance(child, Function):
            found[prefix + child.name] = child
        inner = f"{prefix}{child.name}." if isinstance(child, Function | ast.ClassDef) else prefix
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            _collect(child, inner, found)


def work(function: Function) -> list[ast.stmt]:
    """The statements that can run: no docstring, nothing after a first `return` or `raise`."""
    body = [node for node in function.body if _counts(node) or not isinstance(node, ast.Expr)]
    if isinstance(body[0] if body else None, ast.If) and _always(body[0].test):  # type: ignore[attr-defined]
        body = [*body[0].body, *body[1:]]  # type: ignore[attr-defined]
    for number, node in enumerate(body):
        if isinstance(node, ast.Return | ast.Raise):
            return body[: number + 1]
    return body


def _always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _deep(body: list[ast.stmt]) -> list[ast.stmt]:
    return [node for item in body for node in ast.walk(item) if isinstance(node, ast.stmt)]


def hollow(function: Function) -> bool:
    """Whether nothing in the function depends on anything."""
    return all(_empty(node) for node in work(function))


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
    """Whether a value is anything but a literal or an empty container."""
    return any(
        isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Await | ast.Yield) for node in ast.walk(value)
    )


def _swallows(function: Function) -> bool:
    match _between_fixed(function):
        case [ast.With(items=items)]:
            return any(_suppresses(item.context_expr) for item in items)
        case [ast.Try(handlers=handlers)]:
            return any(_broad(item.type) and _silent(item) for item in handlers)
    return False


def _between_fixed(function: Function) -> list[ast.stmt]:
    """The body without the fixed values that are set first and the fixed value that is returned last."""
    body = [node for node in function.body if _counts(node)]
    while body and isinstance(body[-1], ast.Return) and _empty(body[-1]):
        body.pop()
    while body and isinstance(body[0], ast.Assign) and _empty(body[0]):
        body.pop(0)
    return body


def _suppresses(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and last(call.func) == "suppress" and any(map(_broad, call.args))


def _broad(kind: ast.expr | None) -> bool:
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(name is None or (isinstance(name, ast.Name) and name.id in BROAD) for name in names)


def _silent(handler: ast.ExceptHandler) -> bool:
    """Neither raises, nor calls anything, nor looks at the error."""
    telling = (ast.Raise, ast.Call)
    nodes = [node for item in handler.body for node in ast.walk(item)]
    used = any(isinstance(node, ast.Name) and node.id == handler.name for node in nodes)
    return not used and not any(isinstance(node, telling) for node in nodes)
