"""Find short operations that turn the actual value of a failed comparison into the expected one."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeGuard

COMPARED = re.compile(r"(?:assert |AssertionError: )?(?P<one>.+?) (?:==|!=) (?P<two>.+)")
"""Messages of pytest and unittest for two values that are not equal."""
MOST_ADDED = 3
"""Maximum length of a string literal in an operation: a longer literal would copy the expected value."""
FACTORS = (2, 3, 4, 7, 10, 12, 24, 60, 100, 1000, 1024, 3600)
"""Factors between usual units, and small factors."""
TIMES, DIVIDED = "{{}} * {}", "{{}} / {}"
"""Templates of the operations with a factor."""
HUGE = 1e15
"""Limit of the numbers for which operations are searched: larger numbers are infinite, or inexact as float."""
EMPTY = '""'
MOST_DIGITS = 4
"""Maximum number of decimals of a rounding."""


def compared(message: str) -> tuple[object, object] | None:
    """Return the actual and the expected value in the first line of a failure's message.

    Return None if the line does not compare two literals.
    """
    match = COMPARED.fullmatch(message.split("\n", 1)[0].strip())
    if match is None:
        return None
    try:
        return ast.literal_eval(match["one"]), ast.literal_eval(match["two"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def operations(messages: Iterable[str]) -> dict[str, float]:
    """Return the operations that explain failures, each with the share of the messages that it explains.

    In an operation, `{}` stands for the actual value.
    """
    texts = list(messages)
    found = Counter(shape for text in texts for shape in set(_of_pair(*(compared(text) or (None, None)))))
    return {shape: count / len(texts) for shape, count in found.items()}


def factors(shapes: Mapping[str, float]) -> tuple[float, ...]:
    """Return the factors of the multiplications and divisions in `shapes` (see `operations`); 1/n for division by n."""
    larger = (float(factor) for factor in FACTORS if TIMES.format(factor) in shapes)
    return (*larger, *(1 / factor for factor in FACTORS if DIVIDED.format(factor) in shapes))


def ratios(messages: Iterable[str]) -> frozenset[float]:
    """Return the ratios of the expected number to the actual one in those `messages` that show two numbers."""
    pairs = (pair for text in messages if (pair := compared(text)) is not None)
    return frozenset(two / one for one, two in pairs if _is_finite(one) and _is_finite(two))


def _is_finite(value: object) -> TypeGuard[float]:
    """Return whether `value` is a number other than 0 for which operations are searched."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < abs(value) < HUGE


def _of_pair(actual: object, expected: object) -> Iterator[str]:
    """Yield the operations that turn `actual` into `expected`."""
    tried: Mapping[str, object] = {}
    match actual, expected:
        case (bool(), _) | (_, bool()):
            return
        case str(), str() if actual and expected:
            tried = _on_text(actual, expected)
        case list(), list():
            tried = _on_list(actual)
        case (int() | float(), int() | float()) if expected and max(abs(actual), abs(expected)) < HUGE:
            tried = _on_number(float(actual))
    yield from (shape for shape, result in tried.items() if actual != expected and _same(result, expected))


def _same(one: object, two: object) -> bool:
    numbers = isinstance(one, int | float) and isinstance(two, int | float)
    return math.isclose(one, two, rel_tol=1e-9) if numbers else one == two  # type: ignore[arg-type]


def _on_text(actual: str, expected: str) -> dict[str, str]:
    """Return operations on a text, with their results; their literals follow from `expected`, see MOST_ADDED."""
    tried = {
        f"{{}}.replace({_quoted(one)}, {_quoted(two) or EMPTY})": actual.replace(one, two)
        for one, two in _exchanged(actual, expected)
    }
    if actual in expected:
        before, _, behind = expected.partition(actual)
        tried[" + ".join(filter(None, (_quoted(before), "{}", _quoted(behind))))] = expected
    elif expected in actual:
        tried |= _without_ends(actual, *actual.split(expected, 1))
    return {shape: result for shape, result in tried.items() if _literals(shape) <= MOST_ADDED}


def _exchanged(actual: str, expected: str) -> set[tuple[str, str]]:
    """Return pairs of a character of `actual` and its replacement: the character at the same position of `expected`.

    The replacement is "" for characters that `expected` does not contain. Pairs with letters or digits are left out,
    because they would fit only this text.
    """
    pairs = {pair for pair in zip(actual, expected, strict=False) if pair[0] != pair[1]}
    pairs |= {(gone, "") for gone in {*actual} - {*expected}}
    return {(one, two) for one, two in pairs if not one.isalnum() and not two.isalnum()}


def _without_ends(actual: str, before: str, behind: str) -> dict[str, str]:
    """Return operations that remove `before` and `behind` from the ends of a text, with their results."""
    ends = "".join(dict.fromkeys(before + behind))
    given = "" if ends.isspace() else _quoted(ends)
    tried = {f"{{}}.{name}({given})": getattr(actual, name)(ends) for name in ("strip", "rstrip", "lstrip")}
    tried |= {f"{{}}.removesuffix({_quoted(behind)})": actual.removesuffix(behind)} if len(behind) > 1 else {}
    return tried | ({f"{{}}.removeprefix({_quoted(before)})": actual.removeprefix(before)} if len(before) > 1 else {})


def _literals(shape: str) -> int:
    """Return the length of the longest literal of an operation."""
    return max((len(text) for text in re.findall(r'"([^"]*)"', shape)), default=0)


def _on_list(actual: list[Any]) -> dict[str, object]:
    tried: dict[str, object] = {"{}[::-1]": actual[::-1]}
    with contextlib.suppress(TypeError):
        tried["list(dict.fromkeys({}))"] = list(dict.fromkeys(actual))
        tried |= {"sorted({})": sorted(actual), "sorted({}, reverse=True)": sorted(actual, reverse=True)}
    return tried


def _on_number(actual: float) -> dict[str, float]:
    tried = {"-{}": -actual, "int({})": int(actual), "round({})": round(actual)}
    tried |= {"abs({})": abs(actual)} if actual < 0 else {}
    tried |= {f"round({{}}, {digits})": round(actual, digits) for digits in range(1, MOST_DIGITS + 1)}
    for factor in FACTORS:
        tried |= {TIMES.format(factor): actual * factor, DIVIDED.format(factor): actual / factor}
        tried |= {f"{{}} // {factor}": actual // factor}
    return {shape: result for shape, result in tried.items() if result != actual}


def _quoted(text: str) -> str:
    """Return `text` as a string literal, in double quotes if that needs no other escapes; "" if `text` is empty."""
    shown = repr(text)
    plain = '"' not in shown and "\\'" not in shown
    return "" if not text else f'"{shown[1:-1]}"' if plain else shown
