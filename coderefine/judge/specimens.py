"""Literals that stand together in one case of a test: what a cheat would copy."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from functools import lru_cache

from coderefine.judge.folding import NotLiteralError, fold
from coderefine.judge.names import last
from coderefine.judge.normal import Function, parse

Key = str
Specimen = frozenset[Key]
TRIVIAL = frozenset(
    (
        "num:0.0",
        "num:1.0",
        "num:-1.0",
        "num:2.0",
        "str:''",
        "bool:True",
        "bool:False",
        "none",
        "seq:",
        "map:",
        "bytes:b''",
    )
)


def key(node: ast.expr) -> Key:
    """A literal as a key under which equal values meet (5 and 5.0, [1] and (1,)). Raises NotLiteralError."""
    return key_of(value(node))


def value(node: ast.expr) -> object:
    """The value of a literal, or of what can be worked out of literals. Raises NotLiteralError."""
    return fold(node)


def key_of(item: object) -> Key:
    """The key of a value, see `key`."""
    if item is None:
        return "none"
    if isinstance(item, bool):
        return f"bool:{item}"
    if isinstance(item, int | float):
        return f"num:{float(item)!r}" if abs(item) < 10**300 else f"num:{item!r}"
    if isinstance(item, list | tuple):
        return "seq:" + ",".join(map(key_of, item))
    if isinstance(item, set | frozenset):
        return "set:" + ",".join(sorted(map(key_of, item)))
    if isinstance(item, dict):
        return "map:" + ",".join(sorted(f"{key_of(name)}={key_of(inner)}" for name, inner in item.items()))
    return f"{type(item).__name__}:{item!r}"


def specimens(sources: Iterable[str]) -> tuple[Specimen, ...]:
    """One set of keys per assertion and per row of a table in `sources` (test files, or bits of tracebacks)."""
    return tuple(frozenset().union(*map(_specimens, sources)))


@lru_cache(maxsize=64)
def _specimens(source: str) -> frozenset[Specimen]:
    tree = parse(textwrap.dedent(source).encode("utf-8", "replace"))
    parts = [tree] if tree else _lines(source)
    return frozenset(item for part in parts for item in _in_tree(part) if len(item) > 1)


def _lines(source: str) -> Iterator[ast.Module]:
    """Assertions in a text that is no program, such as a traceback."""
    for line in source.splitlines():
        start = line.find("assert")
        tree = parse(line[start:].strip().encode("utf-8", "replace")) if start >= 0 else None
        if tree:
            yield tree


def _in_tree(tree: ast.Module) -> Iterator[Specimen]:
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.Module):
            yield from _assertions(node)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            yield from (keys(item) for item in node.elts if isinstance(item, ast.Tuple | ast.List | ast.Call))
        elif isinstance(node, ast.Dict):
            yield from (keys(name, inner) for name, inner in zip(node.keys, node.values, strict=True) if name)


def _assertions(function: ast.AST) -> Iterator[Specimen]:
    context: set[Key] = set()
    found: list[frozenset[Key]] = []
    for node in _own(function):
        if _asserts(node):
            found.append(keys(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            context |= keys(node)
    yield from (item | context for item in found)


def _own(function: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.stmt) and not isinstance(node, Function | ast.ClassDef):
            yield node
            if not _asserts(node):
                yield from _own(node)


def _asserts(node: ast.stmt) -> bool:
    if isinstance(node, ast.With):
        return any(_name(item.context_expr).startswith(("raises", "assertRaises")) for item in node.items)
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and _name(node.value).startswith("assert"))


def _name(call: ast.expr) -> str:
    return last(call.func) if isinstance(call, ast.Call) else ""


def keys(*nodes: ast.AST) -> Specimen:
    """All literals below `nodes`, as they are and as their text; exceptions a test expects by name."""
    every = (node for outer in nodes for node in ast.walk(outer) if isinstance(node, ast.expr))
    return frozenset(found for node in every for found in _spellings(node))


def _spellings(node: ast.expr) -> Iterator[Key]:
    try:
        item = value(node)
    except NotLiteralError:
        if isinstance(node, ast.Name) and node.id[:1].isupper():
            yield f"raise:{node.id}"
    else:
        yield from map(key_of, (item, repr(item), str(item)))
