"""Rewritings of comments, which no behaviour depends on."""

from __future__ import annotations

import re
import textwrap

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, Unsure, sure

LIMIT = re.compile(r"\((\d+) > (\d+)\)")
COMMENT = re.compile(r"(?P<margin>\s*)(?P<begin>#\s+(?:[-*]\s+|\d+\.\s+)?)(?P<text>.*)")
PRAGMA = re.compile(r"#\s*(!|noqa|type:|pylint|fmt|isort|pragma|pyright|mypy|ruff|flake8|-\*-|coding|nosec|yapf)|#[^ ]")
TODO = re.compile(r"(#\s*(?:TODO|FIXME|XXX|HACK)(?:\s*\([^)]*\)|\s*@\S+)?)(\s+)(?=\S)", re.IGNORECASE)
COLON = re.compile(r"(#\s*(?:TODO|FIXME|XXX|HACK)(?:\s*\([^)]*\)|\s*@\S+)?:)(?=\S)", re.IGNORECASE)


def limit(at: Diagnostic) -> int:
    """Return how long the line of the finding may be; 0 if the finding does not say it."""
    found = LIMIT.search(at.message)
    return int(found[2]) if found else 0


def wrap(code: Code, at: Diagnostic) -> Edits:
    """E501, W505: a comment on lines of its own that is too long → several lines."""
    width, found = limit(at), COMMENT.match(code.lines[at.first - 1])
    if not width or found is None:
        raise Unsure
    sure(at.first in code.comments, not PRAGMA.match(found["begin"] + found["text"]))
    rows = textwrap.wrap(
        found["text"],
        width,
        initial_indent=found["margin"] + found["begin"],
        subsequent_indent=f"{found['margin']}# {' ' * (len(found['begin']) - 2)}",
        break_long_words=False,
        break_on_hyphens=False,
    )
    sure(all(len(row) <= width and row.strip(" #") for row in rows))
    return code.replace_lines(at.first, at.first, "".join(f"{row}\n" for row in rows))


def add_colon(code: Code, at: Diagnostic) -> Edits:
    """TD004: `# TODO fix` → `# TODO: fix`."""
    return _inserted(code, at, TODO, ":")


def add_space(code: Code, at: Diagnostic) -> Edits:
    """TD007: `# TODO:fix` → `# TODO: fix`."""
    return _inserted(code, at, COLON, " ")


def _inserted(code: Code, at: Diagnostic, pattern: re.Pattern[str], text: str) -> Edits:
    place, comment = code.comments.get(at.first, (0, ""))
    if (found := pattern.match(comment)) is None:
        raise Unsure
    return (code.edit(place + found.end(1), place + found.end(1), text),)
