"""A parsed file, for rewritings: nodes by position, exact text of nodes, comments, names in a scope, and edits.

If a node is not found, or an edit may be wrong, Unsure is raised, and the finding is not repaired.
"""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from functools import cached_property
from typing import TypeVar

from coderefine.lint import Diagnostic, TextEdit
from coderefine.source import Function, ParsedText, bindings, bound_names, syntax

Node = TypeVar("Node", bound=ast.AST)
Expected = TypeVar("Expected")
Scope = Function | ast.Lambda | ast.ClassDef | ast.Module
Edits = tuple[TextEdit, ...]
WIDTH = 88
"""Ruff's default line length."""


class Unsure(Exception):  # noqa: N818 - a refusal, not an error
    """A rewriting might change behaviour, lose a comment, or capture a name."""


def sure(*conditions: object) -> None:
    """Raise Unsure unless all `conditions` are true. They are all evaluated."""
    if not all(conditions):
        raise Unsure


def expect(value: object, kind: type[Expected]) -> Expected:
    """Return `value`, a node or a match, as one of `kind`. Raises Unsure if it is of another kind."""
    if not isinstance(value, kind):
        raise Unsure
    return value


class Code(ParsedText):
    """A file to rewrite. `width`: the line length that the project sets for ruff; 0 if it sets none."""

    def __init__(self, text: str, tree: ast.Module, width: int = 0) -> None:
        super().__init__(text, tree)
        self.width = width

    @classmethod
    def of(cls, text: str, width: int = 0) -> Code | None:
        """Parse `text`; None if it is not Python."""
        tree = syntax(text)
        return cls(text, tree, width) if tree else None

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines with their line ends."""
        spans = itertools.pairwise((*self._starts, len(self.text)))
        return [self.text[start:end] for start, end in spans if start < end]

    @cached_property
    def _by_line(self) -> dict[int, list[ast.AST]]:
        """Return the nodes by their first line."""
        found: dict[int, list[ast.AST]] = {}
        for node in self.nodes:
            found.setdefault(getattr(node, "lineno", 0), []).append(node)
        return found

    @cached_property
    def bound(self) -> frozenset[str]:
        """Return the names that any code of the file binds, and those of keyword arguments."""
        return frozenset(name for node in self.nodes for name in bound_names(node))

    @cached_property
    def docstrings(self) -> list[ast.Expr]:
        """Return the docstrings, outermost first.

        Every constant that is the first statement of a block counts, even if it is not a string.
        """
        strings = (one for one in self.nodes if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        return [one for one in strings if self.siblings(one)[0] is one]

    @cached_property
    def comments(self) -> dict[int, tuple[int, str]]:
        """Return (offset, text) of each comment, by line."""
        found = {}
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = (self.line_start(token.start[0]) + token.start[1], token.string)
        return found

    @cached_property
    def _strings(self) -> set[int]:
        """Return the lines that begin inside a string, where indentation is content."""
        found: set[int] = set()
        for node in self.nodes:
            if isinstance(node, ast.Constant | ast.JoinedStr) and isinstance(getattr(node, "value", ""), str | bytes):
                found.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
        return found

    def find(self, at: Diagnostic, kind: type[Node]) -> Node:
        """Return the outermost node of `kind` that starts where the finding does. Raises Unsure if there is none."""
        return self.at(at.first, at.column, kind)

    def at(self, line: int, column: int, kind: type[Node]) -> Node:
        """Return the outermost node of `kind` that starts at this line and column (1-based, in characters).

        Raises Unsure if there is none.
        """
        place = self.line_start(line) + column - 1
        for node in self._by_line.get(line, ()):
            if isinstance(node, kind) and self.start(node) == place:
                return node
        raise Unsure

    def parent(self, node: ast.AST, kind: type[Node]) -> Node:
        """Return the parent of `node`. Raises Unsure if the parent is not of `kind`."""
        return expect(self.parents.get(node), kind)

    def around(self, node: ast.AST, kind: type[Node]) -> Node:
        """Return the innermost node of `kind` around `node`. Raises Unsure if there is none."""
        return expect(next((one for one in self.ancestors(node) if isinstance(one, kind)), None), kind)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.start(node), self.end(node)

    def lines_of_statement(self, line: int) -> tuple[int, int]:
        """Return the first and last line of the innermost statement at `line`; if it is compound, of its header."""
        spans = map(_lines_of, self.statements)
        return max((span for span in spans if span[0] <= line <= span[1]), default=(line, line))

    def body_line(self, header: int, end: int) -> int:
        """Return the line after a header that starts at `header` and whose last expression ends at `end`.

        Raises Unsure if a comment is in the header, or if the body begins on the last line of the header.
        """
        colon = self.text.find(":", end)
        after = self.line_start(self.line_of(colon) + 1)
        between, rest = self.text[end:colon].strip(" \t\n),\\"), self.text[colon + 1 : after].strip()
        sure(not between, not rest, not self.commented(header, after))
        return self.line_of(colon) + 1

    def indent(self, node: ast.stmt | ast.excepthandler) -> str:
        """Return the white space before a statement. Raises Unsure if other text precedes it on its line."""
        before = self.text[self.line_start(node.lineno) : self.start(node)]
        sure(not before.strip())
        return before

    def commented(self, start: int, end: int) -> bool:
        """Return whether there is a comment between two offsets: replacing the text would lose it."""
        return any(start <= place < end for place, _ in self.comments.values())

    def edit(self, start: int, end: int, content: str) -> TextEdit:
        """Return an edit that replaces the text between two offsets."""
        return TextEdit(self._position(start), self._position(end), content)

    def replace(self, node: ast.AST, content: str) -> Edits:
        """Return edits that replace the text of `node`. Raises Unsure if a comment is in it."""
        sure(not self.commented(self.start(node), self.end(node)))
        return (self.edit(self.start(node), self.end(node), content),)

    def replace_lines(self, first: int, last: int, content: str) -> Edits:
        """Return edits that replace whole lines (1-based, inclusive); `content` is empty or ends with a line break."""
        return (self.edit(self.line_start(first), self.line_start(last + 1), content),)

    def _position(self, offset: int) -> tuple[int, int]:
        line = self.line_of(offset)
        return line, offset - self.line_start(line) + 1

    def shifted(self, first: int, last: int, old: str, new: str) -> str:
        """Return whole lines with indentation `new` in place of `old`. Raises Unsure if a line begins in a string."""
        found = []
        for number in range(first, last + 1):
            line = self.lines[number - 1]
            if line.strip():
                sure(number not in self._strings, line.startswith(old))
                line = new + line[len(old) :]
            found.append(line)
        return "".join(found)

    def scope(self, node: ast.AST) -> Scope:
        """Return the innermost function, lambda, class or module around `node`."""
        found = self.parents[node]
        while not isinstance(found, Scope):
            found = self.parents[found]
        return found

    def function(self, node: ast.AST) -> Function:
        """Return the innermost function around `node`. Raises Unsure without one, or if a class or lambda is nearer."""
        found = self.scope(node)
        if not isinstance(found, Function):
            raise Unsure
        return found

    def siblings(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that `node` is in."""
        blocks = (value for _, value in ast.iter_fields(self.parents[node]) if isinstance(value, list))
        return next((block for block in blocks if node in block), [node])


def _lines_of(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, without its body, with its decorators."""
    body, decorators = getattr(node, "body", ()), getattr(node, "decorator_list", ())
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    return min(one.lineno for one in (node, *decorators)), last


def names(node: ast.AST) -> set[str]:
    """Return all names in `node`, in any scope, including those of parameters, imports, handlers and patterns."""
    return {name for one in ast.walk(node) for name in bindings(one)}


def uses(node: ast.AST, name: str) -> list[ast.Name]:
    """Return the occurrences of `name` in `node`."""
    return [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name]


def fresh(name: str, taken: set[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3`, … that is not taken."""
    return next(
        one for one in itertools.chain((name,), (f"{name}_{n}" for n in itertools.count(2))) if one not in taken
    )


def plain(node: ast.expr) -> bool:
    """Return whether evaluating `node` has no effect: it consists of names, tuples, and constants, also with a sign."""
    kinds = (ast.Name, ast.Constant, ast.Tuple, ast.expr_context, ast.unaryop)
    return all(
        isinstance(one, kinds) or (isinstance(one, ast.UnaryOp) and isinstance(one.operand, ast.Constant))
        for one in ast.walk(node)
    )


LOOSE = (ast.BoolOp, ast.Lambda, ast.IfExp, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred, ast.Tuple)
"""Expressions with lower precedence than `not`, `and`, `or` and comparisons."""


def operand(code: Code, node: ast.expr, *, inside: type[ast.boolop] | None = None) -> str:
    """Return the text of `node` as an operand, in parentheses if it needs them.

    `inside`: the operator (`and`, `or`) whose operand `node` will be. If `node` has the same operator, it needs no
    parentheses.
    """
    text = code.code(node)
    if isinstance(node, ast.Tuple) and text.startswith("("):
        return text
    if isinstance(node, ast.BoolOp) and inside is not None and isinstance(node.op, inside):
        return text
    return f"({text})" if isinstance(node, LOOSE) else text
