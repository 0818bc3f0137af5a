"""Lines and definitions of source texts: the qualified name of the function or class that contains a line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coderefine.source import decode, first_line, syntax

if TYPE_CHECKING:
    from coderefine.core import View

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Symbols:
    """The innermost definition of every line of one file. Names are dotted: `Cart.total`, `outer.inner`."""

    owners: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Symbols:
        """Return the symbols of `text`; none if it does not parse."""
        tree = syntax(text)
        spans = [(first_line(node), last_line(node), name) for name, node in definitions(tree)] if tree else []
        owners = [""] * (max((last for _, last, _ in spans), default=0) + 1)
        for first, last, name in spans:  # inner definitions come later and overwrite outer ones
            owners[first : last + 1] = [name] * (last + 1 - first)
        return cls(tuple(owners))

    def at(self, line: int) -> str:
        """Return the innermost definition around `line` (1-based); "" at module level."""
        return self.owners[line] if 0 < line < len(self.owners) else ""


@dataclass(slots=True)
class Texts:
    """Lines and symbols of the files of `view`, by repo-relative path, each file read at most once per check.

    A file that cannot be decoded has neither.
    """

    view: View
    _lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _symbols: dict[str, Symbols] = field(default_factory=dict)

    def line(self, path: str, number: int) -> str:
        """Return line `number` (1-based) of `path` without indentation, at most 200 characters; "" if there is none."""
        lines = self._of(path)
        return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""

    def symbol(self, path: str, number: int) -> str:
        """Return the qualified name of the definition around line `number`; "" at module level or in other files."""
        if not path.endswith((".py", ".pyi")):
            return ""
        if path not in self._symbols:
            self._symbols[path] = Symbols.of("\n".join(self._of(path)))
        return self._symbols[path].at(number)

    def _of(self, path: str) -> tuple[str, ...]:
        if path not in self._lines:
            data = self.view.read(path)
            source = decode(data) if data is not None else None
            self._lines[path] = tuple(rows(source.text)) if source else ()
        return self._lines[path]


def rows(text: str) -> list[str]:
    """Split `text` into lines as Python does; `str.splitlines` has additional line ends."""
    return re.split(r"\r\n|\r|\n", text)


def definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Yield every function and class with its qualified name, outer before inner. Visits statements only."""
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


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def blocks(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements (and handlers, cases) directly below `node`, in order."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        children = getattr(node, name, None)
        if isinstance(children, list):
            yield from (child for child in children if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case))


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove the docstrings from `tree`, in place, and return it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree
