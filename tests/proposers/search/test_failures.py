"""Which failing tests a search is to repair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coderefine.core import Attempt, Case, Check, Failure, Frame, Patch, Situation, Status
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


STARTED = (Frame("test_m.py", 3, "test_program"), Frame("/usr/lib/python3.11/subprocess.py", 1955, "_execute_child"))
MISSING = Failure("FileNotFoundError: [Errno 2] No such file or directory: 'shop'", "FileNotFoundError", frames=STARTED)
FOLDER = "FileNotFoundError: [Errno 2] No such file or directory: 'reports/new'"


@pytest.mark.parametrize(
    ("failure", "repaired"),
    [
        (MISSING, False),
        (replace(MISSING, frames=(STARTED[0], Frame("shop.py", 3, "start"), STARTED[1])), True),
        (replace(MISSING, frames=STARTED[:1]), True),
        (replace(MISSING, message=FOLDER), True),
    ],
    ids=["started by the test", "started by the code under test", "a file that is opened", "a missing folder"],
)
def test_a_test_that_starts_a_program_which_is_not_installed_is_not_repaired(
    failure: Failure, *, repaired: bool
) -> None:
    """glom: half of the time went into a search for a repair of such a test."""
    at = situation(program=failure)
    case = replace(at.best.cases["test_m.py::program"], path="test_m.py")
    best = Attempt(0, Patch(), (Check("pytest", (), {case.id: case}),))
    assert bool(to_repair(replace(at, best=best))) == repaired


@pytest.mark.parametrize(
    ("judging", "repeated"),
    [((), ["t.py::late"]), (("t.py::late",), ["t.py::early", "t.py::late"])],
    ids=["it never ran on candidates", "it fails only after others"],
)
def test_a_test_for_which_there_was_no_time_is_repeated_alone(judging: tuple[str, ...], repeated: list[str]) -> None:
    """anyio: five patches broke one test, because all 424 tests of its file were to be repeated."""
    assert to_repeat(["t.py::late"], judging, ["t.py::early", "t.py::late", "other.py::test"]) == repeated
