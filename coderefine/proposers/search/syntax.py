"""A source file as a syntax tree with the exact position of every node in the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from coderefine.proposers.search.index import Index
from coderefine.proposers.search.value_kinds import DEFINITIONS, Function
from coderefine.source import ParsedText, Source, decode, first_line, last_line, syntax

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


class Module(ParsedText):
    """One parsed file."""

    def __init__(self, path: str, source: Source, tree: ast.Module) -> None:
        super().__init__(source.text, tree)
        self.path = path
        self.source = source

    @classmethod
    def of(cls, path: str, data: bytes) -> Module | None:
        """Parse the file; return None if it is not text or not valid Python."""
        source = decode(data)
        tree = syntax(source.text) if source else None
        return cls(path, source, tree) if source and tree else None

    @cached_property
    def fields(self) -> dict[ast.AST, str]:
        """Return for each node the name of its parent's field that contains it."""
        found: dict[ast.AST, str] = {}
        for node in self.nodes:
            for name, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        found[child] = name
        return found

    def is_called(self, node: ast.AST) -> bool:
        """Return whether `node` is what a call calls: `f` in `f(x)`."""
        return self.fields.get(node) == "func"

    @cached_property
    def index(self) -> Index:
        return Index(self)

    @cached_property
    def by_line(self) -> dict[int, ast.stmt]:
        """Return the innermost statement on each line."""
        owner: dict[int, ast.stmt] = {}
        for stmt in self.statements:  # breadth first: inner statements overwrite outer ones
            for line in range(first_line(stmt), last_line(stmt) + 1):
                owner[line] = stmt
        return owner

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

    def block(self, stmt: ast.stmt) -> list[ast.stmt]:
        """Return the list of statements that contains `stmt`."""
        value = getattr(self.parents[stmt], self.fields[stmt], [])
        return value if isinstance(value, list) else [stmt]


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
    """Yield (key, value) for each entry of a dictionary display, and (row, row) for each row of another display.

    Yield nothing if an element of the other display is no row, see ROW.
    """
    if isinstance(node, ast.Dict):
        yield from ((key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and all(isinstance(row, ROW) for row in node.elts):
        yield from ((row, row) for row in node.elts)


def strings(node: ast.AST) -> set[str]:
    """Return the string constants in `node`."""
    constants = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    return {value for value in constants if isinstance(value, str)}
