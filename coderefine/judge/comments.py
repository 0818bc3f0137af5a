"""Comments that silence a tool, read from tokens: the same words inside a string mean nothing."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from coderefine.judge.change import Side
from coderefine.judge.marks import Mark
from coderefine.judge.normal import PYTHON

CODES = re.compile(r"[A-Za-z]+[A-Za-z0-9_-]*")
WITH_CODES = (
    ("noqa", re.compile(r"#\s*noqa\b(?P<codes>\s*:[\sA-Z0-9,]+)?", re.I)),
    ("type: ignore", re.compile(r"#\s*type:\s*ignore\b(?P<codes>\[[^\]]*\])?", re.I)),
    ("pyright: ignore", re.compile(r"#\s*pyright:\s*ignore\b(?P<codes>\[[^\]]*\])?", re.I)),
    ("nosec", re.compile(r"#\s*nosec\b(?P<codes>\s*:?[\sB0-9,]+)?", re.I)),
    (
        "pylint: disable",
        re.compile(r"#\s*pylint:\s*(?:disable(?:-next)?|skip-file)\b(?P<codes>\s*=[\sa-zA-Z0-9,_-]+)?"),
    ),
)
WHOLE = re.compile(
    r"#\s*(?P<what>(?:ruff|flake8|isort|fmt|yapf|black|autopep8|pydocstyle|mypy|pyright|pytype|pyre|pyrefly|ty|codespell"
    r"|cspell|bandit|docformatter)\s*:\s*[a-z][\w-]*"
    r"|pragma:?\s*no\b[\s\w]*|pyre-(?:ignore|fixme)\S*|nosemgrep|nosonar|noinspection\b|lgtm\b|isort:skip_file"
    r"|(?:lizard|radon)\s*:?\s*(?:forgives?|ignore|skip|disable)\w*)",
    re.I,
)
HARMLESS = re.compile(r"fmt:on|isort:on|pyright:strict|mypy:strict|ruff:enable|pylint:enable|yapf:enable|black:on")


def suppressions(side: Side) -> Iterator[Mark]:
    """A mark per silenced rule; a blanket comment may be narrowed, never the other way round."""
    if side.path.endswith(PYTHON):
        for line, comment in _comments(side.text):
            yield from _coded(line, comment)
            yield from _whole(line, comment)


def _coded(line: int, comment: str) -> Iterator[Mark]:
    for name, pattern in WITH_CODES:
        for match in pattern.finditer(comment):
            codes = CODES.findall(match["codes"] or "")
            if not codes:
                yield Mark(f"adds `# {name}`", line)
            for code in codes:
                yield Mark(f"adds `# {name}: {code}`", line, wider=f"adds `# {name}`")


def _whole(line: int, comment: str) -> Iterator[Mark]:
    for match in WHOLE.finditer(comment):
        what = re.sub(r"\s+", "", match["what"].lower())
        if not HARMLESS.match(what) and not what.startswith(("pyright:ignore",)):
            yield Mark(f"adds `# {' '.join(match['what'].split())}`", line)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """(line, comment); of a text that does not tokenize, whatever follows a `#` on any line."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        found = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        lines = enumerate(text.split("\n"), 1)
        found = [(number, line[line.index("#") :]) for number, line in lines if "#" in line]
    yield from found
