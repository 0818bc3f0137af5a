"""Rewritings of docstrings."""

from __future__ import annotations

import ast
import re

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, sure

FIRST_WORD = re.compile(r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<word>[A-Z][a-z]+)\b""")
KIND = re.compile(
    r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<kind>(An? )?(decorator|(helper )?function|helper|method|routine|utility) to )"""
    r"(?P<word>[a-z]+) ",
    re.IGNORECASE,
)
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
OTHERS = frozenset(
    re.findall(
        r"\w+",
        """abort accept acquire activate adapt adjust advance aggregate align analyze append ask assemble assert
        assign assume authenticate authorize bind block bound break broadcast bump bypass cache cancel capture
        cast catch choose chunk clean clone combine commit compile complete compress concatenate configure
        confirm connect consume contain continue control count cut deactivate debug decide declare decorate
        decrease decrypt dedent defer delay delegate deliver dequeue derive describe deserialize destroy detach
        detect dispatch divide drain draw drop dump duplicate emulate encapsulate encrypt end enforce enter
        enumerate escape establish estimate examine exit expand expect export expose extend fail fall feed
        filter finalize finish fire fit fix fold follow force forward freeze gather give go group guarantee
        guard guess halt help hide hold identify ignore import include increase increment indent index infer
        inform inherit initialise inject inspect install instantiate interact intercept interpolate interpret
        interrupt introduce invalidate invert invoke issue keep kill launch leave let limit link lock log lower
        manage map mark mask measure mimic mock monitor multiply mutate name negate notify observe obtain offer
        operate optimize order output override overwrite own pack pad partition pass patch pause peek pick pipe
        place point populate post preserve prevent probe proceed prompt propagate protect prune publish pull
        query queue quote rebuild reconnect recreate redirect reduce refresh refuse reject reload remind reorder
        repeat reply report request require reraise reserve resize respond restart restore restrict resume
        retrieve retry reuse reverse revert rewrite rotate round sanitize scale scan schedule scroll seek
        separate serialize serve share shift shorten shuffle shut signal simplify simulate skip sleep slice
        spawn stack step strip subscribe substitute subtract suggest sum support suppress swap switch sync
        synchronize tag throw toggle tokenize trace track transfer traverse treat trigger trim truncate turn
        unpack unregister unwrap upgrade upload view visit warn watch weight zip""",
    )
)
"""Verbs that are taken for such only before a word of BEFORE_NOUNS: their third person may be the plural of a noun."""
BEFORE_NOUNS = re.compile(r"\s+(the|an?|all|any|each|every|its|this|that|these|whether|if|given|one|new)\b")


def imperative(code: Code, at: Diagnostic) -> Edits:
    """D401: `Returns the …` → `Return the …`; `Decorator to wrap …` → `Wrap …`."""
    found = code.find(at, ast.Constant)
    if (named := KIND.match(code.source(found))) and named["word"] in VERBS | OTHERS:
        start = code.start(found)
        return (code.edit(start + named.start("kind"), start + named.end("word"), named["word"].capitalize()),)
    first = FIRST_WORD.match(code.source(found))
    if first is None:
        raise Unsure
    word = first["word"]
    known = VERBS | OTHERS if BEFORE_NOUNS.match(code.source(found), first.end()) else VERBS
    base = next((one for one in _bases(word.lower()) if one in known), "")
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
