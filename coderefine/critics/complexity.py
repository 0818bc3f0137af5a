"""radon's figures for one source text: cyclomatic complexity per function, maintainability index of the file.

radon's visitors are slow (7.3 s for 436,000 lines, 3.2 s of them parsing), and nearly all code is within its
limits. So cheap bounds come first, and radon itself measures only what they cannot clear:

* Every decision point radon counts (`if`, `elif`, loop, its `else`, `and`/`or`, comprehension and its `if`, `except`,
  `try … else`, `case`, `assert`) is written with a keyword of its own. So 1 + the keywords in a function's lines
  is at least its complexity; words in strings and comments only raise the bound.
* The maintainability index falls with Halstead volume, complexity and logical lines. Each Halstead operation is
  written with an operator and adds at most three to the length; a logical line begins on a line of its own, after
  a semicolon or after a colon. Its comment term is not negative while comments are below 229% of the code.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any

from coderefine.critics.symbols import Function, definitions, parse, rows

DECISION = re.compile(r"(?<![A-Za-z_])(?:if|elif|else|for|while|and|or|except|case|assert)\b")
OPERATOR = re.compile(r"==|!=|[-+*/%@&|^~<>]|(?<![A-Za-z_])(?:and|or|not|in|is)\b")
SCOPE = re.compile(r"(?<![A-Za-z_])(?:def|class)\b")
COMMENT_LIMIT = 180 * math.pi / 2.46
"""Percentage of comments at which sin(sqrt(2.46 · radians(percent))), radon's comment term, turns negative."""

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
class Measured:
    """The functions of a file that are over the limit, and its index when that is below the floor (else None)."""

    functions: tuple[Complex, ...] = ()
    index: float | None = None


def measure(text: str, limit: int, floor: float) -> Measured:
    """radon's verdict on `text`; nothing for a text that does not parse.

    `limit`: the highest complexity allowed. `floor`: the lowest maintainability index allowed (0 to 100).
    """
    decisions = len(DECISION.findall(text))
    cleared = _index_bound(text, decisions) >= floor
    if decisions < limit and cleared:
        return Measured()
    tree = parse(text)
    if tree is None:
        return Measured()
    functions = _functions(tree, text, limit) if decisions >= limit else ()
    return Measured(functions, None if cleared else _index(tree, text, decisions, floor))


def _functions(tree: ast.Module, text: str, limit: int) -> tuple[Complex, ...]:
    running = [0]
    for line in rows(text):
        running.append(running[-1] + len(DECISION.findall(line)))
    found = []
    for name, node in definitions(tree):
        last = node.end_lineno or node.lineno
        if not isinstance(node, Function) or running[last] - running[node.lineno - 1] < limit:
            continue
        value = _complexity(node)
        if value > limit:
            found.append(Complex(name, node.lineno, last, value))
    return tuple(found)


def _complexity(node: ast.AST) -> int:
    """radon's number for one function: closures inside it are counted by themselves."""
    from radon.complexity import cc_visit_ast

    return int(cc_visit_ast(node)[0].complexity)


def _index(tree: ast.Module, text: str, decisions: int, floor: float) -> float | None:
    """The maintainability index when it is below `floor`."""
    if _longest(tree) > LONGEST or (_commented(tree, text) and _index_bound(text, decisions, comments=0.0) >= floor):
        return None
    from radon.complexity import ComplexityVisitor
    from radon.metrics import h_visit_ast, mi_compute
    from radon.raw import analyze

    try:
        raw = analyze(text)
    except SyntaxError:
        # radon reads line by line and stumbles over some legal texts (a form feed inside a statement, say).
        return None
    share = (raw.comments + raw.multi) / raw.sloc * 100 if raw.sloc else 0.0
    visited: Any = ComplexityVisitor.from_ast(tree)
    index = float(mi_compute(h_visit_ast(tree).total.volume, visited.total_complexity, raw.lloc, share))
    return index if index < floor else None


def _index_bound(text: str, decisions: int, *, comments: float = -50.0) -> float:
    """A number the index cannot be below; `comments` is the least its comment term can be (-50 to 50)."""
    length = 3 * len(OPERATOR.findall(text))
    lines = [line for line in text.splitlines() if line and not line.isspace()]
    logical = len(lines) + sum(":" in line for line in lines) + 2 * text.count(";")
    if not length or not logical:
        return 100.0
    volume = length * math.log2(length)
    complexity = 2 + decisions + len(SCOPE.findall(text))
    raw = 171 - 5.2 * math.log(volume) - 0.23 * complexity - 16.2 * math.log(logical) + comments
    return raw * 100 / 171


def _longest(tree: ast.Module) -> int:
    """Rows of the longest simple statement."""
    simple = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    return max(((node.end_lineno or node.lineno) - node.lineno + 1 for node in simple), default=0)


def _commented(tree: ast.Module, text: str) -> bool:
    """Whether comments and docstrings are surely few enough for radon's comment term not to be negative."""
    code, strings = set(), 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            strings += (node.end_lineno or node.lineno) - node.lineno + 1
        elif isinstance(node, ast.stmt):
            code.add(node.lineno)
    remarks = sum("#" in line for line in rows(text))
    return 100 * (remarks + strings) <= COMMENT_LIMIT * len(code)
