"""What a patch changes besides what was asked is named."""

from __future__ import annotations

import pytest

from coderefine.core import Attempt, Case, Check, Finding, Patch, Status
from coderefine.judge import unrequested_changes

OLD = b'''def total(items):
    return sum(items) + 1


def fibonacci(n):
    """The sequence."""
    if n <= 0:
        return [0]
    return [1]


class Cart:
    def empty(self):
        return 1
'''
FIX = OLD.replace(b" + 1", b"")
EVERYTHING = frozenset(range(1, 4))


def attempt(data: bytes, *, ran: frozenset[int] | None = EVERYTHING) -> Attempt:
    coverage = None if ran is None else {"test_x.py::test_total": {"m.py": ran}}
    case = Case("test_x.py::test_total", Status.PASSED)
    return Attempt(1, Patch({"m.py": data}), (Check("pytest", cases={case.id: case}, coverage=coverage),))


START = Attempt(
    0, Patch(), (Check("pytest", cases={"test_x.py::test_total": Case("test_x.py::test_total", Status.FAILED)}),)
)


def unrequested_in(data: bytes, *findings: Finding, ran: frozenset[int] | None = EVERYTHING) -> tuple[str, ...]:
    return unrequested_changes(attempt(data, ran=ran), START, findings, {"m.py": OLD})


def test_changes_that_the_repaired_test_runs_are_requested() -> None:
    assert unrequested_in(FIX) == ()


def test_another_function_is_named() -> None:
    assert unrequested_in(FIX.replace(b"return [0]", b"return []")) == ("m.py: fibonacci",)
    assert unrequested_in(FIX.replace(b"        return 1", b"        return 2")) == ("m.py: Cart.empty",)


@pytest.mark.parametrize("symbol", ["fibonacci", ""])
def test_changes_that_a_finding_names_are_requested(symbol: str) -> None:
    changed = FIX.replace(b"return [0]", b"return []")
    assert unrequested_in(changed, Finding("ruff", "E1", "m.py", "x", symbol=symbol)) == ()
    assert unrequested_in(changed, Finding("ruff", "E1", "other.py", "x", symbol=symbol)) == ("m.py: fibonacci",)


@pytest.mark.parametrize(
    "data",
    [
        FIX.replace(b"The sequence", b"A sequence"),
        FIX + b"\n\ndef more():\n    return 2\n",
        FIX.replace(b"    if n <= 0", b"    # never\n    if n <= 0"),
    ],
)
def test_comments_and_new_functions_are_no_behaviour(data: bytes) -> None:
    assert unrequested_in(data) == ()


def test_a_function_that_is_defined_twice_did_not_change() -> None:
    twice = b"\n\nif sys.platform:\n\n    def f():\n        return 1\nelse:\n\n    def f():\n        return 2\n"
    found = unrequested_changes(attempt(FIX + twice), START, (), {"m.py": OLD + twice})
    assert found == ()
    changed = unrequested_changes(attempt(FIX + twice.replace(b"2", b"3")), START, (), {"m.py": OLD + twice})
    assert changed == ("m.py: f",)


def test_nothing_is_claimed_without_coverage() -> None:
    assert unrequested_in(FIX.replace(b"return [0]", b"return []"), ran=None) == ()
