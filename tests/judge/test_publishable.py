"""The last gate: what may not be handed out, and what must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderefine.core import Attempt, Finding
from coderefine.judge import publishable
from tests.support.judging import attempt, finding, soft

Statuses = Mapping[str, str]
UNUSED = finding("F401")
OTHER = finding("E711", symbol="f")
ELSEWHERE = soft(finding("F401", "lib/x.py"))
TYPES = finding("arg-type", critic="mypy")


def complexity(weight: float, symbol: str = "f") -> Finding:
    return finding("CC", critic="radon", symbol=symbol, weight=weight)


def index(weight: float) -> Finding:
    return finding("MI", critic="radon", weight=weight)


def collection(path: str) -> Finding:
    return finding("collection", path, critic="pytest", symbol=path)


@dataclass(frozen=True, slots=True)
class Pair:
    """A baseline and a candidate as test statuses and findings."""

    name: str
    was: Statuses
    now: Statuses
    says: str = ""
    found: Sequence[Finding] = ()
    finds: Sequence[Finding] = ()
    flaky: frozenset[str] = frozenset()
    scope: tuple[str, ...] = (".",)
    complete: bool = True
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    def verdict(self) -> tuple[bool, str]:
        before = attempt(self.was, *self.found, number=0)
        after = attempt(self.now, *self.finds, complete=self.complete, without=self.without)
        answer = publishable(after, before, self.flaky, self.scope)
        return bool(answer), answer.reason


F, P, E, S, X, XP = "failed", "passed", "error", "skipped", "xfailed", "xpassed"
FIXED = {"t::a": F, "t::b": P}
DONE = {"t::a": P, "t::b": P}

WORSE = [
    Pair("passing-fails", FIXED, {"t::a": P, "t::b": F}, "breaks t::b"),
    Pair("passing-errors", FIXED, {"t::a": P, "t::b": E}, "breaks t::b"),
    Pair("passing-skipped", FIXED, {"t::a": P, "t::b": S}, "breaks t::b"),
    Pair("passing-xfails", FIXED, {"t::a": P, "t::b": X}, "breaks t::b"),
    Pair("passing-vanishes", FIXED, {"t::a": P}, "no longer collected: t::b"),
    Pair("failing-vanishes", FIXED, {"t::b": P}, "no longer collected: t::a"),
    Pair("skipped-vanishes", {**FIXED, "t::s": S}, DONE, "no longer collected: t::s"),
    Pair("flaky-vanishes", {**FIXED, "t::x": F}, DONE, "no longer collected", flaky=frozenset({"t::x"})),
    Pair("no-tests-left", FIXED, {}, "no longer collected"),
    Pair("module-collapses", {"t.py::a": F, "t.py::b": F, "u::c": F}, {"t.py": E, "u::c": P}, "no longer collected"),
    Pair("collection-error-vanishes", {"t.py": E, "u::c": F}, {"u::c": P}, "no longer collected: t.py"),
    Pair("failing-skipped", {"t::a": F, "t::b": F}, {"t::a": P, "t::b": S}, "was failed and is skipped"),
    Pair("failing-xfails", {"t::a": F, "t::b": F}, {"t::a": P, "t::b": X}, "was failed and is xfailed"),
    Pair("failing-errors", {"t::a": F, "t::b": F}, {"t::a": P, "t::b": E}, "was failed and is error"),
    Pair("error-skipped", {"t::a": E, "t::b": F}, {"t::a": S, "t::b": P}, "was error and is skipped"),
    Pair("skipped-fails", {"t::a": F, "t::s": S}, {"t::a": P, "t::s": F}, "was skipped and is failed"),
    Pair("expected-failure-fails", {"t::a": F, "t::x": X}, {"t::a": P, "t::x": F}, "breaks t::x"),
    Pair("unexpected-pass-falls-back", {"t::a": F, "t::x": XP}, {"t::a": P, "t::x": X}, "breaks t::x"),
    Pair("new-failing-test", FIXED, {**DONE, "t::p[9]": F}, "brings failing tests: t::p[9]"),
    Pair("new-collection-error", FIXED, {**DONE, "u.py": E}, "brings failing tests: u.py"),
    Pair("new-loose-finding", FIXED, DONE, "new pytest finding", finds=[collection("u.py")]),
    Pair("new-ruff", FIXED, DONE, "new ruff finding F401", finds=[UNUSED]),
    Pair("new-ruff-elsewhere", FIXED, DONE, "new ruff finding F401 in lib/x.py", finds=[ELSEWHERE], scope=("app",)),
    Pair("ruff-traded", FIXED, DONE, "new ruff finding E711", found=[UNUSED], finds=[OTHER]),
    Pair("one-more-of-a-kind", FIXED, DONE, "new ruff finding", found=[UNUSED], finds=[UNUSED, UNUSED]),
    Pair("new-mypy", FIXED, DONE, "new mypy finding arg-type", finds=[TYPES]),
    Pair("complexity-crossed", FIXED, DONE, "new radon finding CC", finds=[complexity(11)]),
    Pair(
        "complexity-grows",
        FIXED,
        DONE,
        "f in app/core.py grows: CC 12 → 13",
        found=[complexity(12)],
        finds=[complexity(13)],
    ),
    Pair(
        "complexity-grows-in-the-twin",
        FIXED,
        DONE,
        "grows",
        found=[complexity(12), complexity(20)],
        finds=[complexity(14), complexity(20)],
    ),
    Pair("index-crossed", FIXED, DONE, "new radon finding MI", finds=[index(91)]),
    Pair("nothing-better", {"t::a": F}, {"t::a": F}, "nothing that was asked"),
    Pair("only-flaky-better", {"t::a": F}, {"t::a": P}, "nothing that was asked", flaky=frozenset({"t::a"})),
    Pair(
        "better-only-elsewhere",
        {"t::a": P},
        {"t::a": P},
        "nothing that was asked",
        found=[finding("F401", "lib/x.py")],
        scope=("app",),
    ),
    Pair("only-soft-cleared", {"t::a": P}, {"t::a": P}, "nothing that was asked", found=[soft(UNUSED)]),
    Pair("error-to-failure-only", {"t::a": E}, {"t::a": F}, "nothing that was asked"),
    Pair("module-imports-but-all-fails", {"t.py": E}, {"t.py::a": F}, "nothing that was asked"),
    Pair("module-imports-but-all-skipped", {"t.py": E}, {"t.py::a": S}, "nothing that was asked"),
    Pair("partial-run", FIXED, DONE, "pytest gave no complete answer", complete=False),
    Pair("ruff-silent", FIXED, DONE, "ruff gave no complete answer", without=("ruff",)),
    Pair("mypy-silent", FIXED, DONE, "mypy gave no complete answer", without=("mypy",)),
    Pair("pytest-silent", FIXED, DONE, "pytest gave no complete answer", without=("pytest",)),
]

BETTER = [
    Pair("test-repaired", FIXED, DONE, "1 test repaired"),
    Pair("one-of-two", {"t::a": F, "t::b": F}, {"t::a": P, "t::b": F}, "1 test repaired"),
    Pair("finding-cleared", {"t::a": P}, {"t::a": P}, "1 finding cleared", found=[UNUSED]),
    Pair("both", FIXED, DONE, "1 test repaired, 2 findings cleared", found=[UNUSED, OTHER]),
    Pair("finding-and-failing-stays", {"t::a": F}, {"t::a": F}, "1 finding", found=[UNUSED]),
    Pair("error-becomes-failure-beside-a-repair", {"t::a": F, "t::b": E}, {"t::a": P, "t::b": F}),
    Pair("error-repaired", {"t::a": E}, {"t::a": P}),
    Pair("module-importable-again", {"t.py": E, "u::c": P}, {"t.py::a": P, "t.py::b": F, "u::c": P}, "1 test repaired"),
    Pair("package-importable-again", {"tests/sub": E}, {"tests/sub/test_a.py::a": P}, "1 test repaired"),
    Pair("new-parametrised-test", FIXED, {**DONE, "t::p[9]": P}),
    Pair("new-skipped-test", FIXED, {**DONE, "t::p[9]": S}),
    Pair("skipped-stays", {**FIXED, "t::s": S}, {**DONE, "t::s": S}),
    Pair("skipped-passes", {**FIXED, "t::s": S}, {**DONE, "t::s": P}),
    Pair("expected-failure-passes", {**FIXED, "t::x": X}, {**DONE, "t::x": XP}),
    Pair("flaky-fails-now", {**FIXED, "t::x": P}, {**DONE, "t::x": F}, flaky=frozenset({"t::x"})),
    Pair("flaky-passes-now", {**FIXED, "t::x": F}, {**DONE, "t::x": P}, "1 test repaired", flaky=frozenset({"t::x"})),
    Pair("old-findings-stay", FIXED, DONE, found=[UNUSED, OTHER, ELSEWHERE], finds=[UNUSED, OTHER, ELSEWHERE]),
    Pair("over-limit-untouched", FIXED, DONE, found=[complexity(14)], finds=[complexity(14)]),
    Pair("over-limit-shrinks", FIXED, DONE, found=[complexity(14)], finds=[complexity(12)]),
    Pair("twins-one-gone", FIXED, DONE, found=[complexity(14), complexity(12)], finds=[complexity(12)]),
    Pair("low-index-drifts", FIXED, DONE, found=[index(91)], finds=[index(91.4)]),
    Pair("complexity-cleared", {"t::a": P}, {"t::a": P}, "1 finding cleared", found=[complexity(14)]),
]


@pytest.mark.parametrize("pair", WORSE, ids=str)
def test_not_published(pair: Pair) -> None:
    ok, reason = pair.verdict()
    assert not ok
    assert pair.says in reason


@pytest.mark.parametrize("pair", BETTER, ids=str)
def test_published(pair: Pair) -> None:
    ok, reason = pair.verdict()
    assert ok, reason
    assert pair.says in reason


def test_a_baseline_that_was_cut_short_proves_nothing() -> None:
    verdict = publishable(attempt(DONE), attempt(FIXED, number=0, complete=False))
    assert not verdict
    assert "at the start" in verdict.reason


def test_advice_neither_blocks_nor_helps() -> None:
    remark = finding("naming", critic="review")
    assert publishable(attempt(DONE, advice=[remark]), attempt(FIXED, number=0))
    assert not publishable(attempt(DONE), attempt(DONE, number=0, advice=[remark]))


def test_the_empty_patch_is_never_published() -> None:
    assert publishable(attempt(DONE, patch={}), attempt(FIXED, number=0)).reason == "the patch is empty"


@pytest.mark.parametrize("after", [{"t.py": "2"}, {}, {"t.py": "1", "conftest.py": "3"}], ids=["edited", "gone", "new"])
def test_protected_files_must_be_unchanged(after: dict[str, str]) -> None:
    verdict = publishable(
        attempt(DONE), attempt(FIXED, number=0), protected_before={"t.py": "1"}, protected_after=after
    )
    assert not verdict
    assert "protected files changed" in verdict.reason
    assert publishable(
        attempt(DONE), attempt(FIXED, number=0), protected_before={"t.py": "1"}, protected_after={"t.py": "1"}
    )


ids = st.sampled_from(["t.py", "t.py::a", "t.py::b", "u.py::c", "u.py::d"])
states = st.dictionaries(ids, st.sampled_from([F, P, E, S, X, XP]), max_size=5)
remarks = st.lists(
    st.sampled_from([UNUSED, OTHER, TYPES, ELSEWHERE, complexity(11), complexity(15), index(91)]), max_size=4
)
attempts = st.builds(lambda tests, found: attempt(tests, *found), states, remarks)


@given(attempts, attempts, st.frozensets(ids, max_size=2))
def test_two_attempts_are_never_each_better_than_the_other(one: Attempt, two: Attempt, flaky: frozenset[str]) -> None:
    assert not (publishable(one, two, flaky) and publishable(two, one, flaky))


@given(attempts, st.frozensets(ids, max_size=2))
def test_nothing_is_better_than_itself(one: Attempt, flaky: frozenset[str]) -> None:
    assert not publishable(replace(one, number=2), one, flaky)
