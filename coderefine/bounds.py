"""Bounds of radon's figures that need no parsing (their proofs: critics/maintainability.py, critics/complexity.py)."""

from __future__ import annotations

import math
import re

DECISION = re.compile(r"(?<![A-Za-z_])(?:if|elif|else|for|while|and|or|except|case|assert)\b")
OPERATOR = re.compile(r"==|!=|->|[-+*/%@&|^~<>]|(?<![A-Za-z_])(?:and|or|not|in|is)\b")
SCOPE = re.compile(r"(?<![A-Za-z_])(?:def|class)\b")


def surely_simple(text: str, limit: int) -> bool:
    """Whether the text alone shows that no function of it is more complex than `limit`."""
    return len(DECISION.findall(text)) < limit


def surely_maintainable(text: str, floor: float) -> bool:
    """Whether the text alone shows that its index is not below `floor`, whatever its comments."""
    lines = [line for line in text.splitlines() if line and not line.isspace()]
    logical = len(lines) + sum(":" in line for line in lines) + 2 * text.count(";")
    return bound(text, logical, -1.0) >= floor


def bound(code: str, logical: int, sine: float) -> float:
    """A number the index cannot be below. `sine`: the least the comments' sine can be."""
    length = 3 * sum(operator != "->" for operator in OPERATOR.findall(code))
    complexity = 2 + len(DECISION.findall(code)) + len(SCOPE.findall(code))
    return formula(length * math.log2(length) if length else 0.0, complexity, logical, sine)


def formula(volume: float, complexity: int, logical: int, sine: float) -> float:
    """radon's formula, with the comments' sine given; not cut off at 0 and 100."""
    if volume <= 0 or logical <= 0:
        return 100.0
    return (171 - 5.2 * math.log(volume) - 0.23 * complexity - 16.2 * math.log(logical) + 50 * sine) * 100 / 171
