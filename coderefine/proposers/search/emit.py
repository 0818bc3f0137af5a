"""Build edits with minimal spans, and with parentheses only where precedence requires them; apply edits to text."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from functools import lru_cache

from coderefine.proposers.search.syntax import Edit, Function, Module, Replacement
from coderefine.source import first_line

ATOM = 20
RANKS: dict[type[ast.AST], int] = {
    ast.NamedExpr: 0,
    ast.Lambda: 1,
    ast.IfExp: 2,
    ast.Or: 3,
    ast.And: 4,
    ast.Not: 5,
    ast.Compare: 6,
    ast.BitOr: 7,
    ast.BitXor: 8,
    ast.BitAnd: 9,
    ast.LShift: 10,
    ast.RShift: 10,
    ast.Add: 11,
    ast.Sub: 11,
    ast.Mult: 12,
    ast.Div: 12,
    ast.FloorDiv: 12,
    ast.Mod: 12,
    ast.MatMult: 12,
    ast.UnaryOp: 13,
    ast.Pow: 14,
    ast.Await: 15,
    ast.Yield: 0,
    ast.YieldFrom: 0,
    ast.Starred: 0,
}
"""Precedence of each kind of expression or operator: the higher, the more strongly it binds."""


def rank(node: ast.AST) -> int:
    """Return the precedence of `node`: ATOM for names, calls, literals and displays, but -1 for tuples."""
    if isinstance(node, ast.BoolOp | ast.BinOp):
        return RANKS[type(node.op)]
    if isinstance(node, ast.UnaryOp):
        return RANKS[ast.Not] if isinstance(node.op, ast.Not) else RANKS[ast.UnaryOp]
    if isinstance(node, ast.Tuple):
        return -1
    return RANKS.get(type(node), ATOM)


def fitted(module: Module, old: ast.AST, text: str) -> str:
    """Return `text`, in parentheses if its precedence is too low for the position of `old`."""
    return f"({text})" if _rank_of(text) < _required_rank(module, old) and not _bracketed(text) else text


@lru_cache(maxsize=20_000)
def _rank_of(text: str) -> int:
    """Return the precedence of the expression `text`; ATOM if it is no expression."""
    try:
        return rank(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        return ATOM


def _bracketed(text: str) -> bool:
    """Return whether `text` is one parenthesised expression."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    try:
        ast.parse(text[1:-1].strip() or "0", mode="eval")
    except SyntaxError:
        return False
    return True


def _required_rank(module: Module, old: ast.AST) -> int:
    """Return the lowest precedence that an expression in place of `old` may have without parentheses."""
    parent, field = module.parents.get(old), module.fields.get(old, "")
    if isinstance(parent, ast.Attribute | ast.Await) or (
        isinstance(parent, ast.Call | ast.Subscript) and field in ("func", "value")
    ):
        return RANKS[ast.Await]
    if isinstance(parent, ast.BinOp):
        tight = field == "right" if not isinstance(parent.op, ast.Pow) else field == "left"
        return rank(parent) + tight
    if isinstance(parent, ast.BoolOp | ast.Compare):
        return rank(parent) + 1
    if isinstance(parent, ast.UnaryOp):
        return rank(parent)
    return _required_rank_of_field(parent, field)


def _required_rank_of_field(parent: ast.AST | None, field: str) -> int:
    if isinstance(parent, ast.IfExp):
        return RANKS[ast.IfExp] + (field != "orelse")
    if isinstance(parent, ast.comprehension | ast.FormattedValue):
        return RANKS[ast.Or]
    if isinstance(
        parent,
        ast.Call
        | ast.List
        | ast.Set
        | ast.Dict
        | ast.keyword
        | ast.Tuple
        | ast.Starred
        | ast.Lambda
        | ast.ListComp
        | ast.SetComp
        | ast.GeneratorExp
        | ast.DictComp
        | ast.Slice,
    ):
        return RANKS[ast.Lambda]
    return -1


def apply(text: str, edit: Edit) -> str:
    """Return `text` with the replacements of `edit`."""
    for part in sorted(edit.parts, key=lambda part: part.start, reverse=True):
        text = text[: part.start] + part.text + text[part.end :]
    return text


def expression(module: Module, node: ast.AST, text: str, weight: float = 1.0, boost: float = 0.0) -> Edit:
    """Return an edit that replaces an expression by `text`, in parentheses if necessary."""
    return Edit((Replacement(module.start(node), module.end(node), fitted(module, node, text)),), weight, boost)


def exchanged(module: Module, one: ast.AST, two: ast.AST, weight: float) -> Edit:
    """Return an edit that swaps two expressions."""
    parts = (*expression(module, one, module.code(two)).parts, *expression(module, two, module.code(one)).parts)
    return Edit(parts, weight)


def exchanges(module: Module, pairs: Iterable[tuple[ast.expr, ast.expr]]) -> Iterator[Edit]:
    """Yield for each pair an edit that swaps its expressions, unless one is starred or both are the same."""
    for one, two in pairs:
        starred = isinstance(one, ast.Starred) or isinstance(two, ast.Starred)
        if not starred and module.code(one) != module.code(two):
            yield exchanged(module, one, two, 1.0)


def between(  # noqa: PLR0917 (read as: between left and right, old becomes new)
    module: Module, left: ast.AST, right: ast.AST, old: str, new: str, weight: float, *, boost: float = 0.0
) -> Iterator[Edit]:
    """Yield an edit that replaces the operator `old` between two sibling expressions; none if `old` is not there."""
    start, end = module.end(left), module.start(right)
    gap = module.text[start:end]
    at = _find(gap, old)
    if at >= 0:
        yield Edit((Replacement(start + at, start + at + len(_spelled(gap[at:], old)), new),), weight, boost)


def _find(gap: str, old: str) -> int:
    """Return the offset of the operator `old` in `gap`, the text between two operands; -1 if it is not there.

    Comments are skipped.
    """
    at = 0
    while at < len(gap):
        if gap[at] == "#":
            at = gap.find("\n", at)
            if at < 0:
                return -1
        elif _spelled(gap[at:], old):
            return at
        at += 1
    return -1


def _spelled(text: str, old: str) -> str:
    """Return the text of the operator `old` at the start of `text`; "" if `text` does not begin with this operator.

    There may be any white space between the words of `not in` and `is not`.
    """
    words = old.split()
    if len(words) == 1:
        return old if text.startswith(old) else ""
    if not text.startswith(words[0]):
        return ""
    rest = text[len(words[0]) :]
    gap = len(rest) - len(rest.lstrip())
    return text[: len(words[0]) + gap + len(words[1])] if gap and rest.lstrip().startswith(words[1]) else ""


def lines_of(module: Module, stmt: ast.stmt) -> tuple[int, int]:
    """Return the offsets (start, end) of the lines that a statement occupies."""
    return module.line_start(first_line(stmt)), module.line_end(stmt.end_lineno or stmt.lineno)


def block_text(module: Module, stmt: ast.stmt) -> str:
    """Return the lines that a statement occupies; the last one has a line end even at the end of the file."""
    start, end = lines_of(module, stmt)
    text = module.text[start:end]
    return text if text.endswith("\n") else text + "\n"


def insertion(
    module: Module, stmt: ast.stmt, code: str, *, after: bool = False, weight: float = 1.0, boost: float = 0.0
) -> Iterator[Edit]:
    """Yield an edit that inserts the lines `code` before or after a statement, with the statement's indentation.

    Yield nothing if the statement shares a line with another one.
    """
    if module.alone(stmt):
        start, end = lines_of(module, stmt)
        text = textwrap.indent(code.rstrip("\n"), module.indent(stmt)) + "\n"
        if after and not module.text[start:end].endswith(("\n", "\r")):
            text = "\n" + text.rstrip("\n")
        at = end if after else start
        yield Edit((Replacement(at, at, text),), weight, boost)


def removal(module: Module, stmt: ast.stmt, weight: float = 1.0) -> Iterator[Edit]:
    """Yield an edit that removes a statement; the only statement of a block is replaced by `pass`.

    Yield nothing if the statement shares a line with another one.
    """
    if module.alone(stmt):
        only = len(module.block(stmt)) == 1
        start, end = (module.start(stmt), module.end(stmt)) if only else lines_of(module, stmt)
        yield Edit((Replacement(start, end, "pass" if only else ""),), weight)


def statement(module: Module, stmt: ast.stmt, code: str, weight: float = 1.0) -> Edit:
    """Return an edit that replaces a statement by the lines `code` with the same indentation."""
    lead = module.indent(stmt)
    text = ("\n" + lead).join(code.rstrip("\n").split("\n"))
    return Edit((Replacement(module.start(stmt), module.end(stmt), text),), weight)


def reindented(module: Module, stmt: ast.stmt, indent: str) -> str:
    """Return the lines of a statement with another indentation, which is changed inside multi-line strings too."""
    old = module.indent(stmt)
    rows = block_text(module, stmt).splitlines(keepends=True)
    return "".join(indent + row[len(old) :] if row.startswith(old) and row.strip() else row for row in rows)


def enclosing(module: Module, stmt: ast.stmt) -> ast.stmt:
    """Return the statement to recompile after an edit of `stmt`: its outermost function or top-level statement."""
    chain = [stmt, *(up for up in module.ancestors(stmt) if isinstance(up, ast.stmt))]
    functions = [node for node in chain if isinstance(node, Function)]
    return functions[-1] if functions else chain[-1]
