"""Literal tables that are looked up with something computed: another way to answer by rote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from coderefine.judge.names import places
from coderefine.judge.normal import nodes
from coderefine.judge.specimens import Key, NotLiteralError, key


@dataclass(frozen=True, slots=True)
class Table:
    """The literal entries of a dict (key, value), or of a list or tuple ("", element), and where it stands."""

    place: str
    entries: tuple[tuple[Key, Key], ...]
    line: int


def tables(tree: ast.Module | None) -> Iterator[Table]:
    """Dict, list and tuple displays of literals that the module indexes with a non-literal."""
    if tree is None:
        return
    where, looked_up = places(tree), _looked_up(tree)
    for node in nodes(tree):
        for display in _displays(node, looked_up):
            entries = tuple(_entries(display))
            if entries:
                yield Table(where.get(display.lineno, ""), entries, display.lineno)


def _looked_up(tree: ast.Module) -> frozenset[str]:
    """Names that are indexed, asked with `.get` or tested with `in` by something computed."""
    found = set()
    for node in nodes(tree):
        base = _base(node)
        name = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
        found.add(name)
    return frozenset(found - {""})


def _base(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant | ast.Slice):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
        return node.func.value if node.args and not isinstance(node.args[0], ast.Constant) else None
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In) and not isinstance(node.left, ast.Constant):
        return node.comparators[0]
    return None


def _displays(node: ast.AST, looked_up: frozenset[str]) -> Iterator[ast.expr]:
    base = _base(node)
    if base is not None and not isinstance(node, ast.Compare):
        yield base
    if isinstance(node, ast.Assign) and any(_name(target) in looked_up for target in node.targets):
        yield node.value
    if isinstance(node, ast.AnnAssign) and node.value and _name(node.target) in looked_up:
        yield node.value
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        every = [*node.args.posonlyargs, *node.args.args]
        named = every[len(every) - len(node.args.defaults) :]
        for argument, default in zip(named, node.args.defaults, strict=True):
            if argument.arg in looked_up:
                yield default


def _name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""


def _entries(display: ast.expr) -> Iterator[tuple[Key, Key]]:
    try:
        if isinstance(display, ast.Dict):
            for name, inner in zip(display.keys, display.values, strict=True):
                if name is not None:
                    yield key(name), key(inner)
        elif isinstance(display, ast.List | ast.Tuple):
            yield from (("", key(item)) for item in display.elts)
    except NotLiteralError:
        return
