"""Which failing tests a search is to repair."""

from __future__ import annotations

import pytest

from coderefine.core import Attempt, Case, Check, Failure, Patch, Situation, Status
from coderefine.proposers.search.failures import to_repair, to_repeat

OFFLINE = Failure("<urlopen error [Errno -3] Temporary failure in name resolution>", "urllib.error.URLError")
WRONG = Failure("assert 1 == 2", "AssertionError")


def situation(**failures: Failure) -> Situation:
    cases = {f"test_m.py::{name}": Case(name, Status.FAILED, failure=failure) for name, failure in failures.items()}
    best = Attempt(0, Patch(), (Check("pytest", (), cases),))
    return Situation(best, best, (best,), (), (".",))


def test_a_test_that_lacks_the_network_does_not_hide_the_fault_of_another_one() -> None:
    assert [case.id for case in to_repair(situation(online=OFFLINE, wrong=WRONG))] == ["wrong"]


def test_a_test_that_lacks_the_network_is_repaired_where_no_other_fails() -> None:
    assert [case.id for case in to_repair(situation(online=OFFLINE))] == ["online"]


@pytest.mark.parametrize(
    ("judging", "repeated"),
    [((), ["t.py::late"]), (("t.py::late",), ["t.py::early", "t.py::late"])],
    ids=["it never ran on candidates", "it fails only after others"],
)
def test_a_test_for_which_there_was_no_time_is_repeated_alone(judging: tuple[str, ...], repeated: list[str]) -> None:
    """anyio: five patches broke one test, because all 424 tests of its file were to be repeated."""
    assert to_repeat(["t.py::late"], judging, ["t.py::early", "t.py::late", "other.py::test"]) == repeated
