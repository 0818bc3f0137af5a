"""Rewritings of lines that are too long: comments, docstrings, and rows of elements."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
import textwrap

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, expect, sure
from coderefine.proposers.rewritings.docstrings import BLOCK, joined

LIMIT = re.compile(r"\((\d+) > (\d+)\)")
COMMENT = re.compile(r"(?P<margin>\s*)(?P<begin>#\s+(?:[-*]\s+|\d+\.\s+)?)(?P<text>.*)")
PRAGMA = re.compile(r"#\s*(!|noqa|type:|pylint|fmt|isort|pragma|pyright|mypy|ruff|flake8|-\*-|coding|nosec|yapf)|#[^ ]")
ALIGNED = re.compile(r"[^.?!:]\s{2}")
"""Columns of a table: white space that a paragraph would lose."""


def limit(at: Diagnostic) -> int:
    """Return how long the line of the finding may be; 0 if the finding does not say it."""
    found = LIMIT.search(at.message)
    return int(found[2]) if found else 0


def shorten(code: Code, at: Diagnostic) -> Edits:
    """E501, W505: more lines in place of one."""
    sure(limit(at))
    for rewriting in (_wrap_comment, _wrap_docstring, _break_elements):
        with contextlib.suppress(Unsure):
            return rewriting(code, at)
    raise Unsure


def _wrap_comment(code: Code, at: Diagnostic) -> Edits:
    """Wrap a comment on a line of its own."""
    found = COMMENT.match(code.lines[at.first - 1])
    if found is None:
        raise Unsure
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
    found = next((one for one in ast.walk(code.tree) if _is_docstring(code, one, at.first)), None)
    string = expect(found, ast.Expr)
    margin = code.indent(string)
    below = itertools.takewhile(str.strip, code.lines[at.first - 1 : (string.end_lineno or 0) - 1])
    rows = list(itertools.takewhile(lambda row: not BLOCK.match(row), below))
    last = at.first - 1 + len(rows)
    sure(rows, all(row.startswith(margin) and not row[len(margin)].isspace() for row in rows))
    sure(not any("\\" in row or ALIGNED.search(row.strip()) for row in rows))
    return _wrapped(code, at, last, joined(rows), (margin, margin))


def _is_docstring(code: Code, node: ast.AST, line: int) -> bool:
    """Return whether `node` is a docstring that has `line` between its first and its last one."""
    if not isinstance(node, ast.Expr) or not node.lineno < line < (node.end_lineno or 0):
        return False
    return isinstance(node.value, ast.Constant) and code.siblings(node)[0] is node


def _wrapped(code: Code, at: Diagnostic, last: int, text: str, margins: tuple[str, str]) -> Edits:
    """Replace the lines from that of the finding to `last` by `text`. `margins`: before the first row, others."""
    rows = textwrap.wrap(
        text,
        width := limit(at),
        initial_indent=margins[0],
        subsequent_indent=margins[1],
        break_long_words=False,
        break_on_hyphens=False,
    )
    sure(all(len(row) <= width and row.strip(" #") for row in rows))
    return code.replace_lines(at.first, last, "".join(f"{row}\n" for row in rows))


def _break_elements(code: Code, at: Diagnostic) -> Edits:
    """Fill rows of elements anew, as far as they are too long, in a list that has several elements in a row."""
    own, packed = _elements(code, at)
    sure(len(own) > 1, packed, all(one.end_lineno == one.lineno for one in own))
    start, end = code.start(own[0]), code.begin(own[-1].lineno + 1) - 1
    margin = code.text[code.begin(at.first) : start]
    between = (code.text[code.end(one) : code.start(after)] for one, after in itertools.pairwise(own))
    sure(not margin.strip(), all(text.strip() == "," for text in between), not code.commented(start, end))
    rows = [margin + code.source(own[0])]
    for one in own[1:]:
        # What follows the last one, often a comma, stays in its row.
        rest = code.text[code.end(one) : end].rstrip() if one is own[-1] else ","
        if len(f"{rows[-1]}, {code.source(one)}{rest}") > limit(at):
            rows += [margin]
        rows[-1] += f"{', ' if rows[-1] != margin else ''}{code.source(one)}"
    sure(all(len(row) < limit(at) for row in rows))
    return (code.edit(start, code.end(own[-1]), ",\n".join(rows).removeprefix(margin)),)


def _elements(code: Code, at: Diagnostic) -> tuple[list[ast.expr], bool]:
    """Return the elements in the row of the finding and in the next ones as far as they are too long.

    They are those of the innermost list that begins above; and whether another row of it has several elements.
    """
    rows = next((row for row in reversed(_rows(code, at.first)) if at.first in row), {})
    last = at.first
    while last + 1 in rows and len(code.lines[last].rstrip()) > limit(at):
        last += 1
    own = itertools.chain.from_iterable(rows.get(line, ()) for line in range(at.first, last + 1))
    return [*own], any(len(row) > 1 for line, row in rows.items() if not at.first <= line <= last)


def _rows(code: Code, line: int) -> list[dict[int, list[ast.expr]]]:
    """Return the elements of each list that begins above `line`, by their lines; inner lists last."""
    lists = (one for one in ast.walk(code.tree) if isinstance(one, ast.List | ast.Set | ast.Tuple))
    groups = (itertools.groupby(one.elts, lambda each: each.lineno) for one in lists if one.lineno < line)
    return [{first: list(row) for first, row in group} for group in groups]
