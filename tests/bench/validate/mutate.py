"""A small mutator of its own (it shares nothing with the search engine): one changed span of text per mutant."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

SWAPS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "/", "/": "*",
    "//": "*", "%": "+", "and": "or", "or": "and", "in": "not in", "is": "is not", "|": "&", "&": "|", "<<": ">>",
    ">>": "<<", "+=": "-=", "-=": "+=", "*=": "/=", "True": "False", "False": "True", "break": "continue",
    "continue": "break", "not": "",
}  # fmt: skip
"""Token -> its replacement. "not" goes (and "is not" with it becomes "is")."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`text` is the whole file; `what` says the change, `line` where. `at_import`: outside of any function body."""

    text: str
    what: str
    line: int
    at_import: bool


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of `source` that still parse, in the order of the text."""
    starts = _starts(source)
    inside = _function_lines(source)
    spans = sorted({*_tokens(source, starts), *_statements(source, starts)})
    for begin, end, new, what in spans:
        text = source[:begin] + new + source[end:]
        if _parses(text) and text != source:
            line = source.count("\n", 0, begin) + 1
            yield Mutant(text, f"{what}: {source[begin:end][:30]!r} -> {new[:30]!r}", line, line not in inside)


def _starts(source: str) -> list[int]:
    """Offset of each line."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _function_lines(source: str) -> set[int]:
    """Lines inside function bodies (the `def` line itself is import time)."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


Span = tuple[int, int, str, str]


def _tokens(source: str, starts: list[int]) -> Iterator[Span]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if token.type in (tokenize.OP, tokenize.NAME) and token.string in SWAPS:
            yield begin, end, SWAPS[token.string], "operator"
        elif token.type == tokenize.NUMBER and token.string.isdigit():
            yield begin, end, str(int(token.string) + 1), "number"
        elif token.type == tokenize.STRING and "\n" not in token.string and len(token.string) > 3:
            yield begin, end, token.string[:-1] + "XX" + token.string[-1], "string"


def _statements(source: str, starts: list[int]) -> Iterator[Span]:
    """Returned values become None; statements within bodies go."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Return) and node.value is not None:
            yield (*_span(node.value, source, starts), "None", "return")
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Raise | ast.Expr) and not _docstring(node):
            yield (*_span(node, source, starts), "pass", "statement")


def _docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _span(node: ast.expr | ast.stmt, source: str, starts: list[int]) -> tuple[int, int]:
    return (
        _offset(source, starts, node.lineno, node.col_offset),
        _offset(source, starts, node.end_lineno or node.lineno, node.end_col_offset or 0),
    )


def _offset(source: str, starts: list[int], line: int, column: int) -> int:
    """Characters, from ast's lines and UTF-8 bytes."""
    text = source[starts[line - 1] : starts[line] if line < len(starts) else None]
    return starts[line - 1] + len(text.encode()[:column].decode(errors="ignore"))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
