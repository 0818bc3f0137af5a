"""Infer from the exceptions and messages of failing tests which edit operators are likely (log odds)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from coderefine.core import Case, Failure
from coderefine.proposers.search.differences import factors, operations, ratios

BY_EXCEPTION: Mapping[str, Mapping[str, float]] = {
    "NameError": {
        "variable": 2.0,
        "global": 2.0,
        "receiver": 2.5,
        "qualified": 2.5,
        "function": 1.5,
        "invented": 0.7,
        "from-here": 0.7,
    },
    "UnboundLocalError": {
        "assigned": 0.5,
        "invented": 1.5,
        "from-here": 1.0,
        "target": 1.5,
        "assignment-kind": 1.0,
        "variable": 1.0,
        "outdent": 1.0,
    },
    "AttributeError": {
        "initialised": 3.0,
        "other-type": 3.0,
        "attribute": 2.0,
        "field-of": 1.5,
        "wrap": 1.0,
        "key-access": 0.7,
        "invented": 1.0,
        "returned": 0.7,
        "none-check": 1.0,
        "early-return": 0.7,
        "variable": 0.5,
        "none-value": 2.0,
        "produced": 2.0,
    },
    "KeyError": {
        "key-access": 1.5,
        "text": 1.0,
        "early-return": 0.5,
        "early-jump": 0.5,
        "made-conditional": 0.7,
        "narrow": 0.7,
        "exception": 0.7,
        "wrap": 0.5,
        "none-value": 1.0,
    },
    "IndexError": {
        "around": 2.5,
        "by-one": 1.5,
        "comparison": 1.0,
        "number": 1.0,
        "slice": 1.0,
        "early-return": 1.0,
        "narrow": 0.7,
        "dropped-operand": 0.5,
    },
    "TypeError": {
        "wrap": 1.0,
        "argument-added": 1.0,
        "argument-order": 1.0,
        "argument-removed": 0.7,
        "field-of": 0.7,
        "none-check": 0.7,
        "none-value": 2.0,
        "produced": 2.0,
        "receiver": 0.7,
        "unwrap": 0.5,
        "returned": 0.5,
        "function": 0.5,
    },
    "ValueError": {"wrap": 0.7, "argument-added": 0.5, "early-return": 0.5, "text": 0.5, "made-conditional": 0.3},
    "ZeroDivisionError": {
        "zero-divisor": 3.0,
        "early-return": 2.0,
        "number": 1.0,
        "early-raise": 0.7,
        "ternary": 1.5,
        "narrow": 0.7,
        "emptied": 1.0,
    },
    "RecursionError": {
        "early-return": 1.5,
        "by-one": 1.0,
        "comparison": 1.0,
        "narrow": 1.0,
        "argument-value": 0.5,
        "dropped-operand": 0.3,
        "composed": 0.5,
    },
    "UnicodeDecodeError": {"text": 1.0, "argument-added": 1.0},
    "StopIteration": {"argument-added": 1.5, "early-return": 1.0, "try": 1.0},
    "RuntimeError": {"copy": 1.5, "wrap": 0.7, "exception": 1.0},
}
"""Log odds of each operator, by the type of the exception with which a failing test ended."""

DIFFERENCE = 3.0
"""Log odds of the operator "difference" if one operation explains every failure."""
CLASS_WANTED = re.compile(r"is(?:instance|subclass)\(\) arg \d must be a (?:type|class)")
"""CPython's message if another object is passed in place of a class, for example if the arguments are swapped."""

BY_MESSAGE: tuple[tuple[re.Pattern[str], Mapping[str, float]], ...] = (
    (
        re.compile(r"DID NOT RAISE"),
        {"early-raise": 2.0, "exception": 0.7, "narrow": 0.3, "widen": 0.5, "condition": 0.5, "comparison": 0.5},
    ),
    (
        re.compile(r"missing \d+ required (positional|keyword-only)"),
        {"argument-added": 3.0, "default": 1.5, "parameter": 1.0, "decorator": 1.0},
    ),
    (
        re.compile(r"takes (from )?\d+.* positional arguments? but"),
        {"argument-removed": 2.0, "decorator": 3.0, "parameter": 2.0},
    ),
    (re.compile(r"bound method|'(method|function)' object"), {"decorator": 4.0}),
    (
        re.compile(r"expected (at (least|most) |exactly )?\d+ (positional )?arguments?,? (but )?got"),
        {"argument-added": 3.0, "attribute": 1.5},
    ),
    (re.compile(r"unexpected keyword argument"), {"argument-value": 2.5, "argument-removed": 1.5}),
    (
        re.compile(r"NoneType"),
        {
            "statement-kind": 1.5,
            "returned": 1.5,
            "invented": 0.7,
            "none-check": 0.7,
            "none-value": 1.5,
            "produced": 1.5,
        },
    ),
    (
        re.compile(r"assert None (==|is not)|(==|is) None\b"),
        {
            "statement-kind": 1.5,
            "returned": 1.5,
            "invented": 0.7,
            "none-value": 1.0,
            "produced": 1.5,
            "loop-return": 2.0,
        },
    ),
    (
        re.compile(
            r"can only concatenate|unsupported operand|must be str|not supported between|"
            r"cannot be interpreted as an integer"
        ),
        {"wrap": 2.0, "unwrap": 0.5},
    ),
    (re.compile(r"unsupported operand"), {"arithmetic": 1.5, "operand-order": 1.5}),
    (re.compile(r"object is not (iterable|subscriptable)"), {"wrap": 1.0, "unwrap": 1.0, "field-of": 1.0}),
    (re.compile(r"object is not callable"), {"attribute": 2.0, "function": 1.5, "unwrap": 1.0, "field-of": 1.0}),
    (re.compile(r"changed size during iteration"), {"copy": 3.0, "wrap": 2.0}),
    (re.compile(r"<generator object|coroutine"), {"wrap": 1.5, "await": 3.0, "display": 1.0, "statement-kind": 1.0}),
    (re.compile(r"was never awaited"), {"await": 3.0}),
    (re.compile(r"'coroutine' object"), {"await": 6.0}),
    (re.compile(r"does not match format"), {"format": 3.0}),
    (CLASS_WANTED, {"misspelt": 3.0}),
)


NONE = re.compile(r"NoneType|assert None (==|is not)")
LACKING = re.compile(r"'NoneType' object has no attribute '(\w+)'")
ABSENT = re.compile(r"'[\w.]+' (?:object )?has no attribute '(\w+)'")
"""CPython's messages for an attribute that an object, class or module does not have."""
MANGLED = re.compile(r"_[A-Z]\w*?(__\w+)")
"""The name under which Python stores the private attribute `__NAME` of a class: `_Class__NAME`."""
UNDEFINED = re.compile(r"(?:name|variable) '(\w+)' (?:is not defined|referenced before|where it is not associated)")
"""CPython's messages for a name without a value, before and since 3.11."""

LITERAL = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")


@dataclass(frozen=True)
class Hints:
    """What the failures suggest about the repair. `odds`: log odds by operator name; 0 for operators that are missing.

    `undefined`: names that are undefined in failing tests. `none`: whether a test failed because of a None. `lacking`:
    attributes that were looked up on None. `absent`: missing attributes that were looked up on other objects, each with
    the attributes that the object has, if these are known. `slips`: names that were not found, each with the most
    similar existing names. `class_wanted`: whether `isinstance` or `issubclass` got another object in place of a class.
    `operations`: operations that turn actual values into the expected ones, see `differences.operations`. `literals`:
    strings in the failing tests and their messages. `ratios`: expected numbers divided by actual numbers.
    """

    odds: Mapping[str, float] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()
    none: bool = False
    lacking: tuple[str, ...] = ()
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slips: tuple[tuple[str, tuple[str, ...]], ...] = ()
    class_wanted: bool = False
    operations: Mapping[str, float] = field(default_factory=dict)
    literals: frozenset[str] = frozenset()
    ratios: frozenset[float] = frozenset()

    @cached_property
    def factors(self) -> tuple[float, ...]:
        """Return the numbers by which `operations` multiply; 1/n for a division by n."""
        return factors(self.operations)

    @classmethod
    def of(cls, failing: Sequence[Case], sources: Mapping[str, str] = MappingProxyType({})) -> Hints:
        """Return the hints; the log odds are means over the failing tests. `sources`: the tests' texts by test id."""
        failures = [case.failure for case in failing if case.failure is not None]
        found = _mean(list(map(_odds_of, failures)))
        texts = [failure.words for failure in failures]
        none = any(NONE.search(text) for text in texts)
        slips = {failure.wrong: failure.nearest for failure in failures if failure.nearest}
        wanted = bool(CLASS_WANTED.search("\n".join(texts)))
        shapes = operations(texts)
        found["difference"] = DIFFERENCE * max(shapes.values(), default=0.0)
        return cls(
            found,
            undefined=_named(UNDEFINED, texts),
            none=none,
            lacking=_named(LACKING, texts),
            absent=_absent(failures),
            slips=tuple(slips.items()),
            class_wanted=wanted,
            operations=shapes,
            ratios=ratios(texts),
            literals=frozenset(text for case in failing for text in _literals(case, sources.get(case.id, ""))),
        )


def _mean(odds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of the odds of each operator; a missing value counts as 0."""
    names = {name for one in odds for name in one}
    return {name: sum(one.get(name, 0.0) for one in odds) / len(odds) for name in names}


def _literals(case: Case, source: str) -> Iterator[str]:
    """Yield the strings in the source of a test and in its message, and the values of its parameters in its id."""
    yield from (one or two for one, two in LITERAL.findall(f"{source}\n{case.failure.words if case.failure else ''}"))
    yield from case.id.partition("[")[2].removesuffix("]").split("-")


def _absent(failures: Sequence[Failure]) -> dict[str, tuple[str, ...]]:
    """Return the attributes that objects other than None did not have, each with the attributes that its object has."""
    lacking = _named(LACKING, [failure.words for failure in failures])
    pairs = ((name, failure.attributes) for failure in failures for name in _named(ABSENT, [failure.words]))
    return {_as_written(name): known for name, known in pairs if name not in lacking}


def _as_written(attribute: str) -> str:
    """Return the attribute as the code spells it: `__NAME` for `_Class__NAME`."""
    mangled = MANGLED.fullmatch(attribute)
    return mangled.group(1) if mangled else attribute


def _named(pattern: re.Pattern[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that the first group of `pattern` matches in `texts`, without duplicates."""
    return tuple(dict.fromkeys(match.group(1) for text in texts for match in pattern.finditer(text)))


def _odds_of(failure: Failure) -> dict[str, float]:
    found = dict(BY_EXCEPTION.get(failure.exception.rsplit(".", 1)[-1], {}))
    for pattern, odds in BY_MESSAGE:
        if pattern.search(failure.words):
            for name, extra in odds.items():
                found[name] = max(found.get(name, 0.0), extra)
    return found
