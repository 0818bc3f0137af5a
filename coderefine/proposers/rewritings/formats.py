"""Rewritings of texts that `%` formats."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import WIDTH, Code, Edits, Unsure, expect, sure, uses
from coderefine.proposers.rewritings.unsafe_fixes import SIMPLE, annotation
from coderefine.runner.percent_format import EXACT, PLACE, Formatting
from coderefine.source import Function, all_arguments

STRING = re.compile(
    r"""(?:[uU]|(?P<raw>[rR]))?(?P<quote>'{3}|"{3}|['"])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)""", re.DOTALL
)
FILLED = re.compile(rf"{PLACE.pattern}|[{{}}]")
HARD = re.compile(r"[\n\\#]")
"""What must not be between the braces of an f-string before Python 3.12, besides the quotes around it."""

TEXTUAL = frozenset(dir(str)).difference(dir(tuple))
"""Methods of texts that tuples do not have."""


def use_f_string(code: Code, at: Diagnostic) -> Edits:
    """UP031: `"a %s" % (b,)` → `f"a {b!s}"`, which is equal for values of all types; without `!s` if `b` is a text.

    A single value must not be a tuple: this follows from what it is, from its annotation, or from an earlier call.
    """
    found = code.find(at, ast.BinOp)
    while isinstance(found.left, ast.BinOp):
        found = found.left
    formatting = Formatting.of(code.scope(found), code.bound)
    if annotation(code, found.right) in SIMPLE or _is_text(code, found.right):
        formatting = replace(formatting, known={**formatting.known, code.code(found.right): "other"})
    fields, start = formatting.fields(found), code.start(found)
    sure(fields, isinstance(found.op, ast.Mod), not code.text[:start][-1:].isalnum())
    left = code.text[start : code.text.index("%", code.end(found.left))].rstrip(" \t\n\\")
    plain = [kind == "s" and formatting.type_of(value) in EXACT for kind, value in fields]
    shown = ((code.code(value), "" if bare else f"!{kind}") for (kind, value), bare in zip(fields, plain, strict=True))
    made = STRING.sub(partial(_string, shown=shown), left)
    _check(made, expect(ast.literal_eval(found.left), str), [value for _, value in fields])
    sure(max(map(len, made.splitlines())) <= (code.width or WIDTH))
    return code.replace(found, made)


def _is_text(code: Code, value: ast.expr) -> bool:
    """Return whether `value` is a parameter of which a method of texts was surely called before: `name.strip()`."""
    function = code.scope(value)
    if not isinstance(value, ast.Name) or not isinstance(function, Function):
        return False
    given = value.id in {one.arg for one in all_arguments(function.args)}
    kept = all(isinstance(one.ctx, ast.Load) for one in uses(function, value.id))
    called = (_owner(node) for before in _earlier(code, value, function) for node in _evaluated(before))
    return given and kept and value.id in called


def _earlier(code: Code, node: ast.AST, function: Function) -> Iterator[ast.stmt]:
    """Yield the statements of `function` before `node` in the blocks around it."""
    for one in takewhile(lambda one: one is not function, code.ancestors(node)):
        if isinstance(one, ast.stmt):
            block = code.siblings(one)
            yield from block[: block.index(one)]


def _owner(node: ast.AST) -> str:
    """Return the name of the variable of which a method of texts is called; "" if it is not such a call."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in TEXTUAL:
            return name
    return ""


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions in `node` that are surely evaluated if it runs; of a compound statement, in its header."""
    below: Iterable[ast.AST] = ()
    match node:
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first) | ast.If(test=first) | ast.For(iter=first):
            below = [first]
        case ast.Compare(left=left, comparators=[right, *_]):
            below = [left, right]
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            pass
        case ast.expr() | ast.keyword() | ast.Expr() | ast.Assign():
            below = ast.iter_child_nodes(node)
    for one in below:
        yield one
        yield from _evaluated(one)


def _string(string: re.Match[str], shown: Iterator[tuple[str, str]]) -> str:
    """Return a string literal as an f-string, with the next values that are `shown`: pairs (code, conversion)."""
    text, quote = string["text"], string["quote"]
    fields = [_field(place, *next(shown, ("", ""))) for place in PLACE.finditer(text) if place.group() != "%%"]
    if not fields:
        return string.group().replace("%%", "%")
    inner, other = "".join(fields), "'" if quote == '"' else '"'
    sure(string["raw"] or "\\N" not in text, not HARD.search(inner))
    if quote[0] in inner:
        sure(len(quote) == 1, other not in text + inner)
        quote = other
    rest = iter(fields)
    signs = {"{": "{{", "}": "}}", "%%": "%"}
    body = FILLED.sub(lambda place: signs.get(place.group()) or next(rest), text)
    return f"f{string['raw'] or ''}{quote}{body}{quote}"


def _field(place: re.Match[str], value: str, conversion: str) -> str:
    """Return the part of an f-string for a placeholder."""
    if not place["width"] and not place["cut"]:
        return f"{{{value}{conversion}}}"
    right = ">" if place["width"] and not place["left"] else ""
    return f"{{{value}{conversion or '!s'}:{right}{place['width']}{place['cut']}}}"


def _check(made: str, template: str, values: list[ast.expr]) -> None:
    """Raise Unsure unless the f-string `made` has the text of `template`, and `values` in place of its placeholders."""
    try:
        parts = expect(ast.parse(f"({made}\n)", mode="eval").body, ast.JoinedStr).values
    except SyntaxError:
        raise Unsure from None
    texts = (str(one.value).replace("%", "%%") if isinstance(one, ast.Constant) else "%s" for one in parts)
    places = PLACE.sub(lambda place: place.group() if place.group() == "%%" else "%s", template)
    shown = [ast.dump(one.value) for one in parts if isinstance(one, ast.FormattedValue)]
    sure("".join(texts) == places, shown == list(map(ast.dump, values)))
