"""Rewritings of texts that `%` formats."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import WIDTH, Code, Edits, Unsure, expect, sure
from coderefine.proposers.rewritings.unsafe_fixes import SIMPLE, annotation
from coderefine.runner.percent_format import EXACT, PLACE, Formatting

STRING = re.compile(
    r"""(?:[uU]|(?P<raw>[rR]))?(?P<quote>'{3}|"{3}|['"])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)""", re.DOTALL
)
FILLED = re.compile(rf"{PLACE.pattern}|[{{}}]")
HARD = re.compile(r"[\n\\#]")
"""What must not be between the braces of an f-string before Python 3.12, besides the quotes around it."""


def use_f_string(code: Code, at: Diagnostic) -> Edits:
    """UP031: `"a %s" % (b,)` → `f"a {b!s}"`, which is equal for values of all types; without `!s` if `b` is a text.

    A single value must not be a tuple: this follows from what it is, or from its annotation.
    """
    found = code.find(at, ast.BinOp)
    while isinstance(found.left, ast.BinOp):
        found = found.left
    formatting = Formatting.of(code.scope(found), code.bound)
    if annotation(code, found.right) in SIMPLE:
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
