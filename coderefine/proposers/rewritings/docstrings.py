"""Rewritings of docstrings."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Sequence

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, sure

FIRST_WORD = re.compile(r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<word>[A-Z][a-z]+)\b""")
KIND = re.compile(
    r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<kind>(An? )?(decorator|(helper )?function|helper|method|routine|utility) to )"""
    r"(?P<word>[a-z]+) ",
    re.IGNORECASE,
)
COLON = re.compile(r":\s*(\w*)")
AND = re.compile(r"\band (?:\w+ly )?(\w+s)\b")
"""What may be a second verb in the third person."""
OPENING = re.compile(r"""[rRuU]?("{3}|'{3})""")
BLOCK = re.compile(r"\s*(:\w[^:`]*:(\s|$)|@\w|>>>|\.\. |[-*+] |\d+[.)] |[A-Z]\w*( \w+)?:\s*$)")
"""The beginning of what is no prose: fields, examples, directives, lists, titles of sections."""
SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z`]|$)")
BEGINS_SMALL = re.compile(r"(\S*\w)[.!?] [a-z]")
"""The last word of a sentence after which the next one begins with a small letter, if it is no abbreviation."""
ABBREVIATIONS = frozenset(re.findall(r"\w+", "eg ie etc vs cf approx resp incl dr mr ms no fig al"))
BEFORE_NAMES = frozenset(
    re.findall(r"\w+", "a an the of to by in on for with from as at and or is are be that like into using")
)
"""Words after which a sentence goes on, though with a capital letter."""
USUAL_WIDTH, WIDEST = 72, 120
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
    summary = code.source(found)[first.end() :].partition("\n")[0]
    sure(base, not any(VERBS.intersection(_bases(other)) for other in AND.findall(summary)))
    start = code.start(found) + first.start("word")
    colon = COLON.match(code.source(found), first.end())
    after = f" {_inside(colon[1])}" if colon else ""
    return (
        code.edit(start, colon.end() + code.start(found) if colon else start + len(word), base.capitalize() + after),
    )


def _inside(word: str) -> str:
    """Return the first word after a colon as it is written inside a sentence."""
    if word in ("A", "An", "The"):
        return word.lower()
    sure(word in ("True", "False", "None") or not word.istitle())
    return word


def _bases(word: str) -> tuple[str, ...]:
    """Return what a verb in the third person may come from: `tries` → `try`, `tie`."""
    return (f"{word[:-3]}y" if word.endswith("ies") else "", word[:-1], word[:-2] if word.endswith("es") else "")


def separate_summary(code: Code, at: Diagnostic) -> Edits:
    """D205: a blank line after the summary, which is the first sentence, on one line."""
    found = code.find(at, ast.Constant)
    opening = OPENING.match(code.source(found))
    if opening is None:
        raise Unsure
    start, end = code.start(found) + opening.end(), code.end(found) - len(opening[1])
    sure("\\\n" not in code.text[start:end])
    rows = code.text[start:end].split("\n")
    first = 0 if rows[0].strip() else 1
    paragraph = list(itertools.takewhile(str.strip, rows[first:]))
    blocks, width = _blocks(paragraph), _usual_width(code)
    before = "" if first else code.text[code.begin(code.line_of(start)) : start]
    last = len(blocks) == 1 and first + len(paragraph) == len(rows)
    summary = blocks[0][0] if first else blocks[0][0].lstrip()
    sure(len(f"{before}{summary}{opening[1] if last else ''}") <= width)
    sure(all(len(row) <= max(width, *map(len, paragraph)) for block in blocks[1:] for row in block))
    made = "\n\n".join("\n".join(block) for block in ([summary], *blocks[1:]))
    return (code.edit(start, end, "\n".join((*rows[:first], made, *rows[first + len(paragraph) :]))),)


def _blocks(paragraph: Sequence[str]) -> list[list[str]]:
    """Return the first sentence of a paragraph in one row, the others in rows as long as before, and what is no prose.

    Without what is empty. Raises Unsure where it is not certain where the sentence ends.
    """
    prose = list(itertools.takewhile(lambda row: not BLOCK.match(row), paragraph))
    sure(len(paragraph) > 1, prose)
    margin, first = (row[: len(row) - len(row.lstrip())] for row in (paragraph[1], paragraph[0]))
    # The first row may follow the quotes; where it has a margin, that of the others may be no deeper.
    sure(all(row.startswith(margin) for row in prose[1:]), len(first) < 2 or first.startswith(margin))
    summary, rest = _parted(joined(prose))
    width = max(USUAL_WIDTH, *map(len, paragraph)) - len(margin)
    wrapped = textwrap.wrap(rest, width, break_long_words=False, break_on_hyphens=False)
    blocks = [[margin + summary], [margin + row for row in wrapped], list(paragraph[len(prose) :])]
    return [block for block in blocks if block]


def _usual_width(code: Code) -> int:
    """Return the length that the project sets, or that of the file's longest lines; one in 200 may be longer."""
    lengths = sorted(len(line.rstrip()) for line in code.lines)
    return max(code.width, min(WIDEST, lengths[-1 - len(lengths) // 200]))


def joined(rows: Sequence[str]) -> str:
    """Return the rows of a paragraph as one line. Raises Unsure where a row may begin an item without a full stop."""
    texts = [row.strip() for row in rows]
    for text, after in itertools.pairwise(texts):
        goes_on = not after[0].isupper() or text.rpartition(" ")[2].lower() in BEFORE_NAMES
        sure(re.search(r"[^\W_]", after), goes_on or text.endswith((".", "?", "!")))
    return " ".join(" ".join(texts).split())


def _parted(text: str) -> tuple[str, str]:
    """Return the first sentence of `text`, and what follows. Raises Unsure where it may end at an earlier full stop."""
    end = SENTENCE_END.search(text)
    sentence, rest = (text[: end.end()], text[end.end() :].strip()) if end else (text, "")
    sure(all(word.lower() in ABBREVIATIONS or "." in word for word in BEGINS_SMALL.findall(sentence)))
    if end is None:
        return sentence, rest
    word = sentence[: end.start()].rpartition(" ")[2]
    quoted = word.endswith(("`", '"'))
    sure(quoted or (len(word) > 1 and word.strip("(").lower() not in ABBREVIATIONS and "." not in word))
    sure(all(sentence.count(mark) % 2 == 0 for mark in '`"*'))
    sure(all(sentence.count(one) == sentence.count(other) for one, other in ("()", "[]", "{}", "<>")))
    return sentence, rest
