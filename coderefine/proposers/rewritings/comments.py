"""Rewritings of comments, which do not affect behaviour."""

from __future__ import annotations

import re

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, expect

TODO = re.compile(r"(#\s*(?:TODO|FIXME|XXX|HACK)(?:\s*\([^)]*\)|\s*@\S+)?)(\s+(?=\S)|$)", re.IGNORECASE)
COLON = re.compile(r"(#\s*(?:TODO|FIXME|XXX|HACK)(?:\s*\([^)]*\)|\s*@\S+)?:)(?=\S)", re.IGNORECASE)


def add_colon(code: Code, at: Diagnostic) -> Edits:
    """TD004: `# TODO fix` → `# TODO: fix`, also without a text."""
    return _inserted(code, at, TODO, ":")


def add_space(code: Code, at: Diagnostic) -> Edits:
    """TD007: `# TODO:fix` → `# TODO: fix`."""
    return _inserted(code, at, COLON, " ")


def _inserted(code: Code, at: Diagnostic, pattern: re.Pattern[str], text: str) -> Edits:
    place, comment = code.comments.get(at.first, (0, ""))
    found = expect(pattern.match(comment), re.Match)
    return (code.edit(place + found.end(1), place + found.end(1), text),)
