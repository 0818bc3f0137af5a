"""radon's figures for one source text: cyclomatic complexity per function, maintainability index of the file.

radon's visitors are slow (7.3 s for 436,000 lines, 3.2 s of them parsing), and nearly all code is within the
limits. So cheap bounds are computed first. If they prove that code is within the limits, radon does not measure it.

Complexity: every decision point that radon counts (`if`, `elif`, loop, its `else`, `and`/`or`, comprehension and its
`if`, `except`, `try … else`, `case`, `assert`) has its own keyword. So the complexity of a function is at most 1 + the
number of such keywords in its lines; keywords in strings and comments only raise the bound.

index = 100/171 · (171 − 5.2 ln V − 0.23 G − 16.2 ln L + 50 sin √(2.46 · radians(C))), with V Halstead's volume, G the
complexity, L the logical lines, C the percentage of comments. A lower bound of the index follows from these bounds:

* V = N log₂ n ≤ N log₂ N; each operation contains an operator in the text, and adds at most three to N.
* G ≤ 2 + decision keywords + functions and classes.
* L: each line begins at most one logical line, one more if it contains a colon, and two more for each semicolon.
* The sine is not negative while its argument is at most π; with more comments, it is at least −1.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import accumulate

from coderefine.bounds import (
    bound,
    decisions,
    few_remarks,
    formula,
    is_string,
    logical_lines,
    statements,
    surely_maintainable,
    surely_simple,
)
from coderefine.source import Function, definitions, last_line, rows, syntax

LONGEST = 200
"""If a statement has more lines than this, its file gets no index: radon reads such tables in quadratic time (10,000
lines took more than ten minutes), and a table is data."""


@dataclass(frozen=True, slots=True)
class Complex:
    """A function over the limit: its qualified name, first and last line, cyclomatic complexity."""

    symbol: str
    first: int
    last: int
    value: int


@dataclass(frozen=True, slots=True)
class FileComplexity:
    """The functions of a file that are over the limit, and its maintainability index if below the floor (else None)."""

    functions: tuple[Complex, ...] = ()
    index: float | None = None


def measure(text: str, limit: int, floor: float) -> FileComplexity:
    """Return the functions of `text` above `limit`, and its maintainability index if it is below `floor`.

    The values are those of radon. The result is empty if `text` does not parse. `limit`: the highest complexity
    allowed. `floor`: the lowest maintainability index allowed (0 to 100).
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
    """Return the index of `text`, parsed as `tree`, if it is below `floor`, else None.

    Also return None if radon cannot compute the index, or if a statement has more than LONGEST lines.

    There are three steps of increasing cost: first bounds of all terms; then radon's volume and complexity with bounds
    of the other terms; then radon's values of all terms.
    """
    parts = list(statements(tree))
    sine = 0.0 if few_remarks(parts, rows(text)) else -1.0
    if _longest(parts) > LONGEST or bound(text, sine) >= floor:
        return None
    from radon.complexity import ComplexityVisitor
    from radon.metrics import h_visit_ast, mi_compute
    from radon.raw import analyze

    volume, complexity = h_visit_ast(tree).total.volume, ComplexityVisitor.from_ast(tree).total_complexity
    if formula(volume, complexity, logical_lines(text), sine) >= floor:
        return None
    try:
        raw = analyze(text)
    except SyntaxError:
        # radon reads line by line and fails on some legal texts (a form feed inside a statement, for example).
        return None
    share = (raw.comments + raw.multi) / raw.sloc * 100 if raw.sloc else 0.0
    index = float(mi_compute(volume, complexity, raw.lloc, share))
    return index if index < floor else None


def _longest(parts: list[ast.stmt]) -> int:
    """Return the number of lines of the longest simple statement other than a string."""
    simple = (part for part in parts if not (hasattr(part, "body") or hasattr(part, "cases") or is_string(part)))
    return max(((part.end_lineno or 0) - part.lineno + 1 for part in simple), default=0)
