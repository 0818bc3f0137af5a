"""Text of a project inside Markdown: code spans and fences that the text cannot end."""

from __future__ import annotations

import re


def span(text: str) -> str:
    """Return the first 400 characters of `text` as a code span in one line; "" if `text` is blank.

    Backticks become apostrophes, so that the text cannot end the span.
    """
    plain = " ".join(text.replace("`", "'").split())
    return f"`{plain[:400]}`" if plain else ""


def fence(text: str) -> str:
    """Return a fence for `text`: at least three backticks, and one more than its longest run of backticks."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
