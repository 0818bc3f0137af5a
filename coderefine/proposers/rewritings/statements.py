"""Rewritings about the layout of statements: one on each line, `try` and `with` blocks."""

from __future__ import annotations

import ast

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, expect, plain, sure


def split_header(code: Code, at: Diagnostic) -> Edits:
    """E701: `if a: b` → two lines."""
    colon = code.begin(at.first) + at.column - 1
    sure(code.text[colon : colon + 1] == ":")
    body = _statement_after(code, colon + 1)
    parent = code.parents[body]
    if not isinstance(parent, ast.stmt | ast.excepthandler):
        raise Unsure
    margin = code.indent(parent)
    return (code.edit(colon + 1, code.start(body), f"\n{margin}{code.step}"),)


def split_statements(code: Code, at: Diagnostic) -> Edits:
    """E702: `a; b` → two lines; where they follow a header, that is split first (E701)."""
    place = code.begin(at.first) + at.column - 1
    sure(code.text[place : place + 1] == ";")
    second = _statement_after(code, place + 1)
    margin = code.indent(code.siblings(second)[0])
    start = len(code.text[:place].rstrip(" \t"))
    return (code.edit(start, code.start(second), f"\n{margin}"),)


def _statement_after(code: Code, place: int) -> ast.stmt:
    """Return the statement that starts at `place` or after white space on its line."""
    line = code.line_of(place)
    rest = code.text[place : code.begin(line + 1)]
    start = place + len(rest) - len(rest.lstrip(" \t"))
    return code.at(line, start - code.begin(line) + 1, ast.stmt)


def move_return_to_else(code: Code, at: Diagnostic) -> Edits:
    """TRY300: a `return` of a plain value at the end of `try` → in `else`."""
    found = code.find(at, ast.Return)
    parent = code.parent(found, ast.Try)
    sure(parent.body[-1] is found, len(parent.body) > 1, not parent.orelse, parent.handlers, code.alone(found))
    sure(found.value is None or plain(found.value))  # the exceptions of others are caught here
    first, after = found.lineno, (found.end_lineno or 0) + 1
    last, margin = parent.handlers[-1].end_lineno or 0, code.indent(parent)
    sure(last + 1 not in code.comments, first - 1 not in code.comments, code.lines[last - 1].endswith("\n"))
    lines = code.text[code.begin(first) : code.begin(after)]
    return (
        code.edit(code.begin(first), code.begin(after), ""),
        code.edit(code.begin(last + 1), code.begin(last + 1), f"{margin}else:\n{lines}"),
    )


def remove_useless_try(code: Code, at: Diagnostic) -> Edits:
    """TRY203: `try` whose only handler raises again → its body."""
    parent = code.parent(code.find(at, ast.ExceptHandler), ast.Try)
    sure(not parent.orelse, not parent.finalbody, len(parent.handlers) == 1)
    start, last = code.start(parent), parent.body[-1].end_lineno or 0
    first, end = code.body_line(start, start + len("try")), code.begin((parent.end_lineno or 0) + 1)
    sure(not code.commented(code.begin(last + 1), end))
    body = code.shifted(first, last, code.indent(parent.body[0]), code.indent(parent))
    return (code.edit(code.begin(parent.lineno), end, body),)


def merge_with(code: Code, at: Diagnostic) -> Edits:
    """SIM117: `with a:` with only `with b:` in it → `with a, b:`."""
    outer = code.find(at, ast.With)
    inner = expect(outer.body[0], ast.With)
    item = inner.items[-1]
    first = code.body_line(code.start(outer), code.end(item.optional_vars or item.context_expr))
    text = ", ".join(_item(code, item) for one in (outer, inner) for item in one.items)
    sure(len(outer.body) == 1, "\n" not in text)
    margin, last = code.indent(outer), outer.end_lineno or 0
    body = code.shifted(first, inner.end_lineno or 0, code.indent(inner), margin)
    return code.replace_lines(outer.lineno, last, f"{margin}with {text}:\n{body}")


def _item(code: Code, item: ast.withitem) -> str:
    target = f" as {code.source(item.optional_vars)}" if item.optional_vars else ""
    return f"{code.source(item.context_expr)}{target}"
