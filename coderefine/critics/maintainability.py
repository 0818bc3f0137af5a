"""radon's maintainability index of one file, when it is below a floor.

index = 100/171 · (171 − 5.2 ln V − 0.23 G − 16.2 ln L + 50 sin √(2.46 · radians(C))), with V Halstead's volume, G the
complexity, L the logical lines, C the percentage of comments. radon needs a second for 30,000 lines of it, so a
number that the index cannot be below is computed first, from pieces that each err to the safe side:

* V = N log₂ n ≤ N log₂ N, and each of the operations counted in N is written with an operator and adds at most three.
* G ≤ 2 + decision keywords + functions and classes.
* L: each statement, `else`, `finally`, decorator and handler begins at most one logical line, and radon counts a
  second one only where a colon stands in it that does not end it, and for what follows a semicolon.
* The sine is concave up to π, so over a range of C it is least at one of the range's ends.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

from coderefine.bounds import bound, formula
from coderefine.critics.symbols import Definition, blocks, first_line, rows

ALONE = re.compile(r"[rRuUbB]{0,2}(\"\"\"|''')((?!\1)[^\\])*\1", re.DOTALL)
"""A triple-quoted string that is one token beyond doubt."""
LONGEST = 200
"""Rows of one statement above which a file gets no index: radon reads such tables in quadratic time (10,000 rows
took more than ten minutes), and a table is data."""


def index_below(tree: ast.Module, text: str, floor: float) -> float | None:
    """The index of `text`, parsed as `tree`, when it is below `floor`; None too where radon could not say.

    In three steps, each dearer than the one before: bounds of everything; radon's volume and complexity with bounds of
    the lines; all of radon.
    """
    anatomy = _Anatomy.of(tree, rows(text))
    if anatomy.longest > LONGEST or bound(anatomy.code, anatomy.logical, anatomy.sine) >= floor:
        return None
    from radon.complexity import ComplexityVisitor
    from radon.metrics import h_visit_ast

    volume, complexity = h_visit_ast(tree).total.volume, ComplexityVisitor.from_ast(tree).total_complexity
    if formula(volume, complexity, anatomy.logical, anatomy.sine) >= floor:
        return None
    index = _exactly(text, volume, complexity)
    return index if index is not None and index < floor else None


def _exactly(text: str, volume: float, complexity: int) -> float | None:
    from radon.metrics import mi_compute
    from radon.raw import analyze

    try:
        raw = analyze(text)
    except SyntaxError:
        # radon reads line by line and stumbles over some legal texts (a form feed inside a statement, say).
        return None
    share = (raw.comments + raw.multi) / raw.sloc * 100 if raw.sloc else 0.0
    return float(mi_compute(volume, complexity, raw.lloc, share))


@dataclass(frozen=True, slots=True)
class _Part:
    """A simple statement, or the header of a compound one: `first` to `last` line."""

    node: ast.AST
    first: int
    last: int

    @property
    def string(self) -> bool:
        """A docstring, or another string that stands by itself."""
        return isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Constant | ast.JoinedStr)

    @property
    def rows(self) -> range:
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True)
class _Anatomy:
    """`code`: the text without its surely-strings and surely-comments. `logical`: at most so many logical lines.

    `sine`: the least the comments' sine can be. `longest`: rows of the longest statement that is no string.
    """

    code: str
    logical: int
    sine: float
    longest: int

    @classmethod
    def of(cls, tree: ast.Module, lines: list[str]) -> _Anatomy:
        parts = [_Part(node, *_extent(node)) for node in _statements(tree)]
        remarks = _documents(parts, lines) | _comments(parts, lines)
        kept = {number: line for number, line in enumerate(lines, 1) if number not in remarks}
        code = "\n".join(kept.values())
        logical = sum(_pieces(part.node) for part in parts) + _colons(parts, kept) + 2 * code.count(";")
        longest = max((len(part.rows) for part in parts if not part.string and _simple(part.node)), default=0)
        return cls(code, logical, _sine(parts, lines, remarks), longest)


def _documents(parts: list[_Part], lines: list[str]) -> set[int]:
    """Rows that radon surely counts as a multi-line string."""
    found: set[int] = set()
    for part in parts:
        if part.string and part.last > part.first:
            text = "\n".join(lines[part.first - 1 : part.last]).strip()
            found |= set(part.rows) if ALONE.fullmatch(text) else set()
    return found


def _comments(parts: list[_Part], lines: list[str]) -> set[int]:
    """Rows that are surely a comment: they look like one, outside of every statement."""
    inside = {row for part in parts for row in part.rows}
    return {row for row, line in enumerate(lines, 1) if line.lstrip().startswith("#") and row not in inside}


def _colons(parts: list[_Part], kept: dict[int, str]) -> int:
    """Rows whose colon may make radon count a second logical line: not the plain end of a one-row header."""
    headers = {part.first for part in parts if not _simple(part.node) and part.first == part.last}
    plain = {row for row in headers & kept.keys() if kept[row].find(":") == len(kept[row]) - 1}
    return sum(":" in line for row, line in kept.items() if row not in plain)


def _sine(parts: list[_Part], lines: list[str], remarks: set[int]) -> float:
    """The least sine over all shares of comments that radon may see."""
    low, high = _angle(*_least(lines, remarks)), _angle(*_most(parts, lines))
    return min(math.sin(low), math.sin(high)) if high <= math.pi else -1.0


def _least(lines: list[str], remarks: set[int]) -> tuple[int, int]:
    """Comments that are surely there, among code that is at most so long."""
    written = {row for row, line in enumerate(lines, 1) if line.strip()}
    return len(remarks & written), len(written - remarks)


def _most(parts: list[_Part], lines: list[str]) -> tuple[int, int]:
    """Everything that could be a comment, among the rows where other statements surely begin."""
    strings = [part for part in parts if part.string]
    begins = {part.first for part in parts} - {part.first for part in strings}
    return sum("#" in line for line in lines) + sum(len(part.rows) for part in strings), len(begins)


def _angle(comments: int, code: int) -> float:
    """What radon takes the sine of; infinite without code."""
    return math.sqrt(2.46 * math.radians(100 * comments / code)) if code else math.inf


def _simple(node: ast.AST) -> bool:
    return not hasattr(node, "body") and not hasattr(node, "cases")


def _statements(tree: ast.Module) -> list[ast.AST]:
    """All statements, handlers and cases; no expressions."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = [tree]
    while pending:
        for child in blocks(pending.pop()):
            found.append(child)
            pending.append(child)
    return found


def _extent(node: ast.AST) -> tuple[int, int]:
    """First and last line of a simple statement, or of a compound one's header."""
    first = node.pattern.lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 1)
    if isinstance(node, Definition):
        first = first_line(node)
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return first, getattr(node, "end_lineno", None) or first
    return first, max(first, _extent(body[0])[0] - 1)


def _pieces(node: ast.AST) -> int:
    """Logical lines that `node` itself begins, colons and semicolons aside."""
    return (
        1
        + len(getattr(node, "decorator_list", ()))
        + bool(getattr(node, "orelse", 0))
        + bool(getattr(node, "finalbody", 0))
    )
