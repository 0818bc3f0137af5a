"""Text of a project inside Markdown: code spans and fences that the text cannot end."""

from __future__ import annotations

import re


def span(text: str) -> str:
    """Return `text`, shortened, as a code span in which no markup has an effect."""
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain[:400]}`" if plain else ""


def fence(text: str) -> str:
    """Return a fence for `text`: at least three backticks, and one more than its longest run of backticks."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
