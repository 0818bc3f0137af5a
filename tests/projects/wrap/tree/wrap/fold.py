"""Greedy line breaking."""

import re
import textwrap

INDENT = "  "


def fold(text, width):
    """`text` as lines of at most `width` columns; longer words stand alone."""
    lines = []
    for word in text.split():
        line = lines[-1] if lines else None
        if line is not None and len(line) + 1 + len(word) < width:
            lines[-1] = f"{line} {word}"
        else:
            lines.append(word)
    return lines


def quote(text, width):
    return textwrap.indent("\n".join(fold(text, width - len(INDENT))), INDENT)
