"""Rewritings about conditions."""

from __future__ import annotations

import ast

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import WIDTH, Code, Edits, expect, operand, sure


def merge_nested_if(code: Code, at: Diagnostic) -> Edits:
    """SIM102: `if a:` with only `if b:` in it → `if a and b:`, with the comments between the two in its body."""
    outer = code.find(at, ast.If)
    inner = expect(outer.body[0], ast.If)
    sure(len(outer.body) == 1, not outer.orelse, not inner.orelse)
    margin, deeper, last = code.indent(outer), code.indent(inner), inner.end_lineno or inner.lineno
    between = code.body_line(code.start(outer), code.end(outer.test))
    first = code.body_line(code.start(inner), code.end(inner.test))
    remarks = filter(None, map(str.strip, code.lines[between - 1 : inner.lineno - 1]))
    body = "".join(f"{deeper}{remark}\n" for remark in remarks) + code.shifted(first, last, deeper, margin)
    one, other = (operand(code, node.test, inside=ast.And) for node in (outer, inner))
    word = "elif" if code.text.startswith("elif", code.start(outer)) else "if"
    header = f"{margin}{word} {one} and {other}:\n"
    if "\n" in one + other:
        header = f"{margin}{word} ({one} and {other}):\n"
    elif len(header) > max(code.width, WIDTH) + 1:
        header = f"{margin}{word} (\n{deeper}{one}\n{deeper}and {other}\n{margin}):\n"
    return code.replace_lines(outer.lineno, last, header + body)


def compare_types(code: Code, at: Diagnostic) -> Edits:
    """E721: `type(a) == type(b)` → `type(a) is type(b)`."""
    found = code.find(at, ast.Compare)
    sure(len(found.ops) == 1, isinstance(found.ops[0], ast.Eq | ast.NotEq))
    sign, word = ("==", "is") if isinstance(found.ops[0], ast.Eq) else ("!=", "is not")
    start, end = code.end(found.left), code.start(found.comparators[0])
    place = code.text.find(sign, start, end)
    sure(place >= 0, not code.commented(start, end))
    return (code.edit(place, place + len(sign), word),)
