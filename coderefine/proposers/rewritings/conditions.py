"""Rewritings about conditions."""

from __future__ import annotations

import ast

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, expect, operand, sure


def merge_nested_if(code: Code, at: Diagnostic) -> Edits:
    """SIM102: `if a:` with only `if b:` in it → `if a and b:`."""
    outer = code.find(at, ast.If)
    inner = expect(outer.body[0], ast.If)
    sure(len(outer.body) == 1, not outer.orelse, not inner.orelse)
    margin, last = code.indent(outer), inner.end_lineno or inner.lineno
    first = code.body_line(code.start(outer), code.end(inner.test))
    body = code.shifted(first, last, code.indent(inner), margin)
    both = " and ".join(operand(code, one.test, inside=ast.And) for one in (outer, inner))
    word = "elif" if code.text.startswith("elif", code.start(outer)) else "if"
    both = f"({both})" if "\n" in both else both
    return code.replace_lines(outer.lineno, last, f"{margin}{word} {both}:\n{body}")


def compare_types(code: Code, at: Diagnostic) -> Edits:
    """E721: `type(a) == type(b)` → `type(a) is type(b)`."""
    found = code.find(at, ast.Compare)
    sure(len(found.ops) == 1, isinstance(found.ops[0], ast.Eq | ast.NotEq))
    sign, word = ("==", "is") if isinstance(found.ops[0], ast.Eq) else ("!=", "is not")
    start, end = code.end(found.left), code.start(found.comparators[0])
    place = code.text.find(sign, start, end)
    sure(place >= 0, not code.commented(start, end))
    return (code.edit(place, place + len(sign), word),)
