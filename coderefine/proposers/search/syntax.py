"""A source file as a syntax tree with the exact position of every node in the text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from coderefine.proposers.search.index import Index
from coderefine.proposers.search.value_kinds import DEFINITIONS, Function
from coderefine.source import Source, decode, first_line, syntax

__all__ = [
    "DEFINITIONS",
    "JUMPS",
    "LOOPS",
    "Edit",
    "Function",
    "Module",
    "Replacement",
    "has_docstring",
    "own_nodes",
]
LOOPS = (ast.For, ast.AsyncFor, ast.While)
JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""Statements after which no other statement of their block runs."""
BLANKS = re.compile(r"[ \t]*")
LINE_END = re.compile(r"\r\n|\n|\r")


class Module:
    """One parsed file. Offsets are character offsets into `text`; lines are 1-based."""

    def __init__(self, path: str, source: Source, tree: ast.Module) -> None:
        self.path = path
        self.source = source
        self.text = source.text
        self.tree = tree
        self._starts = [0, *(match.end() for match in LINE_END.finditer(self.text))]

    @classmethod
    def of(cls, path: str, data: bytes) -> Module | None:
        """Parse the file; return None if it is not text or not valid Python."""
        source = decode(data)
        tree = syntax(source.text) if source else None
        return cls(path, source, tree) if source and tree else None

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def fields(self) -> dict[ast.AST, str]:
        """Return for each node the name of its parent's field that contains it."""
        found: dict[ast.AST, str] = {}
        for node in ast.walk(self.tree):
            for name, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        found[child] = name
        return found

    @cached_property
    def index(self) -> Index:
        return Index(self)

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        return tuple(node for node in ast.walk(self.tree) if isinstance(node, ast.stmt))

    @cached_property
    def by_line(self) -> dict[int, ast.stmt]:
        """Return the innermost statement on each line."""
        owner: dict[int, ast.stmt] = {}
        for stmt in self.statements:  # breadth first: inner statements overwrite outer ones
            for line in range(first_line(stmt), (stmt.end_lineno or stmt.lineno) + 1):
                owner[line] = stmt
        return owner

    def offset(self, line: int, column: int) -> int:
        """Return the character offset of a position as in `ast`: a line, and a column in UTF-8 bytes."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        row = self.text[start:end]
        return start + (column if row.isascii() else len(row.encode()[:column].decode("utf-8", "ignore")))

    def start(self, node: ast.AST) -> int:
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def code(self, node: ast.AST) -> str:
        """Return the node's text, without parentheses around it."""
        return self.text[self.start(node) : self.end(node)]

    def line_start(self, line: int) -> int:
        return self._starts[min(line, len(self._starts)) - 1]

    def line_end(self, line: int) -> int:
        """Return the offset after the line's end."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def indent(self, node: ast.stmt) -> str:
        found = BLANKS.match(self.text, self.line_start(first_line(node)))
        return found.group() if found else ""

    @cached_property
    def step(self) -> str:
        """Return one level of indentation in the style of this file."""
        for stmt in self.statements:
            body = getattr(stmt, "body", None)
            if isinstance(body, list) and body and first_line(body[0]) > stmt.lineno:
                outer, inner = self.indent(stmt), self.indent(body[0])
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return "    "

    def function(self, node: ast.AST) -> Function | None:
        """Return the innermost function around `node` (not itself), or None."""
        return next((up for up in self.ancestors(node) if isinstance(up, Function)), None)

    def qualified_name(self, function: Function) -> str:
        """Return the name of a function, qualified by its class if it has one."""
        owner = self.owner(function)
        return f"{owner.name}.{function.name}" if owner else function.name

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class around `node`, or None."""
        return next((up for up in self.ancestors(node) if isinstance(up, ast.ClassDef)), None)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while (up := self.parents.get(node)) is not None:
            yield up
            node = up

    def block(self, stmt: ast.stmt) -> list[ast.stmt]:
        """Return the list of statements that contains `stmt`."""
        value = getattr(self.parents[stmt], self.fields[stmt], [])
        return value if isinstance(value, list) else [stmt]

    def alone(self, stmt: ast.stmt) -> bool:
        """Return whether no other statement is on the lines of `stmt` (no `;`, no one-line block)."""
        before = self.text[self.line_start(first_line(stmt)) : self._first(stmt)]
        after = self.text[self.end(stmt) : self.line_end(stmt.end_lineno or stmt.lineno)]
        return not before.strip() and (not after.strip() or after.strip().startswith("#"))

    def _first(self, stmt: ast.stmt) -> int:
        decorators = getattr(stmt, "decorator_list", None)
        return self.start(decorators[0]) - 1 if decorators else self.start(stmt)


def own_nodes(stmt: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement without its nested statements, outermost first."""
    todo: list[ast.AST] = [stmt]
    while todo:
        node = todo.pop(0)
        yield node
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def has_docstring(node: Function | ast.ClassDef | ast.Module) -> bool:
    return ast.get_docstring(node, clean=False) is not None


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replacement of the characters `start`..`end` (end exclusive) by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacements in one file that belong together.

    `weight`: relative to the operator's other edits at the statement. `boost` (log odds): how much more likely this
    edit is than the operator's edits usually are, because the present code is unusual.
    """

    parts: tuple[Replacement, ...]
    weight: float = 1.0
    boost: float = 0.0


ROW = (ast.Tuple, ast.List, ast.Call)
"""Kinds of elements that are the rows of a table."""


def entries(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield key and value of each entry of a dictionary display; for the rows of another display, the row is both."""
    if isinstance(node, ast.Dict):
        yield from ((key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and all(isinstance(row, ROW) for row in node.elts):
        yield from ((row, row) for row in node.elts)


def strings(node: ast.AST) -> set[str]:
    """Return the string constants in `node`."""
    constants = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return {value for value in constants if isinstance(value, str)}
