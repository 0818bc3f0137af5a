"""What a review's total is worth to the judge: it decides between equals at the gates, and nothing else."""

from __future__ import annotations

import pytest

from coderefine.core import Attempt, Case, Check, Finding, Patch, Severity, Status
from coderefine.judge import publishable, weigh

LINT = Finding("ruff", "F401", "m.py", "unused")


def attempt(
    number: int, total: float | None, remarks: int = 0, *, passes: bool = True, lint: bool = False, size: int = 1
) -> Attempt:
    case = Case("test_m.py::test", Status.PASSED if passes else Status.FAILED)
    advice = tuple(Finding("review", "names", "m.py", f"{n}", severity=Severity.SOFT) for n in range(remarks))
    checks = (
        Check("pytest", cases={case.id: case}),
        Check("ruff", (LINT,) if lint else ()),
        Check("review", advice, gate=False, total=total),
    )
    patch = Patch({"m.py": b"x = 1\n" * size} if number else {})
    return Attempt(number, patch, checks)


START = attempt(0, 3.0, 2)


@pytest.mark.parametrize(
    ("total", "remarks", "better"),
    [(4.0, 2, True), (4.0, 5, True), (3.0, 1, True), (3.0, 2, False), (2.9, 0, False), (3.0, 3, False)],
)
def test_between_equals_the_total_decides_then_the_remarks(total: float, remarks: int, better: bool) -> None:
    candidate = attempt(1, total, remarks)
    assert bool(weigh(candidate, START, START)) is better
    assert bool(publishable(candidate, START)) is better


@pytest.mark.parametrize("worse", [{"passes": False}, {"lint": True}])
def test_no_review_outweighs_a_gate(worse: dict[str, bool]) -> None:
    candidate = attempt(1, 5.0, **worse)
    assert not weigh(candidate, START, START)
    assert not publishable(candidate, START)


def test_a_review_without_a_score_praises_nothing() -> None:
    assert not publishable(attempt(1, None), START)
    assert not publishable(attempt(1, 5.0), attempt(0, None, 2))


def test_the_reason_contains_the_difference() -> None:
    assert publishable(attempt(1, 4.5, 1), START).reason == "review 3.0 → 4.5, 2 → 1 remarks"
    assert weigh(attempt(1, 4.5), START, START).reason == "review 3 → 4.5"
