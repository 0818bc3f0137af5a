"""Rewritings of docstrings."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, expect, sure

FIRST_WORD = re.compile(r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<word>[A-Za-z][a-z]+)\b""")
KIND = re.compile(
    r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<kind>(An? |The |This )?"""
    r"((basic|convenience|custom|helper|utility|internal|private|simple|small|generic|class|static|common|function|factory"
    r"|decorator|iterator) )?"
    r"(decorator|(helper )?function|helper|method|routine|utility|callback|hook|generator|factory|(\w+ )?plugin) "
    r"((used )?to |(used )?for (?=(\w+ly )?\w+ing\b)|((that|which) )?(?=(\w+ly )?\w+s\b)|(?=\w+ing\b))"
    r"|This (?=\w+s\b)|Use(d|ful) (to |for (?=\w+ing\b)))((?P<how>\w+ly) )?(?P<word>[a-z]+) ",
    re.IGNORECASE,
)
"""The beginning of a docstring that names the kind of its object, and then a verb: `Function that returns …`."""
NOUN = re.compile(
    r"""[rRuU]?("{3}|'{3}|"|')\s*(?P<noun>(An? )?((thin|simple|small) )?wrapper (for|around)(?=\s)"""
    r"|(Setup|Cleanup|Shutdown|Lookup|Backup)(?=\s+(and|the|an?|all|any|each|every|its|this|that)\b))",
    re.IGNORECASE,
)
"""The beginning of a docstring that has a noun in place of a verb."""
THING = re.compile(
    r"""[rRuU]?("{3}|'{3}|"|')\s*"""
    r"(?P<word>(The|An?)(?= [a-z])|True,?(?= if)|False,?(?= if)|Number(?= of))"
)
"""The beginning of a docstring that names a value."""
RETURNED = {word: f"Return {word.lower()}" for word in ("The", "A", "An")}
RETURNED |= {"Number": "Return the number", "True": "Return True", "False": "Return False"}
OF_CODE = frozenset(
    """alias callback class command constructor context convenience coroutine decorator entry equivalent example
        extension factory fixture function generator handler helper hook implementation interface iterator loop main
        manager method placeholder procedure property replacement routine rule script shortcut shorthand step task test
        utility variant version view way wrapper""".split()
)
"""Nouns for code: a docstring that begins with such a noun does not describe a returned value."""
STATES = re.compile(r"\b(is|are|was|were|must|should|shall|will|would|can|could|may|might|has|have|does|do)\b")
INSIDE = re.compile(r"\b(that|which|who|whose|where|when|if|what|how|whether)\b")
"""Words that begin a subordinate clause, whose verbs are not those of the main clause."""
COLON = re.compile(r":\s*(\w*)")
NEXT_VERB = re.compile(r"(?:\band (?:then |\w+ly )?|, )(\w+s)\b")
"""A possible second verb in the third person."""
OPENING = re.compile(r"""[rRuU]?("{3}|'{3})""")
BLOCK = re.compile(r"\s*(:\w[^:`]*:(\s|$)|@\w|>>>|\.\. |[-*+] |\d+[.)] |[A-Z]\w*( \w+)?:\s*$)")
"""The beginning of a block other than prose: fields, examples, directives, lists, titles of sections."""
SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z`]|$)")
BEGINS_SMALL = re.compile(r"(\S*\w)[.!?] [a-z]")
"""The last word before a full stop and a small letter: either an abbreviation, or the end of a sentence."""
ABBREVIATIONS = frozenset("eg ie etc vs cf approx resp incl dr mr ms no fig al".split())
BEFORE_NAMES = frozenset(
    """a an the of to by in on for with from as at and or is are be that like into using this these those its
        their our your his each every any some no not when while where which whose whether if than then but because
        until unless without through via per between against over under within about after before during called
        named return returns yield yields""".split()
)
"""Words that cannot end a sentence, so that a capital letter after them begins no new sentence."""
USUAL_WIDTH, WIDEST = 72, 120
NOUNS = ("class", "decorator", "exception", "function", "generator", "iterator", "method", "module", "type")
"""Nouns that may follow the name of what a docstring describes."""
VERBS = frozenset(
    """add allow apply attach build calculate call change check clear close collect compare compute
        construct convert copy create decode define delete determine disable display download emit
        enable encode ensure evaluate execute extract fetch fill find flush format generate get
        handle implement indicate initialize insert iterate join list load look make match merge
        modify move normalize open parse perform pop prepare print process produce provide push put
        raise read receive record register release remove rename render replace represent reset
        resolve return run save search select send set show sort specify split start stop store take
        tell test transform translate try update use validate verify wait walk wrap write yield""".split()
)
OTHERS = frozenset(
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
        unpack unregister unwrap upgrade upload view visit warn watch weight zip
        access adopt affect alter annotate approximate assess automate await bundle classify coerce collapse
        communicate compose conform correct customize deduce deduplicate delimit deprecate differentiate
        disconnect discover distinguish drive embed encounter enrich evict exclude exhaust exploit
        facilitate flatten fork forbid forget generalize grab grant highlight hook impose inline interleave
        isolate locate lookup loosen minify mirror model mount navigate normalise optimise peel permit pin precompute
        prefer prefix preload prepend prohibit proxy quantize randomize rank recognize reconstruct recover recurse
        rectify reformat regenerate relate relax remember repair resample revise satisfy scrape segment
        serialise shrink slugify smooth solve specialize squash squeeze stringify supply swallow tear terminate
        tighten twist typecast uncompress undo unescape uninstall unify unlock unquote unset utilize
        vectorize yank
        accumulate attempt avoid clamp clip compact constrain discard dismiss do empty exchange flag flip hash intersect
        label lift migrate minimize offset pair pluralize poll prioritize promote purge recalculate replay replicate
        rescale retain roll route sample sign transpose unlink unwind vary""".split()
)
"""Words that count as verbs only before an OBJECT, because their third person may be the plural of a noun."""
BEFORE_NOUNS = re.compile(r"\s+(the|an?|all|any|each|every|its|this|that|these|whether|if|given|one|new)\b")
OBJECT = re.compile(rf"{BEFORE_NOUNS.pattern}|\s+(it|them|True|False|None|which|what|how|when|where)\b|\s+[`*:]")
"""A word that shows that the word before it is a verb."""
NO_OBJECT = frozenset(
    """and are as at by can for from has have if in is may must not of on only or should that to was were when where
        which while who will with would""".split()
)
"""Words that may follow a noun in the plural."""
THING_OR_HOW = re.compile(r"\s+(?P<word>[A-Za-z]\w*)(?<!ed)(?<!ing)\b")


def imperative(code: Code, at: Diagnostic) -> Edits:
    """D401: `Returns the …` → `Return the …`; `Decorator to wrap …` → `Wrap …`; `The name …` → `Return the name …`."""
    found = code.find(at, ast.Constant)
    text, start = code.code(found), code.start(found)
    if (named := KIND.match(text)) and (base := _base(named["word"], VERBS | OTHERS)):
        _check_single(text[named.end() :])
        verb = " ".join(filter(None, (named["how"], base))).capitalize()
        return (code.edit(start + named.start("kind"), start + named.end("word"), verb),)
    if thing := THING.match(text):
        _check_returned(code, found, text[thing.start("word") :])
        return (code.edit(start + thing.start("word"), start + thing.end("word"), RETURNED[thing["word"].rstrip(",")]),)
    if own := _own_verb(code, found):
        begin, end, verb = own
        _check_single(text[end:])
        return (code.edit(start + begin, start + end, verb),)
    if noun := NOUN.match(text):
        sure(not INSIDE.search(text[noun.end() :].partition("\n")[0]))
        return (code.edit(start + noun.start("noun"), start + noun.end("noun"), _verb_of(noun["noun"])),)
    first = expect(FIRST_WORD.match(text), re.Match)
    base = _base(first["word"], VERBS | OTHERS if _goes_on(text, first.end()) else VERBS)
    sure(base, not first["word"].endswith("ing"))
    others = [code.edit(start + a, start + b, other) for a, b, other in _next_verbs(text, first.end())]
    colon = COLON.match(text, first.end())
    after = f" {_inside(colon[1])}" if colon else ""
    end = colon.end() if colon else first.end()
    return (code.edit(start + first.start("word"), start + end, base.capitalize() + after), *others)


def _goes_on(text: str, place: int) -> bool:
    """Return whether the first word of a docstring, which ends at `place`, seems to be a verb and not a plural noun.

    This is assumed if one of these follows: an article or a similar word (see OBJECT), or any other word that is not in
    NO_OBJECT and does not end in "ed" or "ing". So `Maps a name` has a verb, and `Maps of names` has none.
    """
    found = THING_OR_HOW.match(text, place)
    return bool(OBJECT.match(text, place) or (found and found["word"].lower() not in NO_OBJECT))


def _own_verb(code: Code, docstring: ast.Constant) -> tuple[int, int, str] | None:
    """Return (begin, end, verb) if a docstring begins with the name of what it describes and a verb; else None.

    `begin` and `end` are offsets of the name and the verb in the docstring; `verb` is the base form: `Return` for
    `` ``unique()`` returns a list``.
    """
    text, (name, _) = code.code(docstring), owner(code, docstring, "")
    opening = OPENING.match(text)
    found = own_subject(name).match(text, opening.end()) if opening else None
    base = _base(found["used"] or found["verb"], VERBS | OTHERS) if found else ""
    if found is None or not base or not OBJECT.match(text, found.end()):
        return None
    return found.start("subject"), found.end(), base.capitalize()


def owner(code: Code, docstring: ast.AST, path: str) -> tuple[str, str]:
    """Return (name, kind) of the object that a docstring in the file at `path` describes; kind: `class`, `function`…"""
    around = code.parents[code.parents[docstring]]
    if isinstance(around, ast.Module):
        file = PurePosixPath(path)
        return (file.parent.name if file.stem == "__init__" else file.stem), "module"
    method = isinstance(code.parents[around], ast.ClassDef)
    kind = "class" if isinstance(around, ast.ClassDef) else "method" if method else "function"
    return getattr(around, "name", ""), kind


def own_subject(name: str) -> re.Pattern[str]:
    """Return a pattern for the beginning of a sentence: `name` as its subject, and a verb in the third person."""
    own = rf"(:[\w:]+:)?`{{0,2}}~?\.?{re.escape(name) or '(?!)'}(\(\))?`{{0,2}}( \([^()]*\))?"
    return re.compile(
        rf"\s*(?P<subject>((The|Class|Function|Module) )?{own}(?P<noun>( \w+)? ({'|'.join(NOUNS)}))?)"
        r" (is used to (?P<used>\w+)|(?P<verb>\w+s))\b"
    )


def _verb_of(noun: str) -> str:
    """Return `Wrap` for `A wrapper around`, `Set up` for `Setup`."""
    return "Wrap" if "wrapper" in noun.lower() else re.sub(r"(?=(up|down)$)", " ", noun).capitalize()


def _check_single(rest: str) -> None:
    """Raise Unsure if the first row of a docstring contains a second verb in the third person.

    `rest`: the docstring after its first verb.
    """
    sure(not any(_base(other, VERBS) for other in NEXT_VERB.findall(rest.partition("\n")[0])))


def _next_verbs(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield the positions of further verbs in the third person in the first row, with their base forms.

    Raises Unsure if it is uncertain which words are verbs, or to which clause they belong.
    """
    row = text[: start + len(text[start:].partition("\n")[0])]
    for found in NEXT_VERB.finditer(row, start):
        base, goes_on = _base(found[1], VERBS), OBJECT.match(row, found.end())
        if base and (goes_on or not found[0].startswith(",")):
            sure(goes_on, found[0].startswith(("and ", ", ")), "ly " not in found[0])
            sure(not INSIDE.search(row, start, found.start()))
            yield found.start(1), found.end(1), base


def _check_returned(code: Code, docstring: ast.Constant, text: str) -> None:
    """Raise Unsure unless `text` names a value, and the function ends by returning a value."""
    function = code.function(docstring)
    sure(_returns(function.body), not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function)))
    sentence = re.split(r"[.!?](?:\s|$)|\n\s*\n", text.rstrip("\"'"))[0]
    clause = INSIDE.search(sentence, len("Whether"))
    own = sentence[: clause.start()] if clause else sentence
    sure(not text.startswith(("The", "A")) or not STATES.search(own))
    sure(OF_CODE.isdisjoint(re.findall(r"\w+", re.split(r"\b(of|in|with|from|by)\b", own)[0].lower())))
    sure(not _verbs(own), not re.search(rf", ({'|'.join(SUBJECTS)})\b", sentence))


def _returns(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block ends by returning a value, in every branch of a final `if`."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    return (
        _returns(last.body) if isinstance(last, ast.With) else isinstance(last, ast.Return) and last.value is not None
    )


def _verbs(text: str) -> list[str]:
    """Return the words of a text that are verbs in the third person, before an object."""
    return [
        found[0]
        for found in re.finditer(r"\b[a-z]+s\b", text)
        if _base(found[0], VERBS) and OBJECT.match(text, found.end())
    ]


def _inside(word: str) -> str:
    """Return the first word after a colon as it is written inside a sentence: `the` for `The`.

    Raises Unsure if this word may be a name.
    """
    if word in ("A", "An", "The"):
        return word.lower()
    sure(word in ("True", "False", "None") or not word.istitle())
    return word


def _base(word: str, known: AbstractSet[str]) -> str:
    """Return the verb that `word` is a form of: `tries`, `trying` → `try`; "" if `known` has none."""
    word = word.lower()
    forms: tuple[str, ...] = (word,)
    if word.endswith("s"):
        forms += (f"{word[:-3]}y" if word.endswith("ies") else "", word[:-1], word[:-2] if word.endswith("es") else "")
    elif word.endswith("ing"):
        stem = word[:-3]
        forms += (f"{stem}e", stem, stem[:-1] if stem[-2:-1] == stem[-1:] else "")
    return next((one for one in forms if one in known), "")


def separate_summary(code: Code, at: Diagnostic) -> Edits:
    """D205: put the first sentence on one line, as the summary, and a blank line after it."""
    found = code.find(at, ast.Constant)
    opening = expect(OPENING.match(code.code(found)), re.Match)
    start, end = code.start(found) + opening.end(), code.end(found) - len(opening[1])
    sure("\\\n" not in code.text[start:end])
    rows = code.text[start:end].split("\n")
    first = 0 if rows[0].strip() else 1
    paragraph = list(itertools.takewhile(str.strip, rows[first:]))
    before, width = code.text[code.line_start(code.line_of(start)) : start], _usual_width(code)
    margin = rows[first][: -len(rows[first].lstrip())]
    blocks = _blocks(paragraph, width - len(margin if first else before), owner(code, found, at.path))
    summary = blocks[0][0] if first else blocks[0][0].lstrip()
    sure(all(len(row) <= max(width, *map(len, paragraph)) for block in blocks[1:] for row in block))
    made = "\n\n".join("\n".join(block) for block in ([summary], *blocks[1:]))
    made = "\n".join((*rows[:first], made, *rows[first + len(paragraph) :]))
    if len(("" if "\n" in made else before) + made.rpartition("\n")[2] + opening[1]) > width:
        made += f"\n{before[: len(before) - len(before.lstrip())]}"  # the quotes have a row of their own
    return (code.edit(start, end, made),)


def _blocks(paragraph: Sequence[str], room: int, described: tuple[str, str]) -> list[list[str]]:
    """Return a paragraph as blocks of rows: its first sentence in one row, its other sentences, and what is no prose.

    The other sentences are wrapped to the greatest length of a row in `paragraph`, at least USUAL_WIDTH. Empty blocks
    are left out. `room`: maximum length of the first sentence; a longer one is divided. `described`: as from `owner`.
    Raises Unsure if the end of the first sentence is uncertain.
    """
    prose = list(itertools.takewhile(lambda row: not BLOCK.match(row), paragraph))
    sure(len(paragraph) > 1, prose)
    margin, first = (row[: len(row) - len(row.lstrip())] for row in (paragraph[1], paragraph[0]))
    # The first row may follow the quotes; if it has a margin instead, the others must not be indented deeper.
    sure(all(row.startswith(margin) for row in prose[1:]), len(first) < 2 or first.startswith(margin))
    summary, rest = parted(joined(prose), room, described)
    width = max(USUAL_WIDTH, *map(len, paragraph)) - len(margin)
    wrapped = textwrap.wrap(rest, width, break_long_words=False, break_on_hyphens=False)
    blocks = [[margin + summary], [margin + row for row in wrapped], list(paragraph[len(prose) :])]
    return [block for block in blocks if block]


def parted(text: str, room: int, described: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """Return the first sentence of `text`, or only its first clauses if it is too long, and the rest of the text.

    `room`: the maximum length of the first part. `described`: as from `owner`. Raises Unsure if it is uncertain where
    to divide.
    """
    summary, rest = _sentence(text)
    short = summary if len(summary) <= room else _abbreviated(summary, described)
    if len(short) <= room:
        return short, rest
    try:
        summary, clause = _clause(summary, room)
    except Unsure:
        summary, clause = _clause(short, room)
    return summary, f"{clause} {rest}".strip()


ROLE = re.compile(r":((?:py:)?(?:class|exc|data|attr|obj|mod|const)):`(\w+) <([\w.]*\.\2)>`")
"""A reference of Sphinx that shows the last part of its target."""


def _abbreviated(sentence: str, described: tuple[str, str]) -> str:
    """Return a sentence with shorter references, and without the name of what it describes at its beginning.

    `` :class:`A <b.A>` `` → `` :class:`~b.A` ``; in class A, `The A class is a list` → `A list`, `A adds` → `This class
    adds`; in function f, `f adds a row` → `Add a row`.
    """
    name, kind = described
    short = ROLE.sub(r":\1:`~\3`", sentence)
    found = own_subject(name).match(short)
    return (found and found["verb"] and _without_name(found, kind)) or short


def _without_name(found: re.Match[str], kind: str) -> str:
    """Return a sentence without the name in `found`, as from `own_subject`; "" if its verb is unknown."""
    verb, rest = found["verb"], found.string[found.end() :]
    base = _base(verb, VERBS | OTHERS)
    if kind in ("class", "module"):
        if verb == "is" and re.match(r" (an?|the|raised) ", rest):
            return rest[1:2].upper() + rest[2:]
    elif base and OBJECT.match(rest) and not _has_verbs(rest):
        return base.capitalize() + rest
    return f"This{found['noun'] or f' {kind}'} {verb}{rest}" if base or verb in SINGULAR else ""


CLAUSE = re.compile(r"(?P<sign>;|,(?: and| but| then| and then)?| and| --| -| –| —)\s+(?P<word>[a-z]+)\b(?!['=(.-])")
SUBJECTS = frozenset(("this", "it", "these", "they", "there"))
PARTICIPLE = re.compile(r"\s+(?!(and|or|to)\b)[\w`*:](?!.* (and|or) \w+ing\b)")
"""Text that shows that the participle before it is not a noun, and not joined to another by `and` or `or`."""
FEWEST = 20
"""Minimum number of characters of a clause that may be a summary."""
VAGUE = frozenset(
    "containing including excluding representing indicating providing following describing giving".split()
)
"""Participles that belong to the noun before them."""
DESCRIBING = ("describing", "indicating", "providing", "representing")
"""Words of VAGUE that may also be the verb of a sentence about this noun: `It represents …`."""
MAKING = re.compile(
    r"(Return|Yield|Create|Construct|Build|Make|Implement)s? (?:(an?|the) (?:iterator|list|tuple|sequence) of )?"
)
"""The beginning of a docstring about something that is made."""


def _clause(sentence: str, room: int) -> tuple[str, str]:
    """Divide a sentence before the last clause that can be a separate sentence, so that the first part fits `room`.

    Raises Unsure if there is no such clause.
    """
    mood = _Mood.of(sentence)
    for pattern, beginning in BEGINNINGS:
        for found in reversed(list(pattern.finditer(sentence))):
            head = sentence[: found.start()]
            begin = found.expand(beginning) if isinstance(beginning, str) else beginning(found, mood, head)
            if begin and FEWEST <= len(head) < room and _closed(head):
                tail = begin + sentence[found.end() :]
                return f"{head}.", tail if tail.endswith((".", ".)", "!", "?", ":")) else f"{tail}."
    raise Unsure


@dataclass(frozen=True, slots=True)
class _Mood:
    """Whether a sentence begins with a noun, and the form of its verb: "base", "third", or "" if it is unknown."""

    subject: bool
    form: str

    @classmethod
    def of(cls, sentence: str) -> _Mood:
        sentence = _without_adverb(sentence)
        first = re.match(r"[A-Za-z]+(?= )", sentence)
        word = first[0].lower() if first else ""
        if word in ("this", "the", "a", "an"):
            return cls(subject=True, form="third")
        if re.match(r"\w+ (as|to|of|for)\b", sentence) and not _base(word, VERBS | OTHERS):
            return cls(subject=True, form="third")
        known = VERBS | OTHERS if OBJECT.match(sentence, len(word)) else VERBS
        third = "third" if word.endswith("s") and _base(word, known) else ""
        return cls(subject=False, form="base" if word in VERBS | OTHERS else third)


def _without_adverb(sentence: str) -> str:
    """Return a sentence without an adverb at its beginning: `looks …` for `Quickly looks …`. A verb (`Apply`) stays."""
    adverb = re.match(r"([A-Z][a-z-]+ly) (?=[a-z])", sentence)
    return sentence[adverb.end() :] if adverb and adverb[1].lower() not in VERBS | OTHERS else sentence


def _beginning(found: re.Match[str], mood: _Mood, head: str) -> str:
    """Return the first words of a new sentence that is made of the clause after `found`; "" if this is impossible.

    `found`: the match of CLAUSE (punctuation and first word). `head`: the text before it. `mood`: the mood of the
    sentence that is divided.
    """
    sign, word = found["sign"], found["word"]
    if sign == ";":
        return "" if ";" in head or ";" in found.string[found.end() :] else word.capitalize()
    if word in SUBJECTS:
        return "" if sign.endswith(("and", "but", "then")) else word.capitalize()
    return "" if sign[-1] in "-–—" or INSIDE.search(head) or _serves(head) else _predicate(found, mood)


def _predicate(found: re.Match[str], mood: _Mood) -> str:
    """Return the verb after `found`, with a subject if the sentence needs one; "" if no suitable verb follows."""
    word, base = found["word"], _base(found["word"], VERBS | OTHERS)
    if not base or not mood.form:
        return ""
    if word.endswith("ing"):
        return _verb(base, mood) if _is_participle(found) else ""
    if not OBJECT.match(found.string, found.end()):
        return ""
    if (word == base) != (mood.form == "base") and (word == base or _has_verbs(found.string[: found.start()])):
        return ""
    return f"It {word}" if mood.subject else _verb(base, mood)  # `Check … and returns …`: in the mood of the first verb


def _has_verbs(head: str) -> bool:
    """Return whether a clause may contain a verb in the third person, as in `Yield the rows that it finds`."""
    return any(_base(word, VERBS | OTHERS) for word in re.findall(r"\b[a-z]+s\b", head))


def _is_participle(found: re.Match[str]) -> bool:
    """Return whether `found` is a comma and a participle that describes the action of the clause before the comma."""
    alone = found["sign"] == "," and PARTICIPLE.match(found.string, found.end())
    return bool(alone) and found["word"] not in VAGUE


def _serves(head: str) -> bool:
    """Return whether a clause contains a purpose (`to …`), to which the next clause may belong, too."""
    return any(_base(word, VERBS | OTHERS) == word for word in re.findall(r"\bto (\w+)", head))


def _verb(base: str, mood: _Mood) -> str:
    """Return the beginning of a sentence with the verb `base`: in the form of `mood`, with a subject if needed."""
    if mood.form == "third":
        ies, es = re.search(r"[^aeiou]y$", base), base.endswith(("s", "sh", "ch", "x", "z"))
        base = f"{base[:-1]}ies" if ies else f"{base}{'es' if es else 's'}"
    return f"This {base}" if mood.subject else base.capitalize()


SINGULAR, PLURAL = frozenset(("is", "has", "was", "does")), frozenset(("are", "have", "were", "do"))
MODAL = frozenset(("will", "can", "may", "might", "must", "should", "could", "would"))
PREPOSITION = re.compile(r"\b(of|from|by|in|with|for|into|to|on|as|at)\b")
ARTICLE = re.compile(r"\b(the|an?|its|this|that|these|those|each|every|all|any)\b", re.IGNORECASE)


def _relative(found: re.Match[str], _mood: _Mood, head: str) -> str:
    """Return `It` or `They` with the verb of a relative clause; "" if the clause may refer to another noun."""
    subject, verb = _antecedent(head, after_comma=bool(found["comma"])), found["verb"]
    third = subject == "It" and verb.endswith("s") and _base(verb, VERBS | OTHERS)
    fits = subject and (third or verb in MODAL | (SINGULAR if subject == "It" else PLURAL))
    return f"{subject} {found['how']}{verb}" if fits else ""


def _antecedent(head: str, *, after_comma: bool) -> str:
    """Return the pronoun for the last noun in `head`, to which the next clause refers.

    Return "" if the clause may refer to another noun, or may restrict this noun.
    """
    many = re.search(r"[^s]s\W*$", head) is not None
    if many and after_comma:
        return "They"
    new = after_comma or (not INSIDE.search(head) and ARTICLE.findall(head.lower()) in (["a"], ["an"]))
    new = new or head.endswith("`")  # a clause cannot restrict a name
    # What follows a preposition may be meant, or what is before it.
    near = re.split(ARTICLE.pattern, head.lower())[-1]
    return "" if not new or PREPOSITION.search(near) else "They" if many else "It"


def _contrary(found: re.Match[str], mood: _Mood, head: str) -> str:
    """Return `It may` for `Parse the rows, but may …`; "" if the sentence does not begin with a verb."""
    return f"It {found['verb']}" if mood.form and not mood.subject and not INSIDE.search(head) else ""


def _described(found: re.Match[str], _mood: _Mood, head: str) -> str:
    """Return `It represents` or `They represent` for `, representing`; `It is made` for `, made`.

    Return "" if this is not about something that is returned or made, or if another noun may be meant.
    """
    made = MAKING.match(head)
    subject, word = _antecedent(head, after_comma=True), found["word"]
    alone = made and not PREPOSITION.search(head[made.end() :]) and not INSIDE.search(head)
    if not subject or not alone or re.search(r"(us|is|as|ss)$", head):
        return ""
    if word.endswith("ed"):
        return f"{subject} {'is' if subject == 'It' else 'are'} {word}"
    verb = _verb(_base(word, VERBS | OTHERS), _Mood(subject=False, form="third" if subject == "It" else "base"))
    return f"{subject} {verb.lower()}"


def _result(found: re.Match[str], _mood: _Mood, head: str) -> str:
    """Return `The result is sorted by` for `, sorted by`; "" if this is not about something returned or made."""
    made = re.match(r"(Return|Create|Construct|Build|Make|Generate|Produce|Get)s? (an?|the) ", head)
    return f"The result is {found['word']}" if made and not INSIDE.search(head) else ""


def _manner(found: re.Match[str], mood: _Mood, head: str) -> str:
    """Return `This is done without adding` for `, without adding`; "" if the sentence does not begin with a verb."""
    return f"This is done {found['word']}" if mood.form and not mood.subject and not INSIDE.search(head) else ""


def _exception(found: re.Match[str], _mood: _Mood, head: str) -> str:
    """Return `However, it adds` for `, except it adds`; "" if the sentence is not a comparison (`Like …`)."""
    like = re.match(r"(Much )?(Same|Similar|Like|Identical|Equivalent)\b", head, re.IGNORECASE)
    return f"However, it {found['word']}" if like and _base(found["word"], VERBS | OTHERS) else ""


def _aside(found: re.Match[str], *_: object) -> str:
    """Return `(Not if it is empty.)` for `(not if it is empty)`."""
    return f"({found['word'].capitalize()}{found['rest']}.)"


def _statement(found: re.Match[str], *_: object) -> str:
    """Return `It may be any.` for `(it may be any)`; "" if a quote or bracket in it is not closed."""
    return f"{found['word'].capitalize()}{found['rest']}." if _closed(found["rest"]) else ""


def _otherwise(found: re.Match[str], mood: _Mood, head: str) -> str:
    """Return `Return None` for `, or None if …` after `Return …`; "" if nothing is returned before."""
    first = re.match(r"Returns? ", head) if mood.form else re.search(r", (returns? )(?!.*, returns?)", head)
    return f"{first[first.re.groups].capitalize()}{found['value']}" if first else ""


BEGINNINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], _Mood, str], str] | str], ...] = (
    (CLAUSE, _beginning),
    (re.compile(r",? or (?P<value>`*(None|True|False)`*)(?= (if|when|unless|where)\b)"), _otherwise),
    (re.compile(r"(?P<comma>,?) (?:which|that) (?P<how>(\w+ly )?)(?P<verb>[a-z]+)\b"), _relative),
    (re.compile(rf", but (?P<verb>{'|'.join(sorted(MODAL))})\b"), _contrary),
    (re.compile(rf", (?P<word>{'|'.join(DESCRIBING)})(?= (the|an?|its|all|any|[a-z]+)\b)"), _described),
    (re.compile(r", (?P<word>(?!followed|preceded)\w+ed)(?= (according to|by|with|as|from)\b)"), _described),
    (
        re.compile(
            r", (?P<word>(suitable for|(formatted|sorted|ordered|grouped) (as|according to|by|in|with)"
            r"|in (?=([\w-]+ )*(order|format|form|time|style)\b)))"
        ),
        _result,
    ),
    (re.compile(r",? (?P<word>(without|instead of|rather than) \w+ing)\b"), _manner),
    (re.compile(r", except (that )?(it )?(?P<word>\w+s)\b"), _exception),
    (re.compile(r",? so that (?P<word>\w+)"), r"This way, \g<word>"),
    (re.compile(r",? in order to(?= [a-z])"), "The purpose is to"),
    (re.compile(r", (that is|i\.e\.),(?= )"), "That is,"),
    (
        re.compile(r", (?P<as>((equivalent|similar|identical) to|useful for|based on|(much )?like)\b)"),
        r"This is \g<as>",
    ),
    (re.compile(r" by (?P<word>\w+ing)\b"), r"This is done by \g<word>"),
    (re.compile(r"(?<!ed)(?<!ly) using(?=\s)"), "This uses"),
    (
        re.compile(r" \((?P<word>[Ii]t|[Tt]his|[Tt]hey|[Tt]hese)(?P<rest> \w+ [^()]*(\([^()]*\)[^()]*)*)\)\.?$"),
        _statement,
    ),
    (re.compile(r" \((?P<link>`[^`]+ <[^>]+>`__?)\)\.?$"), r"See \g<link>"),
    (
        re.compile(r" \((?P<word>for|as|with|in|by|from|if|unless|when|see|like|not|only)\b(?P<rest>[^()]*)\)\.?$"),
        _aside,
    ),
)
"""Patterns of places where a sentence may be divided, and the beginning of the second part, or a function for it."""


def _usual_width(code: Code) -> int:
    """Return the project's line length, or the length of the file's longest lines (up to WIDEST) if that is greater.

    One line in 200 may be even longer: it is not counted.
    """
    lengths = sorted(len(line.rstrip()) for line in code.lines)
    return max(code.width, min(WIDEST, lengths[-1 - len(lengths) // 200]))


OPENER = re.compile(r"(This|These|It|Note|Returns?|Raises?) [a-z]")
"""The beginning of a sentence, also after a row without a full stop."""


IDENTIFIER = re.compile(r"[A-Z]\w*[_.]\w+\b(?!:)")
"""A name of code, which may begin a row inside a sentence."""


def joined(rows: Sequence[str]) -> str:
    """Return the rows of a paragraph as one line; add a full stop before a row that certainly begins a sentence.

    Raises Unsure if it is uncertain whether a row begins a sentence.
    """
    texts = [row.strip() for row in rows]
    for number, (text, after) in enumerate(itertools.pairwise(texts)):
        if text[-1].isalnum() and OPENER.match(after) and text.rpartition(" ")[2].lower() not in BEFORE_NAMES:
            texts[number] = f"{text}."
            continue
        goes_on = not after[0].isupper() or IDENTIFIER.match(after) or text.rpartition(" ")[2].lower() in BEFORE_NAMES
        sure(re.search(r"[^\W_]", after), goes_on or text.endswith((".", "?", "!")))
    return " ".join(" ".join(texts).split())


def _sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of `text`, and the rest.

    Raises Unsure if it is not certain where the sentence ends, or if a quote or bracket in it is not closed.
    """
    end = SENTENCE_END.search(text)
    sentence, rest = (text[: end.end()], text[end.end() :].strip()) if end else (text, "")
    sure(all(word.lower() in ABBREVIATIONS or "." in word for word in BEGINS_SMALL.findall(sentence)))
    if end is None:
        return sentence, rest
    word = sentence[: end.start()].rpartition(" ")[2]
    quoted = word.endswith(("`", '"', ")"))
    ending = word.rpartition(".")[2].lower()  # `py` of `parse.py`
    dotted = "." in word and (len(ending) < 2 or ending in ABBREVIATIONS)
    sure(quoted or (len(word) > 1 and word.strip("(").lower() not in ABBREVIATIONS and not dotted))
    sure(_closed(sentence))
    return sentence, rest


def _closed(text: str) -> bool:
    """Return whether quotes and brackets that begin in `text` end there."""
    pairs = all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}", "<>"))
    return pairs and all(text.count(mark) % 2 == 0 for mark in '`"*')
