"""Rewritings of statements (several on one line, `try`, `with`, `if`, `raise`), type comparisons, log calls, comments.

The arguments of log calls are passed separately, so that they are formatted only if the message is written.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence

from coderefine.lint import Diagnostic
from coderefine.proposers.refactorings.declared import BUILTINS
from coderefine.proposers.refactorings.flow import Flow
from coderefine.proposers.refactorings.flow import uses as bound
from coderefine.proposers.rewritings.code import (
    WIDTH,
    Code,
    Edits,
    Unsure,
    expect,
    fresh,
    names,
    operand,
    plain,
    sure,
    uses,
)
from coderefine.source import Definition

USUAL = ("error", "err", "exc")
"""Names for a caught exception."""
EAGER = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Starred)
PLACES = {-1: "%s", 115: "%s", 114: "%r", 97: "%a"}
"""Placeholders by the conversion of an f-string, as a number: -1 (none), 115 (`!s`), 114 (`!r`), 97 (`!a`)."""
TODO = re.compile(r"(#\s*(?:TODO|FIXME|XXX|HACK)(?:\s*\([^)]*\)|\s*@\S+)?)(\s+(?=\S)|$)", re.IGNORECASE)
COLON = re.compile(r"(#\s*(?:TODO|FIXME|XXX|HACK)(?:\s*\([^)]*\)|\s*@\S+)?:)(?=\S)", re.IGNORECASE)


def split_header(code: Code, at: Diagnostic) -> Edits:
    """E701: `if a: b` → two lines."""
    colon = code.line_start(at.first) + at.column - 1
    sure(code.text[colon : colon + 1] == ":")
    body = _statement_after(code, colon + 1)
    parent = code.parents[body]
    if not isinstance(parent, ast.stmt | ast.excepthandler):
        raise Unsure
    margin = code.indent(parent)
    return (code.edit(colon + 1, code.start(body), f"\n{margin}{code.step}"),)


def split_statements(code: Code, at: Diagnostic) -> Edits:
    """E702: `a; b` → two lines; not after a header on the same line, which must be split first (E701)."""
    place = code.line_start(at.first) + at.column - 1
    sure(code.text[place : place + 1] == ";")
    second = _statement_after(code, place + 1)
    margin = code.indent(code.siblings(second)[0])
    start = len(code.text[:place].rstrip(" \t"))
    return (code.edit(start, code.start(second), f"\n{margin}"),)


def _statement_after(code: Code, place: int) -> ast.stmt:
    """Return the statement that starts at `place` or after white space on its line. Raises Unsure if there is none."""
    line = code.line_of(place)
    rest = code.text[place : code.line_start(line + 1)]
    start = place + len(rest) - len(rest.lstrip(" \t"))
    return code.at(line, start - code.line_start(line) + 1, ast.stmt)


def move_return_to_else(code: Code, at: Diagnostic) -> Edits:
    """TRY300: a `return` of a plain value at the end of `try` → in `else`."""
    found = code.find(at, ast.Return)
    parent = code.parent(found, ast.Try)
    sure(parent.body[-1] is found, len(parent.body) > 1, not parent.orelse, parent.handlers, code.alone(found))
    # Other values, and names that may be unbound, may raise exceptions, which are caught here.
    sure(found.value is None or plain(found.value))
    flow = Flow(code.function(found))
    sure(flow.known, names(found) <= flow.bound.get(found, frozenset()) | (_of_module(code) - flow.locals))
    first, after = found.lineno, (found.end_lineno or 0) + 1
    last, margin = parent.handlers[-1].end_lineno or 0, code.indent(parent)
    sure(not code.commented(code.line_start(after), code.start(parent.handlers[0])))
    sure(last + 1 not in code.comments, first - 1 not in code.comments, code.lines[last - 1].endswith("\n"))
    lines = code.text[code.line_start(first) : code.line_start(after)]
    return (
        code.edit(code.line_start(first), code.line_start(after), ""),
        code.edit(code.line_start(last + 1), code.line_start(last + 1), f"{margin}else:\n{lines}"),
    )


def _of_module(code: Code) -> frozenset[str]:
    """Return the built-in names, and those that a simple statement of the module surely binds."""
    simple = (one for one in code.tree.body if isinstance(one, ast.Import | ast.ImportFrom | ast.Assign | Definition))
    return BUILTINS.union(bound(simple).binds)


def remove_useless_try(code: Code, at: Diagnostic) -> Edits:
    """TRY203: `try` whose only handler raises again → its body."""
    parent = code.parent(code.find(at, ast.ExceptHandler), ast.Try)
    sure(not parent.orelse, not parent.finalbody, len(parent.handlers) == 1)
    start, last = code.start(parent), parent.body[-1].end_lineno or 0
    first, end = code.body_line(start, start + len("try")), code.line_start((parent.end_lineno or 0) + 1)
    sure(not code.commented(code.line_start(last + 1), end))
    body = code.shifted(first, last, code.indent(parent.body[0]), code.indent(parent))
    return (code.edit(code.line_start(parent.lineno), end, body),)


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
    target = f" as {code.code(item.optional_vars)}" if item.optional_vars else ""
    return f"{code.code(item.context_expr)}{target}"


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
    elif len(header) > (code.width or WIDTH) + 1:
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


def chain(code: Code, at: Diagnostic) -> Edits:
    """B904: `raise A()` in `except B:` → `except B as error:` … `raise A() from error`."""
    found = code.find(at, ast.Raise)
    handler = code.around(found, ast.ExceptHandler)
    sure(found.exc, code.scope(found) is code.scope(handler))
    end = code.end(found)
    if handler.name is None:
        named, name = _named(code, handler)
        return (*named, code.edit(end, end, f" from {name}"))
    sure(all(isinstance(one.ctx, ast.Load) for one in uses(handler, handler.name)))  # else it may be another value
    return (code.edit(end, end, f" from {handler.name}"),)


def _named(code: Code, handler: ast.ExceptHandler) -> tuple[Edits, str]:
    """Return edits that name the exception of `handler`, and that name.

    The name is the one that handlers of the file use most (`error` if they use none), or another one if it is taken.
    """
    end, kind = _caught(code, handler)
    colon = code.text.find(":", end)
    sure(not code.text[end:colon].strip(" )"))
    usual = Counter(one.name for one in code.nodes if isinstance(one, ast.ExceptHandler) and one.name)
    taken, first = names(code.scope(handler)), next((name for name, _ in usual.most_common(1)), "error")
    name = next((one for one in (first, *USUAL) if one not in taken), "") or fresh(first, taken)
    return (code.edit(colon, colon, f"{kind} as {name}"),), name


def _caught(code: Code, handler: ast.ExceptHandler) -> tuple[int, str]:
    """Return the offset after the types that `handler` catches, and the type to add there if it has none.

    Raises Unsure if `BaseException` is bound to something else in the file.
    """
    if handler.type is not None:
        return code.end(handler.type), ""
    sure(all(isinstance(one.ctx, ast.Load) for one in uses(code.tree, "BaseException")))
    return code.start(handler) + len("except"), " BaseException"


def catch_all(code: Code, at: Diagnostic) -> Edits:
    """E722: `except:` → `except BaseException:`, which catches the same."""
    handler = code.find(at, ast.ExceptHandler)
    sure(handler.type is None)
    end, kind = _caught(code, handler)
    return (code.edit(end, end, kind),)


def split_f_string(code: Code, at: Diagnostic) -> Edits:
    """G004: `log.info(f"a {b}")` → `log.info("a %s", b)`."""
    found = code.find(at, ast.JoinedStr)
    parts = [_part(one) for one in found.values]
    sure("=}" not in code.code(found))
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
    """Replace `found`, the last positional argument of a logging call, by a format string and its values.

    `"a {}".format(b)` becomes `"a %s", b`.
    """
    call = code.parent(found, ast.Call)
    sure(isinstance(text, str), str(text).isprintable(), not set(str(text)) & {'"', "\\"})
    sure(call.args[-1:] == [found], arguments)
    # logging takes a single dict as named values
    sure(len(arguments) > 1 or not isinstance(arguments[0], ast.Dict))
    sure(not any(isinstance(one, EAGER) for argument in arguments for one in ast.walk(argument)))
    return code.replace(found, ", ".join((f'"{text}"', *map(ast.unparse, arguments))))


def add_colon(code: Code, at: Diagnostic) -> Edits:
    """TD004: `# TODO fix` → `# TODO: fix`, also without a text."""
    return _inserted(code, at, TODO, ":")


def add_space(code: Code, at: Diagnostic) -> Edits:
    """TD007: `# TODO:fix` → `# TODO: fix`."""
    return _inserted(code, at, COLON, " ")


def _inserted(code: Code, at: Diagnostic, pattern: re.Pattern[str], text: str) -> Edits:
    place, comment = code.comments.get(at.first, (0, ""))
    found = expect(pattern.match(comment), re.Match)
    return (code.edit(place + found.end(1), place + found.end(1), text),)
