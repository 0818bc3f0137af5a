"""Rewritings of log calls: arguments are passed separately, and formatted only if the message is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, expect, sure

EAGER = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Starred)
PLACES = {-1: "%s", 115: "%s", 114: "%r", 97: "%a"}
"""Placeholders by the conversion of an f-string, as a number: -1 (none), 115 (`!s`), 114 (`!r`), 97 (`!a`)."""


def split_f_string(code: Code, at: Diagnostic) -> Edits:
    """G004: `log.info(f"a {b}")` → `log.info("a %s", b)`."""
    found = code.find(at, ast.JoinedStr)
    parts = [_part(one) for one in found.values]
    sure("=}" not in code.source(found))
    return _passed(code, found, "".join(text for text, _ in parts), [one for _, some in parts for one in some])


def _part(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the text and the arguments of a part of an f-string."""
    if isinstance(node, ast.FormattedValue):
        sure(node.format_spec is None)
        return PLACES[node.conversion], [node.value]
    return str(expect(node, ast.Constant).value).replace("%", "%%"), []


def split_format(code: Code, at: Diagnostic) -> Edits:
    """G001: `log.info("a {}".format(b))` → `log.info("a %s", b)`."""
    found = code.find(at, ast.Call)
    function = expect(found.func, ast.Attribute)
    text = str(expect(function.value, ast.Constant).value)
    sure(function.attr == "format", not found.keywords, text.count("{}") == len(found.args))
    sure(not re.search(r"[{}]", text.replace("{}", "")))
    return _passed(code, found, text.replace("%", "%%").replace("{}", "%s"), found.args)


def split_percent(code: Code, at: Diagnostic) -> Edits:
    """G002: `log.info("a %s" % (b,))` → `log.info("a %s", b)`."""
    found = code.find(at, ast.BinOp)
    return _passed(code, found, expect(found.left, ast.Constant).value, expect(found.right, ast.Tuple).elts)


def _passed(code: Code, found: ast.expr, text: object, arguments: Sequence[ast.expr]) -> Edits:
    """Replace `found`, the last positional argument of a call, by the text and its arguments."""
    call = code.parent(found, ast.Call)
    sure(isinstance(text, str), str(text).isprintable(), not set(str(text)) & {'"', "\\"})
    sure(call.args[-1:] == [found], arguments)
    # logging takes a single dict as named values
    sure(len(arguments) > 1 or not isinstance(arguments[0], ast.Dict))
    sure(not any(isinstance(one, EAGER) for argument in arguments for one in ast.walk(argument)))
    return code.replace(found, ", ".join((f'"{text}"', *map(ast.unparse, arguments))))
