"""What turns the actual value of a failed comparison into the expected one, as far as a short operation does."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

COMPARED = re.compile(r"(?:assert |AssertionError: )?(?P<one>.+?) (?:==|!=) (?P<two>.+)")
"""Messages of pytest and unittest for two values that are not equal."""
MOST_ADDED = 3
"""Maximum length of a text that is put before or behind a value: a longer one would be an answer, no repair."""
FACTORS = (2, 3, 4, 7, 10, 12, 24, 60, 100, 1000, 1024, 3600)
"""Factors between usual units, and small ones."""
HUGE = 1e15
"""Numbers from which on no operation is looked for."""
MOST_DIGITS = 4
"""Maximum number of decimals of a rounding."""


def compared(message: str) -> tuple[object, object] | None:
    """Return the actual and the expected value that the first line of a failure's message shows; None without them."""
    match = COMPARED.fullmatch(message.split("\n", 1)[0].strip())
    if match is None:
        return None
    try:
        return ast.literal_eval(match["one"]), ast.literal_eval(match["two"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def operations(messages: Iterable[str]) -> dict[str, float]:
    """Return the operations (`{}` is the value) that explain failures, with the share of the messages they explain."""
    texts = list(messages)
    found = Counter(shape for text in texts for shape in set(_of_pair(*(compared(text) or (None, None)))))
    return {shape: count / len(texts) for shape, count in found.items()}


def _of_pair(actual: object, expected: object) -> Iterator[str]:
    if actual == expected or isinstance(actual, bool) or isinstance(expected, bool):
        return
    if isinstance(actual, str) and isinstance(expected, str):
        if actual and expected:
            yield from _of_texts(actual, expected)
    elif isinstance(actual, list) and isinstance(expected, list):
        yield from _of_lists(actual, expected)
    elif (
        isinstance(actual, int | float)
        and isinstance(expected, int | float)
        and max(abs(actual), abs(expected)) < HUGE  # neither infinite, nor too long for a float
    ):
        yield from _of_numbers(float(actual), float(expected))


def _of_texts(actual: str, expected: str) -> Iterator[str]:
    before, found, behind = expected.partition(actual)
    if found and max(len(before), len(behind)) <= MOST_ADDED:
        yield " + ".join(filter(None, (_quoted(before), "{}", _quoted(behind))))
    before, found, behind = actual.partition(expected)
    if found:
        yield from _of_ends(before, behind)
    pairs = {(one, two) for one, two in zip(actual, expected, strict=False) if one != two}
    if len(actual) == len(expected) and len(pairs) == 1:
        one, two = pairs.pop()
        yield f"{{}}.replace({_quoted(one)}, {_quoted(two)})"
    for gone in {*actual} - {*expected}:
        if actual.replace(gone, "") == expected:
            yield f'{{}}.replace({_quoted(gone)}, "")'


def _of_ends(before: str, behind: str) -> Iterator[str]:
    """Yield what removes `before` and `behind` from the ends of a text."""
    both = "".join(dict.fromkeys(before + behind))
    names = ["strip", *(["rstrip"] if not before else []), *(["lstrip"] if not behind else [])]
    if len(both) <= MOST_ADDED:
        yield from (f"{{}}.{name}({'' if both.isspace() else _quoted(both)})" for name in names)
    if len(both) > 1 and len(before + behind) <= MOST_ADDED and not (before and behind):
        yield f"{{}}.removesuffix({_quoted(behind)})" if behind else f"{{}}.removeprefix({_quoted(before)})"


def _of_lists(actual: list[object], expected: list[object]) -> Iterator[str]:
    if actual[::-1] == expected:
        yield "{}[::-1]"
    if list(dict.fromkeys(map(repr, actual))) == list(map(repr, expected)):
        yield "list(dict.fromkeys({}))"
    try:
        if sorted(actual) == expected:  # type: ignore[type-var]
            yield "sorted({})"
        if sorted(actual, reverse=True) == expected:  # type: ignore[type-var]
            yield "sorted({}, reverse=True)"
    except TypeError:
        return


def _of_numbers(actual: float, expected: float) -> Iterator[str]:
    for factor in FACTORS:
        if _close(actual * factor, expected):
            yield f"{{}} * {factor}"
        if _close(actual / factor, expected):
            yield f"{{}} / {factor}"
        if actual // factor == expected:
            yield f"{{}} // {factor}"
    if actual == -expected:
        yield from ("-{}", *(["abs({})"] if actual < 0 else []))
    if int(actual) == expected:
        yield "int({})"
    yield from (f"round({{}}, {digits})" for digits in range(1, MOST_DIGITS + 1) if round(actual, digits) == expected)
    if round(actual) == expected:
        yield "round({})"


def _close(one: float, two: float) -> bool:
    return bool(one) and abs(one - two) <= 1e-9 * abs(one)


def _quoted(text: str) -> str:
    """Return `text` as a literal in double quotes, where that needs no other escapes; "" for no text."""
    shown = repr(text)
    return f'"{shown[1:-1]}"' if text and '"' not in shown and "\\'" not in shown else shown if text else ""
