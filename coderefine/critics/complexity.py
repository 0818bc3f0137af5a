"""radon's figures for one source text: cyclomatic complexity per function, maintainability index of the file.

radon's visitors are slow (7.3 s for 436,000 lines, 3.2 s of them parsing), and nearly all code is within its
limits. So cheap bounds are computed first; radon measures only code that may exceed its limits according to them.

Complexity: every decision point that radon counts (`if`, `elif`, loop, its `else`, `and`/`or`, comprehension and its
`if`, `except`, `try … else`, `case`, `assert`) has its own keyword. So the complexity of a function is at most 1 + the
number of such keywords in its lines; those in strings and comments only raise the bound.

index = 100/171 · (171 − 5.2 ln V − 0.23 G − 16.2 ln L + 50 sin √(2.46 · radians(C))), with V Halstead's volume, G the
complexity, L the logical lines, C the percentage of comments. Its lower bound follows from these bounds:

* V = N log₂ n ≤ N log₂ N; each operation contains an operator in the text, and adds at most three to N.
* G ≤ 2 + decision keywords + functions and classes.
* L: each statement, `else`, `finally`, decorator and handler begins at most one logical line; radon counts further
  ones only for a colon that is not at the end of the line, and after a semicolon.
* The sine is concave up to π, so its minimum over a range of C is at one of the ends of this range.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from itertools import accumulate

from coderefine.bounds import bound, decisions, formula, surely_maintainable, surely_simple
from coderefine.critics.symbols import rows
from coderefine.source import Definition, Function, blocks, definitions, first_line, last_line, syntax

ONE_TOKEN = re.compile(r"[rRuUbB]{0,2}(\"\"\"|''')((?!\1)[^\\])*\1", re.DOTALL)
"""A triple-quoted string that is certainly one token."""
LONGEST = 200
"""Rows of one statement above which a file gets no index: radon reads such tables in quadratic time (10,000 rows
took more than ten minutes), and a table is data."""


@dataclass(frozen=True, slots=True)
class Complex:
    """A function over the limit: its qualified name, first and last line, cyclomatic complexity."""

    symbol: str
    first: int
    last: int
    value: int


@dataclass(frozen=True, slots=True)
class FileComplexity:
    """The functions of a file that are over the limit, and its index when that is below the floor (else None)."""

    functions: tuple[Complex, ...] = ()
    index: float | None = None


def measure(text: str, limit: int, floor: float) -> FileComplexity:
    """Return radon's results for `text`; empty if it does not parse.

    `limit`: the highest complexity allowed. `floor`: the lowest maintainability index allowed (0 to 100).
    """
    simple = surely_simple(text, limit)
    maintainable = surely_maintainable(text, floor)
    tree = None if simple and maintainable else syntax(text)
    if tree is None:
        return FileComplexity()
    found = () if simple else _over_limit(tree, text, limit)
    return FileComplexity(found, None if maintainable else index_below(tree, text, floor))


def _over_limit(tree: ast.Module, text: str, limit: int) -> tuple[Complex, ...]:
    running = [0, *accumulate(map(decisions, rows(text)))]
    found = []
    for name, node in definitions(tree):
        last = last_line(node)
        if isinstance(node, Function) and running[last] - running[node.lineno - 1] >= limit:
            from radon.complexity import cc_visit_ast

            # The first block is the function; closures inside it are counted by themselves.
            value = int(cc_visit_ast(node)[0].complexity)
            if value > limit:
                found.append(Complex(name, node.lineno, last, value))
    return tuple(found)


def index_below(tree: ast.Module, text: str, floor: float) -> float | None:
    """Return the index of `text`, parsed as `tree`, if it is below `floor`; None also if radon cannot compute it.

    In three steps of increasing cost: bounds of all terms; radon's volume and complexity with bounds of the lines; all
    of radon.
    """
    anatomy = _Anatomy.of(tree, rows(text))
    if anatomy.longest > LONGEST or bound(anatomy.code, anatomy.logical, anatomy.sine) >= floor:
        return None
    from radon.complexity import ComplexityVisitor
    from radon.metrics import h_visit_ast, mi_compute
    from radon.raw import analyze

    volume, complexity = h_visit_ast(tree).total.volume, ComplexityVisitor.from_ast(tree).total_complexity
    if formula(volume, complexity, anatomy.logical, anatomy.sine) >= floor:
        return None
    try:
        raw = analyze(text)
    except SyntaxError:
        # radon reads line by line and fails on some legal texts (a form feed inside a statement, for example).
        return None
    share = (raw.comments + raw.multi) / raw.sloc * 100 if raw.sloc else 0.0
    index = float(mi_compute(volume, complexity, raw.lloc, share))
    return index if index < floor else None


@dataclass(frozen=True, slots=True)
class _Part:
    """A simple statement, or the header of a compound one: `first` to `last` line."""

    node: ast.AST
    first: int
    last: int

    @property
    def string(self) -> bool:
        """Return whether the statement is only a string, such as a docstring."""
        return isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Constant | ast.JoinedStr)

    @property
    def simple(self) -> bool:
        return not hasattr(self.node, "body") and not hasattr(self.node, "cases")

    @property
    def rows(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def logical(self) -> int:
        """Return how many logical lines the node itself begins, without those due to colons and semicolons."""
        blocks = [bool(getattr(self.node, name, 0)) for name in ("orelse", "finalbody")]
        return 1 + len(getattr(self.node, "decorator_list", ())) + sum(blocks)


@dataclass(frozen=True, slots=True)
class _Anatomy:
    """The measurements of a file from which the bounds are computed.

    `code`: the text without certain strings and comments. `logical`: upper bound of the logical lines. `sine`: lower
    bound of the sine term for comments. `longest`: lines of the longest statement other than a string.
    """

    code: str
    logical: int
    sine: float
    longest: int

    @classmethod
    def of(cls, tree: ast.Module, lines: list[str]) -> _Anatomy:
        parts = [_Part(node, *_extent(node)) for node in _statements(tree)]
        remarks = _comment_rows(parts, lines)
        kept = {number: line for number, line in enumerate(lines, 1) if number not in remarks}
        code = "\n".join(kept.values())
        logical = sum(part.logical for part in parts) + _colons(parts, kept) + 2 * code.count(";")
        longest = max((len(part.rows) for part in parts if not part.string and part.simple), default=0)
        return cls(code, logical, _sine(parts, lines, remarks), longest)


def _comment_rows(parts: list[_Part], lines: list[str]) -> set[int]:
    """Return the lines that radon certainly counts as comments: multi-line strings, and comments outside statements."""
    inside = {row for part in parts for row in part.rows}
    found = {row for row, line in enumerate(lines, 1) if line.lstrip().startswith("#") and row not in inside}
    for part in parts:
        if part.string and part.last > part.first:
            text = "\n".join(lines[part.first - 1 : part.last]).strip()
            found |= set(part.rows) if ONE_TOKEN.fullmatch(text) else set()
    return found


def _colons(parts: list[_Part], kept: dict[int, str]) -> int:
    """Count rows with a colon for which radon may count a second logical line, except the ends of one-row headers."""
    headers = {part.first for part in parts if not part.simple and part.first == part.last}
    plain = {row for row in headers & kept.keys() if kept[row].find(":") == len(kept[row]) - 1}
    return sum(":" in line for row, line in kept.items() if row not in plain)


def _sine(parts: list[_Part], lines: list[str], remarks: set[int]) -> float:
    """Return the minimum of the sine term over all shares of comments that are possible."""
    # The smallest share: only lines that certainly are comments, among as much code as possible.
    written = {row for row, line in enumerate(lines, 1) if line.strip()}
    low = _angle(len(remarks & written), len(written - remarks))
    # The largest share: all lines that may be comments, among the rows where other statements certainly begin.
    strings = [part for part in parts if part.string]
    begins = {part.first for part in parts} - {part.first for part in strings}
    high = _angle(sum("#" in line for line in lines) + sum(len(part.rows) for part in strings), len(begins))
    return min(math.sin(low), math.sin(high)) if high <= math.pi else -1.0


def _angle(comments: int, code: int) -> float:
    """Return the argument of radon's sine; infinite without code."""
    return math.sqrt(2.46 * math.radians(100 * comments / code)) if code else math.inf


def _statements(tree: ast.Module) -> list[ast.AST]:
    """Return all statements, handlers and cases."""
    found: list[ast.AST] = [tree]
    for node in found:
        found.extend(blocks(node))
    return found[1:]


def _extent(node: ast.AST) -> tuple[int, int]:
    """Return the first and last line of a simple statement, or of a compound statement's header."""
    first = node.pattern.lineno if isinstance(node, ast.match_case) else getattr(node, "lineno", 1)
    if isinstance(node, Definition):
        first = first_line(node)
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return first, getattr(node, "end_lineno", None) or first
    return first, max(first, _extent(body[0])[0] - 1)
