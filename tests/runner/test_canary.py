"""Tests of ours run beside the project's, and nothing of the project notices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Status
from coderefine.errors import VoidError
from coderefine.runner.agent.agent_channel import token
from coderefine.runner.run_results import check_canary
from tests.runner.conftest import Cold
from tests.support.cases import every

SPY = """
import collections, os, pytest

SEEN = collections.Counter()


def note(name):
    def hook(item=None, nodeid=None, report=None, pyfuncitem=None):
        given = item or report or pyfuncitem
        SEEN[name, nodeid or given.nodeid] += 1

    return hook


def pytest_runtest_setup(item):
    note("setup")(item=item)


def pytest_runtest_logstart(nodeid):
    note("start")(nodeid=nodeid)


def pytest_runtest_logreport(report):
    note(report.when)(report=report)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    yield
    note("make " + call.when)(item=item)


def pytest_collection_modifyitems(items):
    items.reverse()


@pytest.fixture(autouse=True)
def counted(request):
    SEEN["fixture", request.node.nodeid] += 1


def pytest_sessionfinish(session):
    assert set(SEEN.values()) == {1}, SEEN
    assert session.testscollected == 3, session.testscollected
    assert session.testsfailed == 1, session.testsfailed
    assert len(SEEN) == 3 * 9, SEEN
"""
TESTS = (
    "import unittest\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    assert 1 == 2\n\n\n"
    "class Test(unittest.TestCase):\n    def test_c(self):\n        self.assertEqual(1, 1)\n"
)
UNITTEST = (
    "import unittest\n\n\ndef setUpModule():\n    print('up')\n\n\nclass Test(unittest.TestCase):\n"
    "    @classmethod\n    def setUpClass(cls):\n        cls.ups = getattr(cls, 'ups', 0) + 1\n\n"
    "    def test_once(self):\n        self.assertEqual(self.ups, 1)\n"
)
WANTED = [Status.PASSED, Status.FAILED, Status.PASSED]


def statuses(given: object) -> list[Status]:
    return [case.status for case in given.cases.values()]  # type: ignore[attr-defined]


def test_conftests_neither_see_nor_count_them(cold: Cold) -> None:
    check = cold({"conftest.py": SPY, "test_x.py": TESTS})
    assert sorted(statuses(check)) == sorted(WANTED)
    assert check.complete


@pytest.mark.parametrize(
    "options",
    every(
        3,
        [
            "-W error --strict-markers --strict-config",
            "-x",
            "-p no:warnings -p no:logging -p no:unraisableexception",
            "-p no:cacheprovider -p no:terminal -p no:faulthandler",
            "--assert=plain",
            "-s -v --durations=3",
            "--junitxml=report.xml --stepwise",
            "-p no:python_path -p no:skipping -p no:setuponly",
            "--import-mode=importlib",
        ],
    ),
)
def test_they_run_under_any_options(cold: Cold, options: str) -> None:
    check = cold({"pytest.ini": f"[pytest]\naddopts = {options}\n", "test_x.py": TESTS})
    assert sorted(statuses(check)) == sorted(WANTED)


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_options_with_which_no_test_would_run_are_left_out(cold: Cold, option: str) -> None:
    check = cold({"pytest.ini": f"[pytest]\naddopts = {option}\n", "test_x.py": TESTS})
    assert sorted(statuses(check)) == sorted(WANTED)
    assert any(option in note for note in check.notes)


def test_suites_of_unittest_only(cold: Cold) -> None:
    check = cold({"test_x.py": UNITTEST}, replace(Ask(timeout=60), rich=True))
    assert statuses(check) == [Status.PASSED]


def test_installed_plugins_do_not_retry_or_order_them(cold: Cold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    check = cold({"test_x.py": TESTS}, config=Config(pytest_args=("-n", "2")))
    assert sorted(statuses(check)) == sorted(WANTED)


SECRET = "5ec4e7"


def record(number: int, *, when: str = "after", ways: str = "", status: str = "") -> dict[str, object]:
    mark = token(SECRET, when, number)
    wanted = "failed" if number == 0 or int(mark, 16) % 2 == 0 else "passed"
    failure = {"message": f"{mark}[{ways}]\nassert not '{mark}'"} if wanted == "failed" else None
    return {"status": status or wanted, "failure": failure}


def test_required_outcomes_of_canary_tests() -> None:
    check_canary([record(number) for number in range(3)], SECRET, "after")
    for broken, words in (
        (None, "did not run"),
        ([record(0)], "did not run"),
        ([record(0, status="passed"), record(1)], "must fail ended as passed"),
        ([record(0, status="skipped"), record(1)], "must fail ended as skipped"),
        ([record(0, when="before"), record(1)], "did not fail with our message"),
        ([record(0, ways="assertEqual"), record(1)], "assertEqual does not fail"),
    ):
        with pytest.raises(VoidError, match=words):
            check_canary(broken, SECRET, "after")
