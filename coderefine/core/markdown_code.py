"""Text of a project inside Markdown: code spans and fences that it cannot end."""

from __future__ import annotations

import re


def span(text: str) -> str:
    """Return `text` as a code span, in which nothing has an effect."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain[:400]}`" if plain else ""


def fence(text: str) -> str:
    """Return a fence with one backtick more than the longest run inside, at least three."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
