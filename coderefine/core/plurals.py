"""Numbers with their nouns, for messages."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return `1 test`, `2 tests`, `1,991 tests`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
