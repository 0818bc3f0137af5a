"""Steps on the way: trades are allowed, in one order only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderefine.core import Attempt, Case, Failure, Frame, Status
from coderefine.judge import score, weigh
from tests.support.judging import attempt, finding, soft

LINT, TYPES = finding("F841"), finding("arg-type", critic="mypy")
F, P, S = "failed", "passed", "skipped"


START = attempt({"a": F, "b": F, "c": P}, LINT, number=0)
PATCH = {"app/core.py": b"x = 1\ny = 2\n"}

BETTER = [
    ("fewer-failing", attempt({"a": P, "b": F, "c": P}, LINT), "failing tests 2 → 1"),
    ("test-for-lint", attempt({"a": P, "b": F, "c": P}, LINT, LINT, LINT), "failing tests 2 → 1"),
    ("test-for-types", attempt({"a": P, "b": F, "c": P}, LINT, TYPES), "failing tests 2 → 1"),
    ("lint", attempt({"a": F, "b": F, "c": P}), "ruff findings 1 → 0"),
    ("lint-for-complexity", attempt({"a": F, "b": F, "c": P}, finding("CC", critic="radon", weight=11)), "ruff"),
    ("partial-run", attempt({"a": P, "b": F, "c": P}, LINT, complete=False), "failing tests"),
]

WORSE = [
    ("breaks", attempt({"a": P, "b": P, "c": F}, LINT), "breaks c"),
    ("loses", attempt({"a": P, "b": P}, LINT), "breaks c"),
    ("skips", attempt({"a": P, "b": P, "c": S}, LINT), "breaks c"),
    ("failing-test-vanishes", attempt({"b": F, "c": P}, LINT), "no better than the start"),
    ("same", attempt({"a": F, "b": F, "c": P}, LINT), "changed lines 0 → 1"),
    ("types-for-lint", attempt({"a": F, "b": F, "c": P}, TYPES), "command gates 0 → 1"),
    (
        "new-lint-elsewhere",
        attempt({"a": F, "b": F, "c": P}, LINT, soft(finding("F401", "lib/x.py"))),
        "ruff findings 1 → 2",
    ),
    ("gate-silent", attempt({"a": P, "b": P, "c": P}, without=("ruff",)), "ruff gave no result"),
    ("tests-silent", attempt({"a": P, "b": P, "c": P}, without=("pytest",)), "pytest gave no result"),
]


@pytest.mark.parametrize(("name", "step", "says"), BETTER, ids=[name for name, *_ in BETTER])
def test_better_step(name: str, step: Attempt, says: str) -> None:
    verdict = weigh(step, START, START)
    assert verdict, verdict.reason
    assert says in verdict.reason


@pytest.mark.parametrize(("name", "step", "says"), WORSE, ids=[name for name, *_ in WORSE])
def test_worse_step(name: str, step: Attempt, says: str) -> None:
    verdict = weigh(step, START, START)
    assert not verdict
    assert says in verdict.reason


def test_a_collapsed_module_is_no_progress() -> None:
    start = attempt({"t.py::a": F, "t.py::b": F, "u::c": P}, number=0)
    assert not weigh(attempt({"t.py": "error", "u::c": P}), start, start)


def test_a_module_that_can_be_collected_now_is_progress_however_many_of_its_tests_fail() -> None:
    start = attempt({"t.py": "error", "u::c": P}, number=0)
    tests = {f"t.py::{name}": F for name in "abcdef"}
    verdict = weigh(attempt({**tests, "u::c": P}), start, start)
    assert verdict
    assert verdict.reason == "test modules that cannot be collected 1 → 0"


def failing_at(line: int, exception: str = "AssertionError", number: int = 1) -> Attempt:
    """An attempt whose test `t.py::a` fails at that line of the test."""
    failure = Failure("no", exception, frames=(Frame("t.py", line, "a"), Frame("app/core.py", 3, "f")))
    one = attempt({"t.py::a": F, "u::c": P}, number=number)
    cases = {**one.cases, "t.py::a": Case("t.py::a", Status.FAILED, path="t.py", failure=failure)}
    return replace(one, checks=(replace(one.checks[0], cases=cases), *one.checks[1:]))


def test_a_failure_that_has_moved_on_in_its_test_is_progress() -> None:
    start = failing_at(7, number=0)
    verdict = weigh(failing_at(9), start, start)
    assert verdict
    assert verdict.reason == "the failure has moved on: t.py::a"
    assert not weigh(failing_at(7), start, start)
    assert not weigh(failing_at(5), start, start)
    assert not weigh(start, failing_at(9), start)


def test_a_name_that_is_found_now_is_progress() -> None:
    start = failing_at(7, "AttributeError", number=0)
    assert weigh(failing_at(7), start, start)
    assert not weigh(failing_at(7, "AttributeError"), failing_at(7), start)


def lacking(name: str, number: int = 1) -> Attempt:
    """An attempt in which the test module lacks `name` of the module that it imports in its first line."""
    message = f"cannot import name '{name}' from 'app.core' (app/core.py)"
    failure = Failure(message, "ImportError", frames=(Frame("t.py", 1, "<module>"),))
    one = attempt({"t.py": "error", "u::c": P}, number=number)
    cases = {**one.cases, "t.py": Case("t.py", Status.ERROR, path="t.py", failure=failure)}
    return replace(one, checks=(replace(one.checks[0], cases=cases), *one.checks[1:]))


def test_the_first_of_two_missing_names_of_an_import_is_progress() -> None:
    start = lacking("parse", number=0)
    verdict = weigh(lacking("render"), start, start)
    assert verdict
    assert verdict.reason == "the failure has moved on: t.py"
    assert not weigh(lacking("parse"), start, start)
    assert not weigh(lacking("parse", number=2), lacking("render"), start)


def test_flaky_tests_count_neither_way() -> None:
    start = attempt({"a": F, "b": P}, number=0)
    assert not weigh(attempt({"a": P, "b": P}), start, start, flaky=frozenset({"a"}))
    assert weigh(attempt({"a": P, "b": F}), start, start, flaky=frozenset({"b"}))


def test_ties_go_to_the_smaller_diff() -> None:
    small, large = attempt({"a": P}, number=1), attempt({"a": P}, number=2, patch=PATCH)
    start = attempt({"a": F}, number=0)
    assert weigh(small, large, start)
    assert "no better than attempt 1: changed lines 1 → 2" in weigh(large, small, start).reason


def test_less_complexity_is_a_step_before_the_limit_is_reached() -> None:
    start = attempt({"a": P}, finding("CC", critic="radon", weight=20, symbol="f"), number=0)
    assert weigh(attempt({"a": P}, finding("CC", critic="radon", weight=15, symbol="f")), start, start)


def test_findings_outside_the_scope_count_only_when_they_are_new() -> None:
    far = finding("F401", "lib/x.py")
    start = attempt({"a": P}, far, number=0)
    assert not weigh(attempt({"a": P}), start, start, ("app",))
    assert weigh(attempt({"a": P}), start, start, (".",))


def test_review_never_outvotes_a_gate() -> None:
    remark = finding("naming", critic="review")
    start = attempt({"a": P}, LINT, number=0)
    assert weigh(attempt({"a": P}, advice=[remark, remark]), start, start)
    assert not weigh(attempt({"a": P}, LINT, LINT), attempt({"a": P}, LINT, number=3, advice=[remark]), start)
    assert weigh(attempt({"a": P}, LINT), attempt({"a": P}, LINT, number=3, advice=[remark]), start)


statuses = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([F, P, S]), max_size=4)
found = st.lists(st.sampled_from([LINT, TYPES, finding("CC", critic="radon", weight=12)]), max_size=3)
steps = st.builds(lambda tests, remarks: attempt(tests, *remarks), statuses, found)


@given(steps, steps, steps)
def test_a_better_step_has_the_smaller_score_and_not_vice_versa(one: Attempt, two: Attempt, start: Attempt) -> None:
    start = replace(start, number=0)
    if weigh(one, two, start):
        assert score(one, start) < score(two, start)
        assert not weigh(two, one, start)
