"""Remove a model's reasoning from its reply."""

from __future__ import annotations

import re

NAME = r"(?:think(?:ing)?|thought|reasoning)"
PIECE = re.compile(
    r"^ *<{5,9} ?SEARCH\b(?:(?!^ *<{5,9} ?SEARCH\b)[\s\S])*?^ *>{5,9} ?REPLACE\b"
    rf"|(?<![`'\"])(?:(?P<open><{NAME}>|\[THINK\])|(?P<close></{NAME}>|\[/THINK\]))(?![`'\"])",
    re.MULTILINE,
)
"""Matches a whole SEARCH/REPLACE block, in which a tag is code, or a tag outside of blocks that is not quoted."""


def without_reasoning(text: str) -> str:
    """Return `text` without reasoning: what is between tags, and all before a closing tag that was not opened.

    Some servers put the opening tag into the prompt, so the reply has only the closing one. Reasoning without a closing
    tag goes to the end.
    """
    kept: list[str] = []
    start, thinking = 0, False
    for piece in PIECE.finditer(text):
        if piece["open"] and not thinking:
            kept.append(text[start : piece.start()])
            thinking = True
        elif piece["close"]:
            kept = kept if thinking else []
            start, thinking = piece.end(), False
    return "".join(kept if thinking else (*kept, text[start:]))
