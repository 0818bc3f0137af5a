"""Parts of messages: numbers with nouns, lists of names, and text without line ends and control characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

COMMANDS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Line ends, characters that a terminal obeys or that change the direction of text, and lone surrogates."""


def counted(count: int, noun: str) -> str:
    """Return `count` with its noun in the singular or plural: `1 test`, `1,991 tests`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first `most` of `names`, joined by commas; if there are further names, append their number."""
    more = len(names) - most
    return ", ".join(map(printable, names[:most])) + (f" and {more} more" if more > 0 else "")


def printable(text: str, besides: str = "") -> str:
    r"""Return `text` with escapes (`\n`, `\x1b`) in place of the characters of COMMANDS, except those in `besides`."""
    return COMMANDS.sub(lambda found: found[0] if found[0] in besides else ascii(found[0])[1:-1], text)
