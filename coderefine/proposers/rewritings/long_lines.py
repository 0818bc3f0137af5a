"""Rewritings of lines that are too long: comments, docstrings, strings, and rows of elements."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
import textwrap

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, expect, sure
from coderefine.proposers.rewritings.docstrings import BLOCK, OPENING, joined, owner, parted

LIMIT = re.compile(r"\((\d+) > (\d+)\)")
COMMENT = re.compile(r"(?P<margin>\s*)(?P<begin>#\s+(?:[-*]\s+|\d+\.\s+)?)(?P<text>.*)")
PRAGMA = re.compile(r"#\s*(!|noqa|type:|pylint|fmt|isort|pragma|pyright|mypy|ruff|flake8|-\*-|coding|nosec|yapf)|#[^ ]")
ALIGNED = re.compile(r"[^.?!:]\s{2}")
"""Columns of a table: white space that a paragraph would lose."""
SECTION = re.compile(r"(Args|Arguments|Keyword Args|Keyword Arguments|Parameters|Raises|Attributes|Returns|Yields):$")
TEXTS = re.compile(r":\w[^:`]*:|\.\. (note|warning|seealso|version\w+|deprecated)::")
"""The beginning of a field or a note, which is followed by text, also in rows that are indented."""
EXAMPLE = re.compile(r"\s*(>>>|\.\.\.|\$ |Traceback )")
FENCE = re.compile(r"\s*`+\w*\s*$")
JOINT = "\x00"
QUOTED = re.compile(r"`[^`]*`")
ENTRY = re.compile(r"[*\w.]+(?: \([^)]*\))?: ")


def limit(at: Diagnostic) -> int:
    """Return the maximum length in the text of the finding; 0 if it contains none."""
    found = LIMIT.search(at.message)
    return int(found[2]) if found else 0


def shorten(code: Code, at: Diagnostic) -> Edits:
    """E501, W505: divide a line that is too long into several lines."""
    sure(limit(at))
    for rewriting in (
        _wrap_comment,
        _part_summary,
        _wrap_docstring,
        _wrap_item,
        _break_elements,
        _break_string,
        _break_row,
    ):
        with contextlib.suppress(Unsure):
            return rewriting(code, at)
    raise Unsure


def _wrap_comment(code: Code, at: Diagnostic) -> Edits:
    """Wrap a comment on a line of its own."""
    found = expect(COMMENT.match(code.lines[at.first - 1]), re.Match)
    sure(at.first in code.comments, not PRAGMA.match(found["begin"] + found["text"]))
    return _wrapped(
        code,
        at,
        at.first,
        found["text"],
        (found["margin"] + found["begin"], found["margin"] + f"#{' ' * (len(found['begin']) - 1)}"),
    )


def _wrap_docstring(code: Code, at: Diagnostic) -> Edits:
    """Wrap the rest of a paragraph in a docstring, from the long line on; not in lists, examples or tables."""
    string = _docstring_around(code, at.first)
    margin = code.indent(string)
    below = itertools.takewhile(str.strip, code.lines[at.first - 1 : (string.end_lineno or 0) - 1])
    rows = list(itertools.takewhile(lambda row: not BLOCK.match(row), below))
    last = at.first - 1 + len(rows)
    sure(rows, all(row.startswith(margin) and not row[len(margin)].isspace() for row in rows))
    sure(not any("\\" in row or ALIGNED.search(row.strip()) for row in rows), _is_prose(code, string, at.first))
    return _wrapped(code, at, last, joined(rows), (margin, margin))


def _wrap_item(code: Code, at: Diagnostic) -> Edits:
    """Wrap the rest of a field or a note in a docstring, from the long line on; its further rows are indented."""
    string, row = _docstring_around(code, at.first), code.lines[at.first - 1]
    pad = _padding(row)
    below = itertools.takewhile(str.strip, code.lines[at.first : (string.end_lineno or 0) - 1])
    rows = [row, *itertools.takewhile(lambda one: len(_padding(one)) >= len(pad) and not _begins(one), below)]
    hanging = _hanging(code, string, at.first, rows)
    sure(all(_padding(one) == hanging for one in rows[1:]), _is_prose(code, string, at.first))
    sure(not any("\\" in one or ALIGNED.search(one.strip()) for one in rows))
    return _wrapped(code, at, at.first - 1 + len(rows), " ".join(" ".join(rows).split()), (pad, hanging))


def _begins(row: str) -> bool:
    return bool(BLOCK.match(row) or ENTRY.match(row.strip()))


def _is_prose(code: Code, string: ast.Expr, line: int) -> bool:
    """Return whether a line of a docstring is prose: no example in its paragraph, and not between fences."""
    above = code.lines[string.lineno - 1 : line - 1]
    paragraph = itertools.takewhile(str.strip, reversed(above))
    return not any(map(EXAMPLE.match, paragraph)) and sum(bool(FENCE.match(row)) for row in above) % 2 == 0


def _hanging(code: Code, string: ast.Expr, line: int, rows: list[str]) -> str:
    """Return the indentation of the second and later rows of a docstring item (a field or a note) after wrapping it.

    `rows`: the rows of the item, from `line` on. Raises Unsure if it is not certain that this is an item.
    """
    pad, margin, text = _padding(rows[0]), code.indent(string), rows[0].strip()
    usual = _deeper(rows) or pad + "    "
    if TEXTS.match(text):
        return usual
    above = (code.lines[row - 1] for row in range(line - 1, string.lineno, -1))
    head = next((row.strip() for row in above if len(_padding(row)) < len(pad)), "")
    section = SECTION.match(head)
    sure(len(pad) > len(margin), pad.startswith(margin), section or TEXTS.match(head) or ENTRY.match(head))
    return usual if section and ENTRY.match(text) else pad


def _deeper(rows: list[str]) -> str:
    """Return the indentation of the second row if it is deeper than that of the first row; "" otherwise."""
    first, second = (_padding(row) for row in (rows[0], rows[-1] if len(rows) == 1 else rows[1]))
    return second if len(second) > len(first) else ""


def _padding(row: str) -> str:
    return row[: len(row) - len(row.lstrip())] if row.strip() else " " * len(row)


def _part_summary(code: Code, at: Diagnostic) -> Edits:
    """Divide the first row of a docstring after its first sentence or a clause, and insert a blank line there."""
    string = expect(next((one for one in code.docstrings if one.lineno in (at.first, at.first - 1)), None), ast.Expr)
    opening = expect(OPENING.match(code.code(string)), re.Match)
    margin, ends = code.indent(string), string.end_lineno == at.first
    begin = max(code.start(string) + opening.end(), code.line_start(at.first))
    end = code.end(string) - len(opening[1]) if ends else code.line_start(at.first + 1) - 1
    text, below = code.text[begin:end], "" if ends else code.lines[at.first].strip(" \t\n\"'")
    sure(begin <= end, not code.text[code.start(string) + opening.end() : begin].strip(), not below, "\\" not in text)
    summary, rest = parted(
        text.strip(),
        limit(at) - (begin - code.line_start(at.first) + len(_padding(text))),
        owner(code, string.value, at.path),
    )
    sure(rest, not BLOCK.match(rest))
    rows = textwrap.wrap(rest, limit(at) - len(margin), break_long_words=False, break_on_hyphens=False)
    made = [f"{_padding(text)}{summary}", "", *(margin + row for row in rows), *([margin] if ends else ())]
    return (code.edit(begin, end, "\n".join(made)),)


def _break_string(code: Code, at: Diagnostic) -> Edits:
    """Divide a string that is too long into several strings, each on its own row, in parentheses where necessary."""
    found = _longest_string(code, at.first)
    written = expect(STRING.fullmatch(code.code(found)), re.Match)
    parent, line = code.parents[found], code.lines[at.first - 1]
    sure(not isinstance(parent, ast.Expr | ast.FormattedValue | ast.JoinedStr))
    begin, after = code.line_start(at.first), code.text[code.end(found) :][:1]
    before = code.text[begin : code.start(found)]
    own = not before.strip() and isinstance(parent, ast.Call)
    margin = _padding(line) + ("" if own else code.step)
    rows = f"\n{margin}".join(_parts(written, limit(at) - len(margin) - 1))
    if own:
        return code.replace(found, rows)
    sole = isinstance(parent, ast.Call) and before[-1:] + after == "()"
    made = f"\n{margin}{rows}\n{_padding(line)}"
    return code.replace(found, made if sole else f"({made})")


def _break_row(code: Code, at: Diagnostic) -> Edits:
    """Divide one row of a string that is written as several strings, each on its own row."""
    row = code.lines[at.first - 1].rstrip("\n")
    margin, rest = _padding(row), "," if row.endswith(",") else ""
    written = expect(STRING.fullmatch(row.strip().removesuffix(",")), re.Match)
    strings = (one for one in code.nodes if isinstance(one, ast.Constant | ast.JoinedStr))
    around = [one for one in strings if one.lineno <= at.first <= (one.end_lineno or 0) != one.lineno]
    sure(around, not any(mark in code.code(one) for one in around for mark in ('"""', "'''", "\\\n")))
    rows = f"\n{margin}".join(_parts(written, limit(at) - len(margin) - len(rest)))
    return code.replace_lines(at.first, at.first, f"{margin}{rows}{rest}\n")


STRING = re.compile(r"""(?P<prefix>[fF]?)(?P<quote>["'])(?!\2\2)(?P<text>(\\.|(?!(?P=quote))[^\\])*)(?P=quote)""")
PIECE = re.compile(r"(?:\{\{|\{[^{}]*\}|\\.|[^ {\\])* *")
"""A part after which a string may be divided: a word with the spaces after it; an f-string's braces as a whole."""


def _longest_string(code: Code, line: int) -> ast.Constant | ast.JoinedStr:
    """Return the longest string that begins and ends in `line`. Raises Unsure if there is none."""
    whole = (one for one in code.nodes if getattr(one, "lineno", 0) == getattr(one, "end_lineno", 0) == line)
    found = [one for one in whole if isinstance(one, ast.Constant | ast.JoinedStr)]
    sure(found)
    return max(found, key=lambda one: len(code.code(one)))


def _parts(written: re.Match[str], width: int) -> list[str]:
    """Return the parts of a string, each no longer than `width` with its quotes. Raises Unsure if a part is longer."""
    rows, pieces = [""], PIECE.findall(written["text"])
    sure("".join(pieces) == written["text"])
    for piece in pieces:
        sign = written["prefix"] + written["quote"]
        if rows[-1] and piece and len(f"{sign}{rows[-1]}{piece}{written['quote']}") > width:
            rows.append("")
        rows[-1] += piece
    prefixes = (written["prefix"] if "{" in row or "}" in row else "" for row in rows)
    parts = [f"{prefix}{written['quote']}{row}{written['quote']}" for prefix, row in zip(prefixes, rows, strict=True)]
    sure(len(parts) > 1, all(len(part) <= width for part in parts))
    return parts


def _docstring_around(code: Code, line: int) -> ast.Expr:
    """Return the docstring that contains `line`, but not as its first or last line. Raises Unsure if there is none."""
    around = (one for one in code.docstrings if one.lineno < line < (one.end_lineno or 0))
    return expect(next(around, None), ast.Expr)


def _wrapped(code: Code, at: Diagnostic, last: int, text: str, margins: tuple[str, str]) -> Edits:
    """Return edits that replace the lines from the finding to `last` by `text`, wrapped.

    `margins`: what precedes the text in the first row, and in the others.
    """
    # Quoted text is not divided.
    rows = textwrap.wrap(
        QUOTED.sub(lambda found: found[0].replace(" ", JOINT), text),
        width := limit(at),
        initial_indent=margins[0],
        subsequent_indent=margins[1],
        break_long_words=False,
        break_on_hyphens=False,
    )
    rows = [row.replace(JOINT, " ") for row in rows]
    sure(all(len(row) <= width and row.strip(" #") for row in rows))
    return code.replace_lines(at.first, last, "".join(f"{row}\n" for row in rows))


def _break_elements(code: Code, at: Diagnostic) -> Edits:
    """Put the elements of a row that is too long on several rows, in a list with several elements per row."""
    own, packed = _elements(code, at)
    sure(len(own) > 1, packed, all(one.end_lineno == one.lineno for one in own))
    start, end = code.start(own[0]), code.line_start(own[-1].lineno + 1) - 1
    margin = code.text[code.line_start(at.first) : start]
    between = (code.text[code.end(one) : code.start(after)] for one, after in itertools.pairwise(own))
    sure(not margin.strip(), all(text.strip() == "," for text in between), not code.commented(start, end))
    rows = [margin + code.code(own[0])]
    for one in own[1:]:
        # Text after the last element, often a comma, stays in its row.
        rest = code.text[code.end(one) : end].rstrip() if one is own[-1] else ","
        if len(f"{rows[-1]}, {code.code(one)}{rest}") > limit(at):
            rows += [margin]
        rows[-1] += f"{', ' if rows[-1] != margin else ''}{code.code(one)}"
    sure(all(len(row) < limit(at) for row in rows))
    return (code.edit(start, code.end(own[-1]), ",\n".join(rows).removeprefix(margin)),)


def _elements(code: Code, at: Diagnostic) -> tuple[list[ast.expr], bool]:
    """Return the elements of a list in the finding's row, and in the rows after it that are also too long.

    The list is the innermost that begins above. Also return whether another row of the list has several elements.
    """
    rows = next((row for row in reversed(_rows(code, at.first)) if at.first in row), {})
    last = at.first
    while last + 1 in rows and len(code.lines[last].rstrip()) > limit(at):
        last += 1
    own = itertools.chain.from_iterable(rows.get(line, ()) for line in range(at.first, last + 1))
    return [*own], any(len(row) > 1 for line, row in rows.items() if not at.first <= line <= last)


def _rows(code: Code, line: int) -> list[dict[int, list[ast.expr]]]:
    """Return the elements of each list, set or tuple that begins above `line`, grouped by the line where they begin.

    Outer lists come before inner lists.
    """
    lists = (one for one in code.nodes if isinstance(one, ast.List | ast.Set | ast.Tuple))
    groups = (itertools.groupby(one.elts, lambda each: each.lineno) for one in lists if one.lineno < line)
    return [{first: list(row) for first, row in group} for group in groups]
