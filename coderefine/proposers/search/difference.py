"""By what a test's actual value differs from the expected one, and the names of what makes such a difference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

CASE = ("lower", "upper", "title", "capitalize", "casefold", "swapcase", "lowercase", "uppercase", "ignorecase")
BLANKS = (
    "strip",
    "lstrip",
    "rstrip",
    "ljust",
    "rjust",
    "center",
    "expandtabs",
    "split",
    "join",
    "zfill",
    "dedent",
    "indent",
)
ORDER = ("sorted", "sort", "reverse", "reversed", "min", "max", "key", "insert", "append", "appendleft", "extendleft")
COMPARED = re.compile(r"(?:assert |AssertionError: )?(?P<one>.+?) (?:==|!=) (?P<two>.+)")
"""pytest's and unittest's words for two values that are not equal."""


def differing(said: Iterable[str]) -> frozenset[str]:
    """Names of operations that could have made the differences that `said`, the failures' words, show."""
    found: set[str] = set()
    for text in said:
        pair = _values(text.split("\n", 1)[0])
        if pair is not None:
            found.update(_names(*pair))
    return frozenset(found)


def _values(line: str) -> tuple[object, object] | None:
    match = COMPARED.fullmatch(line.strip())
    if match is None:
        return None
    try:
        return ast.literal_eval(match["one"]), ast.literal_eval(match["two"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _names(one: object, two: object) -> tuple[str, ...]:
    if isinstance(one, str) and isinstance(two, str) and one != two:
        return _texts(one, two)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple) and one != two:
        return ORDER if sorted(map(repr, one)) == sorted(map(repr, two)) else ()
    return ()


def _texts(one: str, two: str) -> tuple[str, ...]:
    if one.lower() == two.lower():
        return CASE
    if re.sub(r"\s", "", one) == re.sub(r"\s", "", two):
        return BLANKS
    return ORDER if sorted(one) == sorted(two) else ()
