"""The source of failing tests, with the fixtures and constants of the same file that they use."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator

from coderefine.llm.outline import Function, parsed


def excerpt(text: str, ids: Iterable[str]) -> str:
    """The parts of test file `text` that the tests `ids` (pytest node ids) consist of, in file order.

    Nothing when the file does not parse or the tests are not plain functions of it.
    """
    tree = parsed(text)
    if tree is None:
        return ""
    wanted = {tuple(test.partition("::")[2].split("[")[0].split("::")) for test in ids}
    tests = [node for names in sorted(wanted) for node in _named(tree.body, names)]
    return joined(text, {*tests, *support(tree, tests)})


def joined(text: str, chosen: Iterable[ast.stmt]) -> str:
    """The source of the statements `chosen` of `text`, in file order."""
    lines = text.split("\n")
    spans = sorted((_first(node), node.end_lineno or node.lineno) for node in chosen)
    return "\n\n".join(textwrap.dedent("\n".join(lines[first - 1 : last])) for first, last in spans)


def _named(body: Iterable[ast.stmt], names: tuple[str, ...]) -> Iterator[ast.stmt]:
    """The function that `names` leads to through classes."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and names and node.name == names[0]:
            if len(names) == 1:
                yield node
            elif isinstance(node, ast.ClassDef):
                yield from _named(node.body, names[1:])


def support(tree: ast.Module, tests: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """What the tests need of their own file: imports, and functions and constants named in them, two levels deep."""
    names = names_in(tests)
    for _ in range(2):
        named = [node for node in tree.body if _defines(node) & names and not isinstance(node, ast.ClassDef)]
        names = names | names_in(named)
    yield from (node for node in named if not _is_test(node))
    yield from (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and _defines(node) & names)


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, Function) and node.name.startswith("test")


def names_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names read in `nodes`, and their parameters: those are fixtures."""
    return frozenset(
        item.id if isinstance(item, ast.Name) else item.arg
        for node in nodes
        for item in ast.walk(node)
        if isinstance(item, ast.Name | ast.arg)
    )


def _defines(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, Function | ast.ClassDef):
        return frozenset({node.name})
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return frozenset(
            item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        )
    return frozenset()


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(item.lineno for item in decorators)])


def imports(text: str) -> tuple[str, ...]:
    """Dotted names that `text` imports, `from a import b` as both `a` and `a.b`; relative ones keep their dots."""
    tree = parsed(text)
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _imported(node))) if tree else ()


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        yield base
        yield from (f"{base}{'' if base.endswith('.') else '.'}{alias.name}" for alias in node.names)
