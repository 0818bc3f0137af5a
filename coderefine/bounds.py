"""Bounds of radon's metrics without importing radon; critics/complexity.py proves that they hold.

`re` and `ast` are not imported at module level, because that takes 10 of the hook's 30 ms.
"""

from __future__ import annotations

import math
from itertools import accumulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

DECISIONS = ("if", "elif", "else", "for", "while", "and", "or", "except", "case", "assert")
SCOPES = ("def", "class")
NAMED = ("and", "or", "not", "in", "is")
SIGNS = "-+*/%@&|^~<>"
SPACES = {code: " " for code in range(128) if not (chr(code).isalpha() or code == ord("_"))}
ONLY_TREE = 0x400
"""ast.PyCF_ONLY_AST."""
COUNTED = ("If", "IfExp", "For", "AsyncFor", "While", "ExceptHandler", "Assert", "comprehension", "match_case")
BELOW = ("body", "handlers", "orelse", "finalbody", "cases")
ANGLE = 4.01
"""Percentage of comment lines, converted to radians, above which the sine in radon's formula is negative."""


def words(text: str) -> list[str]:
    """Split `text` into possible keywords; digits are separators, because `1if x else 2` contains two keywords."""
    return text.translate(SPACES).split()


def decisions(text: str) -> int:
    """Return an upper bound of the number of decision points: each of them has its own keyword."""
    found = words(text)
    return sum(map(found.count, DECISIONS))


def surely_simple(text: str, limit: int) -> bool:
    """Return whether it follows from the keywords alone that no function is more complex than `limit`."""
    return decisions(text) < limit


def surely_maintainable(text: str, floor: float) -> bool:
    """Return whether the text shows that its maintainability index is at least `floor`, whatever its comments are."""
    return bound(text, -1.0) >= floor


def surely_fine(text: str, limit: int, floor: float) -> bool:
    """Return whether `text` is certain to meet both `limit` and `floor`.

    `text` is parsed only if this cannot be decided without its syntax tree.
    """
    simple, maintainable = surely_simple(text, limit), surely_maintainable(text, floor)
    if simple and maintainable:
        return True
    try:
        parts = list(statements(_tree(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (simple or _simple(parts, lines, limit)) and (
        maintainable or (few_remarks(parts, lines) and bound(text, 0.0) >= floor)
    )


def bound(text: str, sine: float) -> float:
    """Return a lower bound of the maintainability index of `text`, before the index is limited to 0..100.

    `sine`: a lower bound of the sine in radon's formula, which depends on the comments.
    """
    found = words(text)
    signs = sum(map(text.count, SIGNS)) - 2 * text.count("->") + text.count("==") + text.count("!=")
    length = 3 * (signs + sum(map(found.count, NAMED)))
    complexity = 2 + sum(map(found.count, DECISIONS + SCOPES))
    return formula(length * math.log2(length) if length else 0.0, complexity, logical_lines(text), sine)


def formula(volume: float, complexity: int, logical: int, sine: float) -> float:
    """Return the result of radon's formula, before it is limited to 0..100.

    `sine`: the sine in the formula, which depends on the comments.
    """
    if volume <= 0 or logical <= 0:
        return 100.0
    return (171 - 5.2 * math.log(volume) - 0.23 * complexity - 16.2 * math.log(logical) + 50 * sine) * 100 / 171


def logical_lines(text: str) -> int:
    """Return an upper bound of the number of logical lines."""
    lines = [line for line in text.splitlines() if line and not line.isspace()]
    return len(lines) + sum(":" in line for line in lines) + 2 * text.count(";")


def _tree(text: str) -> ast.AST:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree: ast.AST = compile(text, "<staged>", "exec", ONLY_TREE, dont_inherit=True)
    return tree


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements, handlers and cases."""
    pending = [tree]
    while pending:
        node = pending.pop()
        for name in BELOW:
            children = getattr(node, name, None)
            if isinstance(children, list):  # the body of a lambda is a single node
                pending += children
                yield from children


def _simple(parts: list[ast.stmt], lines: list[str], limit: int) -> bool:
    """Return whether every function has fewer than `limit` decisions.

    The decisions of a function are counted in its tree only if its lines contain `limit` or more keywords.
    """
    running = [0, *accumulate(map(decisions, lines))]
    functions = [part for part in parts if type(part).__name__ in ("FunctionDef", "AsyncFunctionDef")]
    wordy = [part for part in functions if running[part.end_lineno or 0] - running[part.lineno - 1] >= limit]
    return all(_weight(part) < limit for part in wordy)


def _weight(tree: ast.AST) -> int:
    """Count the decision points below `tree`, including nested functions."""
    total, pending = 0, [tree]
    while pending:
        node = pending.pop()
        name, fields = type(node).__name__, vars(node)
        total += name in COUNTED
        total += len(fields["values"]) - 1 if name == "BoolOp" else 0
        total += len(fields["ifs"]) if name == "comprehension" else 0
        total += bool(fields.get("orelse")) and name not in ("If", "IfExp")
        for value in fields.values():
            pending += [one for one in (value if isinstance(value, list) else (value,)) if hasattr(one, "_fields")]
    return total


def few_remarks(parts: list[ast.stmt], lines: list[str]) -> bool:
    """Return whether a file has so few comments that the sine term of radon's formula is certainly not negative."""
    strings = [part for part in parts if is_string(part)]
    remarks = sum("#" in line for line in lines)
    remarks += sum((part.end_lineno or 0) - part.lineno + 1 for part in strings)
    code = {getattr(part, "lineno", 0) for part in parts} - {0, *(part.lineno for part in strings)}
    return bool(code) and math.radians(100 * remarks / len(code)) <= ANGLE


def is_string(part: ast.stmt) -> bool:
    """Return whether `part` is a docstring or another string as a statement."""
    return type(getattr(part, "value", None)).__name__ in ("Constant", "JoinedStr") and type(part).__name__ == "Expr"
