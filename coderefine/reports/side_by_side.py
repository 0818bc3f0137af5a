"""A patch as rows of two columns, with syntax colours, the tests that ran each line, and the mutants that survived."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest

from markupsafe import Markup, escape
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType, is_token_subtype
from pygments.util import ClassNotFound

from coderefine.core import Evidence, Executed, Mutation
from coderefine.judge.diff import lines_of, opcodes

CONTEXT = 3
"""Number of unchanged lines shown around a change."""
MOST_COLOURED = 400_000
"""Size in bytes up to which a file is coloured."""
PART = 200
"""Number of rows that a browser lays out at once."""
ALIKE = 0.4
"""Minimum similarity of two lines whose differences are marked."""
CLASSES = (
    (Comment, "c"),
    (String, "s"),
    (Number, "m"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
)
"""CSS classes of the page by kind of token."""
INVISIBLE = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"[U+{code:04X}]" for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
"""Visible substitutes for control characters, characters that change the direction of text, and lone surrogates."""

Token = tuple[str, str]
"""CSS class and text of a piece of a line."""
Line = Sequence[Token]


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line before or after the patch, with its number."""

    number: int
    text: Markup


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row: a line `before` the patch, and the line that replaces it `after` the patch (None: there is no line).

    `ran`: the tests that executed the line `after`, if known. `mistakes`: mutants of this line that survived.
    `skipped`: number of unchanged lines above the row that are not shown.
    """

    before: NumberedLine | None
    after: NumberedLine | None
    changed: bool = False
    ran: Executed | None = None
    mistakes: tuple[Mutation, ...] = ()
    skipped: int = 0

    @property
    def first(self) -> bool:
        """Return whether the line `after` is the first line of the range that `ran` describes."""
        return bool(self.ran and self.after and self.after.number == self.ran.span.first)


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """A file of a patch. `note`: why there are no rows, or another remark."""

    path: str
    added: int
    removed: int
    rows: tuple[DiffRow, ...] = ()
    note: str = ""

    @property
    def parts(self) -> Iterator[tuple[DiffRow, ...]]:
        """Yield the rows in parts: a browser lays out only the visible parts."""
        return (self.rows[start : start + PART] for start in range(0, len(self.rows), PART))


def patched_file(path: str, before: bytes | None, after: bytes | None, evidence: Evidence, most: int) -> PatchedFile:
    """Return the change of one file; without rows if more than `most` lines are added and removed."""
    added, removed = lines_of(before, after)
    note = "new file" if before is None else "deleted" if after is None else ""
    if b"\0" in (before or b"") + (after or b""):
        return PatchedFile(path, 0, 0, note="binary file")
    if added + removed > most:
        return PatchedFile(path, added, removed, note="too long to be shown here: coderefine show --diff prints it")
    old, new = (_lines(path, data or b"") for data in (before, after))
    rows = _Change.of(path, old, new, evidence).rows([step[1:] for step in opcodes(before, after)])
    return PatchedFile(path, added, removed, tuple(rows), note)


def visible(text: str) -> str:
    """Return `text` with visible substitutes for characters that could change the display of other text."""
    return text.translate(INVISIBLE)


def _lines(path: str, data: bytes) -> Sequence[Line]:
    """Return the coloured lines of a file."""
    try:
        lexer = get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False, ensurenl=False)
    if len(data) > MOST_COLOURED:
        lexer = TextLexer(stripnl=False, ensurenl=False)
    lines: list[list[Token]] = [[]]
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for kind, piece in lexer.get_tokens(visible(text)):
        name = _class(kind)
        first, *rest = piece.split("\n")
        lines[-1].append((name, first))
        lines += [[(name, line)] for line in rest]
    return lines if text and not text.endswith("\n") else lines[:-1]


@cache
def _class(kind: _TokenType) -> str:
    return next((name for parent, name in CLASSES if is_token_subtype(kind, parent)), "")


@dataclass(frozen=True, slots=True)
class _Change:
    """The lines of a file before the patch (`old`) and after it (`new`).

    `ran`, `mistakes`: the tests that executed a new line, and its mutants that survived, by line number.
    """

    old: Sequence[Line]
    new: Sequence[Line]
    ran: Mapping[int, Executed]
    mistakes: Mapping[int, Sequence[Mutation]]

    @classmethod
    def of(cls, path: str, old: Sequence[Line], new: Sequence[Line], evidence: Evidence) -> _Change:
        executed = (one for one in evidence.executed if one.path == path)
        ran = {line: one for one in executed for line in range(one.span.first, one.span.last + 1)}
        mistakes: defaultdict[int, list[Mutation]] = defaultdict(list)
        for mistake in evidence.survived:
            if mistake.path == path:
                mistakes[mistake.line].append(mistake)
        return cls(old, new, ran, mistakes)

    def rows(self, steps: Sequence[tuple[int, int, int, int]]) -> Iterator[DiffRow]:
        """Yield all changes with the lines around them. `steps`: (i, j, k, m) if `new[k:m]` replaces `old[i:j]`."""
        shown, shift = 0, 0
        ends = [*(i for i, *_ in steps[1:]), len(self.old)]
        for (i, j, k, m), end in zip(steps, ends, strict=True):
            start = max(shown, i - CONTEXT)
            for line in range(start, i):
                yield self._row(line, line + k - i, skipped=start - shown if line == start else 0)
            yield from (self._row(*pair, changed=True) for pair in zip_longest(range(i, j), range(k, m)))
            shown, shift = min(j + CONTEXT, end), m - j
            yield from (self._row(line, line + shift) for line in range(j, shown))

    def _row(self, old: int | None, new: int | None, *, changed: bool = False, skipped: int = 0) -> DiffRow:
        left, right = [] if old is None else self.old[old], [] if new is None else self.new[new]
        marks = _differences(left, right) if changed else ((), ())
        before = None if old is None else NumberedLine(old + 1, _markup(left, marks[0]))
        if new is None:
            return DiffRow(before, None, changed, skipped=skipped)
        after = NumberedLine(new + 1, _markup(right, marks[1]))
        mistakes = tuple(self.mistakes.get(after.number, ()))
        return DiffRow(before, after, changed, self.ran.get(after.number), mistakes, skipped)


def _differences(before: Line, after: Line) -> tuple[Collection[int], Collection[int]]:
    """Return the positions of the parts in which two lines differ; none if the lines have little in common."""
    old, new = ([text for _, text in line] for line in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < ALIKE:
        return (), ()
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return {at for _, i, j, _, _ in steps for at in range(i, j)}, {at for _, _, _, k, m in steps for at in range(k, m)}


def _markup(line: Line, marked: Collection[int]) -> Markup:
    """Return a line as HTML. `marked`: positions of its parts that differ from the other version of the line."""
    found = []
    for place, (name, text) in enumerate(line):
        piece = f'<span class="{name}">{escape(text)}</span>' if name else escape(text)
        found.append(f"<mark>{piece}</mark>" if place in marked else piece)
    return Markup("".join(found))
