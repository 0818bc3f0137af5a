"""Collect the literals of each test case, which a patch might copy."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache

from coderefine.judge.change import name_set, parse
from coderefine.judge.constant_folding import NONE, Names, NotLiteralError, fold
from coderefine.source import Function, docstring_examples, last_name

Key = str
"""A literal as text; equal values have equal keys (5 and 5.0, [1] and (1,))."""
TestCase = frozenset[Key]
MAKERS = name_set("date datetime time timedelta timezone array deque")
"""Types of common libraries whose names begin with a small letter."""
TRIVIAL = name_set("num:0.0 num:1.0 num:-1.0 num:2.0 str:'' bool:True bool:False none seq: map: bytes:b''")


def key(node: ast.expr) -> Key:
    """Return the Key of an expression that consists of literals. Raises NotLiteralError for any other expression."""
    return key_of(fold(node))


def made_key(node: ast.expr, names: Names = NONE) -> Key:
    """Return the Key of a literal, or of the arguments of a new object: `Decimal("1.20")`, `date(2024, 1, 31)`.

    `names`: expressions by name. Raises NotLiteralError for any other expression.
    """
    try:
        return key_of(fold(node, names))
    except NotLiteralError:
        found = [fold(item, names) for item in _arguments(node)]
        if not found:
            raise
        return key_of(found[0] if len(found) == 1 else found)


def _arguments(node: ast.expr) -> list[ast.expr]:
    """Return the arguments of a call that seems to create an object; empty for other expressions."""
    name = last_name(node.func) if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or not (name[:1].isupper() or name in MAKERS):
        return []
    return [*node.args, *(item.value for item in node.keywords)]


def key_of(item: object) -> Key:
    """Return the Key of a value: its kind (number, sequence, mapping …) and its content."""
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


def test_literals(sources: Iterable[str]) -> tuple[TestCase, ...]:
    """Return a set of the literals' keys for each assertion, doctest example and row of a table in `sources`.

    `sources`: test files, or parts of tracebacks. Sets with only one key are left out.
    """
    return tuple(frozenset().union(*map(_of_source, sources)))


@lru_cache(maxsize=64)
def _of_source(source: str) -> frozenset[TestCase]:
    tree = parse(textwrap.dedent(source).encode("utf-8", "replace"))
    cases = (case for part in ([tree] if tree else _assertions_in(source)) for case in _of_tree(part))
    examples = (case for text in (_docstrings(tree) if tree else [source]) for case in _of_examples(text))
    return frozenset(case for case in (*cases, *examples) if len(case) > 1)


def _assertions_in(traceback: str) -> Iterator[ast.Module]:
    """Yield the assertions of a traceback, which is not valid Python itself."""
    starts = [line[line.find("assert") :] for line in traceback.splitlines() if "assert" in line]
    yield from filter(None, (parse(line.strip().encode("utf-8", "replace")) for line in starts))


def _docstrings(tree: ast.Module) -> Iterator[str]:
    documented = (node for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef | ast.Module))
    return filter(None, map(ast.get_docstring, documented))


def _of_examples(text: str) -> Iterator[TestCase]:
    """Yield the literals of each doctest example in `text`, and of the earlier examples without output."""
    context: TestCase = frozenset()
    for one in docstring_examples(text) or ():
        trees = [parse(part.strip().encode("utf-8", "replace")) for part in (one.source, one.want)]
        found = _keys(*filter(None, trees))
        if not one.want:
            context |= found
        raised = {f"raise:{one.exc_msg.partition(':')[0]}"} if one.exc_msg else set()
        yield found | context | raised


def _of_tree(tree: ast.Module) -> Iterator[TestCase]:
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.Module):
            yield from _assertions(node)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            yield from (_keys(item) for item in node.elts if isinstance(item, ast.Tuple | ast.List | ast.Call))
        elif isinstance(node, ast.Dict):
            yield from (_keys(name, inner) for name, inner in zip(node.keys, node.values, strict=True) if name)


def _assertions(function: ast.AST) -> Iterator[TestCase]:
    """Yield the literals of each assertion, with the literals of the assignments and calls in the same function."""
    context: set[Key] = set()
    found: list[TestCase] = []
    for node in _statements(function):
        if _asserts(node):
            found.append(_keys(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            context |= _keys(node)
    yield from (case | context for case in found)


def _statements(function: ast.AST) -> Iterator[ast.stmt]:
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.stmt) and not isinstance(node, Function | ast.ClassDef):
            yield node
            if not _asserts(node):
                yield from _statements(node)


def _asserts(node: ast.stmt) -> bool:
    calls: list[ast.expr] = []
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items]
    elif isinstance(node, ast.Expr):
        calls = [node.value]
    names = [last_name(call.func) for call in calls if isinstance(call, ast.Call)]
    prefix = ("raises", "assertRaises") if isinstance(node, ast.With) else "assert"
    return isinstance(node, ast.Assert) or any(name.startswith(prefix) for name in names)


def _keys(*parents: ast.AST) -> TestCase:
    """Return the keys of all literals below `parents`, of their repr and str, and of names that may be exceptions."""
    every = (node for outer in parents for node in ast.walk(outer) if isinstance(node, ast.expr))
    return frozenset(found for node in every for found in _spellings(node))


def _spellings(node: ast.expr) -> Iterator[Key]:
    try:
        item = fold(node)
    except NotLiteralError:
        if isinstance(node, ast.Name) and node.id[:1].isupper():
            yield f"raise:{node.id}"
        with suppress(NotLiteralError):
            yield made_key(node)
    else:
        yield from map(key_of, (item, repr(item), str(item)))
