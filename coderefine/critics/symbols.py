"""Which function or class a line belongs to, by its qualified name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from coderefine.source import syntax

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Symbols:
    """The innermost definition of every line of one file. Names are dotted: `Cart.total`, `outer.inner`."""

    owners: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Symbols:
        """Symbols of `text`; none at all when it does not parse."""
        tree = parse(text)
        return cls() if tree is None else cls.of_tree(tree)

    @classmethod
    def of_tree(cls, tree: ast.Module) -> Symbols:
        """Paints each definition over its lines: inner ones come later and cover."""
        spans = [(first_line(node), node.end_lineno or node.lineno, name) for name, node in definitions(tree)]
        owners = [""] * (max((last for _, last, _ in spans), default=0) + 1)
        for first, last, name in spans:
            owners[first : last + 1] = [name] * (last + 1 - first)
        return cls(tuple(owners))

    def at(self, line: int) -> str:
        """The innermost definition around `line` (1-based); "" at module level."""
        return self.owners[line] if 0 < line < len(self.owners) else ""


def parse(text: str) -> ast.Module | None:
    """The tree of `text`, or None when it is no Python (ruff says why)."""
    return syntax(text)


def rows(text: str) -> list[str]:
    """The lines of `text` as Python counts them: other separators that `str.splitlines` knows end no line."""
    return re.split(r"\r\n|\r|\n", text)


def definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Every function and class with its qualified name, outer before inner. Walks statements only."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, node = pending.pop()
        for child in blocks(node):
            if isinstance(child, Definition):
                name = f"{prefix}{child.name}"
                yield name, child
                pending.append((f"{name}.", child))
            else:
                pending.append((prefix, child))


def first_line(node: Definition) -> int:
    """Where `node` begins, decorators included."""
    return min((node.lineno, *(decorator.lineno for decorator in node.decorator_list)))


def blocks(node: ast.AST) -> Iterator[ast.AST]:
    """The statements (and handlers, cases) directly below `node`, in order."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        children = getattr(node, name, None)
        if isinstance(children, list):
            yield from (child for child in children if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case))


def without_docstrings(tree: ast.Module) -> ast.Module:
    """`tree`, which is changed, with its docstrings taken out: what is left is code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree
