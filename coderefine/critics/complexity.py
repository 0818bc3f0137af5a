"""radon's figures for one source text: cyclomatic complexity per function, maintainability index of the file.

radon's visitors are slow (7.3 s for 436,000 lines, 3.2 s of them parsing), and nearly all code is within its
limits. So a cheap bound comes first, and radon itself measures only what that cannot clear:

* Every decision point radon counts (`if`, `elif`, loop, its `else`, `and`/`or`, comprehension and its `if`, `except`,
  `try … else`, `case`, `assert`) is written with a keyword of its own. So 1 + the keywords in a function's lines
  is at least its complexity; words in strings and comments only raise the bound.
* For the index see maintainability.py.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from coderefine.bounds import decisions, surely_maintainable, surely_simple
from coderefine.critics.maintainability import index_below
from coderefine.critics.symbols import Function, definitions, parse, rows


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
    few = surely_simple(text, limit)
    short = surely_maintainable(text, floor)
    if few and short:
        return Measured()
    tree = parse(text)
    if tree is None:
        return Measured()
    return Measured(() if few else _functions(tree, text, limit), None if short else index_below(tree, text, floor))


def _functions(tree: ast.Module, text: str, limit: int) -> tuple[Complex, ...]:
    running = [0]
    for line in rows(text):
        running.append(running[-1] + decisions(line))
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
