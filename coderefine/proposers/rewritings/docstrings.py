"""Rewritings of docstrings."""

from __future__ import annotations

import ast
import re

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, sure

FIRST_WORD = re.compile(r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<word>[A-Z][a-z]+)\b""")
VERBS = frozenset(
    re.findall(
        r"\w+",
        """add allow apply attach build calculate call change check clear close collect compare compute
        construct convert copy create decode define delete determine disable display download emit
        enable encode ensure evaluate execute extract fetch fill find flush format generate get
        handle implement indicate initialize insert iterate join list load look make match merge
        modify move normalize open parse perform pop prepare print process produce provide push put
        raise read receive record register release remove rename render replace represent reset
        resolve return run save search select send set show sort specify split start stop store take
        tell test transform translate try update use validate verify wait walk wrap write yield""",
    )
)


def imperative(code: Code, at: Diagnostic) -> Edits:
    """D401: `Returns the …` → `Return the …`."""
    found = code.find(at, ast.Constant)
    first = FIRST_WORD.match(code.source(found))
    if first is None:
        raise Unsure
    word = first["word"]
    base = next((one for one in _bases(word.lower()) if one in VERBS), "")
    sure(base)
    start = code.start(found) + first.start("word")
    return (code.edit(start, start + len(word), base.capitalize()),)


def _bases(word: str) -> tuple[str, ...]:
    """Return what a verb in the third person may come from: `tries` → `try`, `tie`."""
    return (f"{word[:-3]}y" if word.endswith("ies") else "", word[:-1], word[:-2] if word.endswith("es") else "")


def separate_summary(code: Code, at: Diagnostic) -> Edits:
    """D205: a blank line after the summary, where it ends with its line."""
    found = code.find(at, ast.Constant)
    lines = range(found.lineno, found.end_lineno or found.lineno)
    opened = code.source(found).partition("\n")[0].strip("rRuU\"' \t")
    summary = lines[0] if opened else lines[1]
    sure(summary + 1 in lines, code.lines[summary].strip(), code.lines[summary - 1].rstrip().endswith((".", "?", "!")))
    after = code.begin(summary + 1)
    return (code.edit(after, after, "\n"),)
