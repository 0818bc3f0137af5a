"""Parse the search/replace blocks in a model's reply; `edits.py` applies them to the files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, pairwise

from coderefine.errors import ReplyError
from coderefine.llm.reasoning import without_reasoning

SEARCH = re.compile(r"^( *)<{5,9} ?SEARCH\b(.*)$")
SEARCHED = re.compile(SEARCH.pattern, re.MULTILINE)
DIVIDER = re.compile(r"^ *={5,9} *$")
REPLACE = re.compile(r"^ *>{5,9} ?REPLACE\b.*$")
BARE_END = re.compile(r"^ *>{5,9} *$")
FENCE = re.compile(r"^ *(`{3,}|~{3,})(.*)$")

NO_REPAIR = re.compile(
    r"^\W*(?:NO[ _]REPAIR\b(?!\s*=)|(?i:no[ _]repair)(?=[*_`]*(?::| ?[–—]| -)))[\s*_`:.–—-]*(.*(?:\n(?!\s*\n).*)*)",
    re.MULTILINE,
)
NEED = re.compile(r"^[-*>\s`]*(?:NEED|[Nn]eed(?=[*:]*\s+\S*(?:\w[:/]\w|\w\.py\b)))[*:]*\s+(\S.*)$", re.MULTILINE)
"""Matches a request for code; in lower case only before a path, because a sentence may begin with "need"."""
APART = re.compile(r"[,;]\s+(?:and\s+)?|\s+and\s+|,\s*$")
"""Matches what separates several requests in one line."""
EXTRA = re.compile(r"(?:^|(?<=:))(?:(?:async )?def|class) ")
"""Matches words before the name in a request."""
REMARK = re.compile(r"(?<=\S)\s+\([^()]*\)")
MENTIONED = re.compile(
    r"`([\w./]+(?:\(\))?)`|\b([\w/]+\.\w{1,4})\b(?!\()|\b(\w+)\(\)|\b([A-Za-z]\w*_\w+)\b"
    r"|\b(?:function|method|class|module|constant|definition of) (?:called |named )?(\w+)"
)
"""Matches code in prose: text in backticks, a file name, a call, a name with an underscore, `the function f`."""
PREFIX = re.compile(r"^(?:#+ |// |[-*] |\d+[.)] )?(?:(?:file|path)(?:name)?: ?)?", re.IGNORECASE)
LABEL = re.compile(r"^[A-Za-z]\w+[:=](?=[^:/])")
"""Matches a word before the path, for example a language: `python:a.py`, `path=a.py`."""
PLACE = re.compile(r":(?:\d+(?:-\d+)?|:[\w.]+)$")
"""Matches a place in the file after its path: `a.py:5`, `a.py::name`."""
NO_PATH = re.compile(r"[][()<>{}|=\"',;]")
URL = re.compile(r"\w+://\S*")
NAMED = re.compile(r"(?<![\w./\\~-])(?:[A-Za-z]:[\\/])?[\w./\\@+~-]*\w\.[A-Za-z]\w{0,7}(?![\w/\\-])")
LONGEST_PATH = 300

FORMAT = (
    "Answer with one sentence of diagnosis and then edits, each exactly so:\n"
    "path/to/file.py\n<<<<<<< SEARCH\nlines as they are\n=======\nlines as they should be\n>>>>>>> REPLACE"
)


CODE = re.compile(r"(`+)(.+?)\1")
EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])")
BULLET = re.compile(r"^\s*(?:#+|[-*>]|\d+\.)\s+")

CANDIDATE = re.compile(r"[#*=\s]*CANDIDATE (\d+)[\s*_`]*(?:\W*$|:|[–—]|-+\s|\(.*\)\W*$)", re.IGNORECASE)
"""Matches the line above each of several repairs in one reply: a heading, perhaps with a title, not a sentence."""


def candidates(text: str) -> tuple[str, ...]:
    """Return the parts of a reply with one repair each, in order; the whole text if no repairs are marked."""
    lines = _lines(text)
    starts, number = [0], ""
    for index in _outside_blocks(lines):
        found = CANDIDATE.match(lines[index])
        if found and found[1] != number:
            starts.append(index)
            lines[index], number = "", found[1]
    parts = ("\n".join(lines[first:last]) for first, last in pairwise((*starts, len(lines))))
    return tuple(part for part in parts if SEARCHED.search(part)) or (text,)


def _outside_blocks(lines: list[str]) -> Iterator[int]:
    """Yield the indices of the lines that are in no block."""
    done = 0
    for index, line in enumerate(lines):
        if index >= done and SEARCH.match(line):
            done = (_end(lines, index) or index) + 1
        if index >= done:
            yield index


def _lines(text: str) -> list[str]:
    """Return the lines of a reply without the reasoning."""
    return without_reasoning(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")


class NothingToApplyError(ReplyError):
    """The reply contains no edit: it is empty, prose only, or a block that changes nothing."""


class PartlyUsableError(ReplyError):
    """Some blocks of the reply cannot be applied, for example because they do not match exactly one position."""

    def __init__(self, reason: str, kept: Kept) -> None:
        super().__init__(reason)
        self.kept = kept


@dataclass(frozen=True, slots=True)
class Block:
    """One edit. `splits`: all possible (search, replace) pairs, since code may contain a divider line too.

    `path`: the line above, if it looks like a path; else "". `above`: words in that line that may be paths. `between`:
    such words in all the text after the previous block.
    """

    number: int
    path: str
    splits: tuple[tuple[str, str], ...]
    above: tuple[str, ...] = ()
    between: tuple[str, ...] = ()

    @property
    def creates(self) -> bool:
        """Return whether the block creates a new file, that is, has an empty search text."""
        return not self.splits[0][0].strip()


@dataclass(frozen=True, slots=True)
class Kept:
    """The usable part of a reply whose other blocks must be corrected.

    `blocks`: the usable blocks, with the paths of their files. `path`: the file of the faulty blocks; "" if they have
    several files, or if the file of one is unknown.
    """

    blocks: tuple[Block, ...] = ()
    path: str = ""


def refused(text: str) -> str | None:
    """Return the reason in a reply with NO REPAIR and without edits; None for any other reply."""
    found = NO_REPAIR.search(_without_edits(text))
    return " ".join(found[1].split()) or "no reason given" if found else None


def needs(text: str) -> tuple[tuple[str, str], ...]:
    """Return (path, symbol) of each `NEED path:symbol` in a reply without edits; one of the two may be empty."""
    parts = (part for line in NEED.findall(_without_edits(text)) for part in APART.split(REMARK.sub("", line)) if part)
    return tuple(dict.fromkeys(map(_need, parts)))


def mentioned(text: str) -> tuple[str, ...]:
    """Return the files and names mentioned as code in a reply without edits, in order."""
    found = (next(filter(None, match)) for match in MENTIONED.findall(_without_edits(text)))
    return tuple(dict.fromkeys(name.strip("()") for name in found))


def _without_edits(text: str) -> str:
    """Return a reply without its reasoning; "" if it has edits."""
    answer = without_reasoning(text)
    return "" if SEARCHED.search(answer) else answer


def _need(line: str) -> tuple[str, str]:
    """Return (path, symbol) from `path:symbol`; one of the two may be missing."""
    word = EXTRA.sub("", line.strip().strip("`'\"*. "))
    path, _, symbol = word.partition("::" if "::" in word else ":")
    symbol = re.sub(r"^[\d-]+$", "", symbol.strip("`'\"() "))
    if not symbol and "/" not in path and not re.search(r"\.\w{1,4}$", path):
        return "", path.strip("()")
    return path.strip("`'\" "), symbol


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed reply. `prose`: the diagnosis, that is, the text before the first block."""

    prose: str
    blocks: tuple[Block, ...]


def parse_reply(text: str) -> Reply:
    """Parse the blocks of `text`, in order.

    Raises NothingToApplyError if there is no block, ReplyError if a block is incomplete.
    """
    lines = _lines(text)
    starts = [index for index, line in enumerate(lines) if SEARCH.match(line)]
    if not starts:
        raise NothingToApplyError(_why_none(lines))
    blocks: list[Block] = []
    done = 0
    for start in starts:
        if start >= done:
            path, above, between = _named(lines, done, start)
            done, splits = _body(lines, start, len(blocks) + 1)
            blocks.append(Block(len(blocks) + 1, path, splits, above, between))
    return Reply(_prose(lines[: starts[0]]), tuple(blocks))


def is_prose(text: str) -> bool:
    """Return whether a reply is only prose: without edits (also incomplete ones), without code, and no refusal."""
    lines = without_reasoning(text).splitlines()
    code = any(mark.match(line) for line in lines for mark in (SEARCH, DIVIDER, FENCE))
    return not code and refused(text) is None


def _why_none(lines: list[str]) -> str:
    if not any(line.strip() for line in lines):
        return f"The reply is empty. {FORMAT}"
    if any(FENCE.match(line) for line in lines):
        return f"A whole file or a bare code fence is not an edit; nothing was applied. {FORMAT}"
    return f"The reply holds no SEARCH/REPLACE block. {FORMAT}"


def _body(lines: list[str], start: int, number: int) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the index after the block that starts at `start`, and its possible splits.

    Raises ReplyError if the block is incomplete.
    """
    end = _end(lines, start)
    if end is None:
        raise ReplyError(
            f"Block {number} has no >>>>>>> REPLACE line: the reply was cut or is malformed. Send it whole."
        )
    indent = len(lines[start]) - len(lines[start].lstrip())
    body = _dedent(lines[start + 1 : end], indent)
    dividers = [index for index, line in enumerate(body) if DIVIDER.match(line)]
    if not dividers:
        raise ReplyError(f"Block {number} has no ======= line between SEARCH and REPLACE. Send all blocks again.")
    return end + 1, tuple((_join(body[:index]), _join(body[index + 1 :])) for index in dividers)


def _end(lines: list[str], start: int) -> int | None:
    """Return the index of the REPLACE line of the block that starts at `start`; None if the next block starts first.

    If the block has no REPLACE line, but only one line with its arrows, return the index of that line.
    """
    after = range(start + 1, len(lines))
    inside = range(start + 1, next((index for index in after if SEARCH.match(lines[index])), len(lines)))
    whole = next((index for index in inside if REPLACE.match(lines[index])), None)
    bare = [index for index in inside if BARE_END.match(lines[index])]
    return bare[0] if whole is None and len(bare) == 1 else whole


def _dedent(lines: list[str], indent: int) -> list[str]:
    """Remove the indentation of a block that is in a list item, if all lines of the block have it."""
    margin = " " * indent
    whole = indent and all(line.startswith(margin) or not line.strip() for line in lines)
    return [line[indent:] for line in lines] if whole else lines


def _join(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _named(lines: list[str], done: int, start: int) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return `Block.path`, `above` and `between` of the block that starts at line `start`.

    `done`: the index of the first line after the previous block.
    """
    between = named_paths("\n".join(lines[done:start]))
    for line in _lines_above(lines, done, start):
        path, above = whole_path(line), named_paths(line)
        if path or above:
            return path, above, between
    return "", (), between


def _lines_above(lines: list[str], done: int, start: int) -> Iterator[str]:
    """Yield texts that may name the file of a block: the rest of its SEARCH line, opening fences, the line above it."""
    yield SEARCH.sub(r"\2", lines[start])
    for line in reversed(lines[max(done, start - 4) : start]):
        fence = FENCE.match(line)
        if fence and fence[2].strip():
            yield from (fence[2].split()[-1], fence[2])
        if not fence and line.strip():
            yield line
            return


def _prose(lines: list[str]) -> str:
    """Return the text before the first block, without fences and the path line."""
    kept = [line for line in lines if not FENCE.match(line)]
    while kept and (not kept[-1].strip() or whole_path(kept[-1])):
        kept.pop()
    return "\n".join(kept).strip()


def first_sentence(prose: str) -> str:
    """Return the first sentence of a diagnosis, without Markdown, short enough for a subject line."""
    line = next((line for line in prose.splitlines() if line.strip(" #*`->")), "")
    first = re.split(r"(?<=[.!?:])\s", _plain(line), maxsplit=1)[0].rstrip(".:")
    return first if len(first) <= 100 else f"{first[:99].rsplit(' ', 1)[0]}…"


def _plain(line: str) -> str:
    """Remove Markdown from `line`; keep asterisks in code, and those that do not mark emphasis."""
    text = BULLET.sub("", line)
    codes, numbers = [match[2] for match in CODE.finditer(text)], count()
    hidden = CODE.sub(lambda _: f"\0{next(numbers)}\0", text)
    while (bare := EMPHASIS.sub(r"\2", hidden)) != hidden:
        hidden = bare
    return re.sub("\0(\\d+)\0", lambda match: codes[int(match[1])], hidden).strip()


def whole_path(line: str) -> str:
    """Return `line` as a repo-relative POSIX path, "" if it does not look like one.

    If it contains a blank, it may be a path with blanks, or a sentence that ends with a path.
    """
    word = PREFIX.sub("", line.strip().strip("*")).strip().strip("`'\"*<>").rstrip(":").strip("`'\"*")
    word = _posix(PLACE.sub("", LABEL.sub("", word)))
    looks = ("." in word or "/" in word) and not word.endswith((".", "/")) and len(word) < LONGEST_PATH
    blank = " " in word and not re.search(r"\.\w{1,8}$", word)
    return word if looks and not blank and not NO_PATH.search(word) else ""


def named_paths(text: str) -> tuple[str, ...]:
    """Return the words of `text` that may be paths of files, each once; other dotted names are among them."""
    found = (_posix(word) for word in NAMED.findall(URL.sub(" ", text)))
    return tuple(dict.fromkeys(word for word in found if len(word) < LONGEST_PATH))


def is_certain(word: str) -> bool:
    """Return whether `word`, which `named_paths` found, is certainly a path, not another dotted name."""
    return "/" in word or word.lower().endswith((".py", ".pyi"))


def _posix(word: str) -> str:
    word = word.replace("\\", "/")
    while word.startswith("./"):
        word = word[2:]
    return word
