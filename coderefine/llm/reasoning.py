"""Remove a model's reasoning from its reply."""

from __future__ import annotations

import re

NAME = r"(?:think(?:ing)?|thought|reasoning)"
START = r"^ *<{5,9} ?SEARCH\b"
BODY = rf"(?:(?!{START})[\s\S])*?"
BARE_END = r"^ *>{5,9} *\r?$"
PIECE = re.compile(
    rf"(?P<block>{START}(?:{BODY}^ *>{{5,9}} ?REPLACE\b"
    rf"|(?:(?!{START}|{BARE_END})[\s\S])*?{BARE_END}(?!{BODY}{BARE_END})))"
    rf"|(?<![`'\"])(?:(?P<open><{NAME}>|\[THINK\])|(?P<close></{NAME}>|\[/THINK\]))(?![`'\"])",
    re.MULTILINE,
)
"""Matches a whole SEARCH/REPLACE block, in which a tag is code, or a tag outside of blocks that is not quoted.

A block may end as in `reply.py`: if it has no REPLACE line, at its only line of arrows.
"""
ANSWER = re.compile(r"<{5,9} ?SEARCH\b|\bNO REPAIR\b|\bNEED\b|```|~~~|\{")
"""Matches the beginning of an answer: a block, a refusal, a request for code, code in fences, or JSON."""


def without_reasoning(text: str) -> str:
    """Remove from `text` what is between two tags of reasoning, and all before a closing tag without opening tag.

    Some servers put the opening tag into the prompt, so the reply has only the closing one. If the reply starts with an
    opening tag that is never closed, all of it is reasoning. Other tags are ordinary text, and stay.
    """
    kept, start, thinking, answered = "", 0, False, False
    last = max((0, *(answer.start() for answer in ANSWER.finditer(text))))
    for piece in PIECE.finditer(text):
        if piece["block"]:
            answered |= not thinking
        elif piece["open"] and not thinking:
            kept += text[start : piece.start()]
            start, thinking = piece.start(), True
        elif piece["close"] and _ends_reasoning(text, piece, (thinking, not answered, last >= piece.end())):
            kept = kept if thinking else ""
            start, thinking = piece.end(), False
    return _joined(kept, text[start:], thinking=thinking)


def _ends_reasoning(text: str, tag: re.Match[str], signs: tuple[bool, bool, bool]) -> bool:
    """Return whether the closing `tag` ends reasoning, and is not a word of a sentence.

    `signs`: whether reasoning was opened, no complete block precedes the tag, and an answer follows it. If reasoning
    was not opened, two of these must hold: no block precedes the tag, an answer follows it, it begins or ends its line.
    """
    opened, unanswered, followed = signs
    first, last = text.rfind("\n", 0, tag.start()) + 1, text.find("\n", tag.end())
    before, after = text[first : tag.start()], text[tag.end() : last if last >= 0 else None]
    edge = not (before.strip() and after.strip())
    return opened or unanswered + followed + edge >= 2


def _joined(kept: str, rest: str, *, thinking: bool) -> str:
    """Return `kept` and `rest`; only `kept` if `rest` is unclosed reasoning (`thinking`) and `kept` is blank."""
    return kept if thinking and not kept.strip() else kept + rest
