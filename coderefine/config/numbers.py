"""Check the numbers of configuration keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from coderefine.errors import ConfigError

DAY = 86_400.0
WORDS = {int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class Range:
    """A range of allowed numbers: from `least` to `most`, both included.

    Infinity is allowed and means "no limit".
    """

    least: float = 0.0
    most: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most

    def __str__(self) -> str:
        return f"from {self.least:g} " + ("on" if math.isinf(self.most) else f"to {self.most:g}")


RANGES: Mapping[str, Range] = {
    "max-complexity": Range(1),
    "samples": Range(1),
    "min-maintainability": Range(0, 100),
    "temperature": Range(0, 2),
    "test-timeout": Range(0.01, DAY),
}
"""Ranges of keys for which "not negative" is not enough."""


def number(name: str, value: object, kind: type, where: str, span: Range | None = None) -> float:
    """Return `value` as `kind`, int or float.

    Raises ConfigError, with `name` and `where`, for another type, a number out of range, or nan.
    """
    span = span or RANGES.get(name, Range())
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind is int and isinstance(value, float)):
        raise ConfigError(f"{where}: {name} must be {WORDS[kind]}, not {value!r}")
    if value not in span:
        raise ConfigError(f"{where}: {name} must be {WORDS[kind]} {span}, not {value!r}")
    try:
        return kind(value)  # type: ignore[no-any-return]
    except OverflowError:
        raise ConfigError(f"{where}: {name} is too large a number") from None
