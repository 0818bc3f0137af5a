"""Patches that know the tests' inputs are distinguished from repairs by the answers beside the tests' own calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Case, Patch, Status, Verdict
from coderefine.loop.special_cases import LEAST, SpecialCases, judged
from coderefine.project import interpreter, locate
from coderefine.runner.candidates import Nearby
from coderefine.workspace import open_views
from tests.support.cases import every
from tests.support.loop import Script, run
from tests.support.repo import make_repo

START = """\
RATES = {"EUR": 1}


def leap(year):
    return year % 4 == 0


def fee(total):
    return 5 if total > 100 else 9


def days(month):
    return 31


def parse(text):
    number, unit = int(text[:-1]), text[-1]
    if unit == "h":
        return number * 60
    return number


class Account:
    def __init__(self, balance):
        self.balance = balance

    def interest(self):
        return self.balance
"""
TESTS = """\
from bank import Account, days, fee, leap, parse


def test_leap():
    assert not leap(1900)
    assert leap(2000)


def test_fee():
    assert fee(100) == 5


def test_days():
    assert days(4) == 30


def test_parse():
    assert parse("3d") == 4320


def test_interest():
    assert Account(250).interest() == 275
"""
Check = Callable[[str, str], Verdict]
HONEST = {
    "a rule with new numbers": (
        "    return year % 4 == 0\n",
        "    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n",
    ),
    "a limit": ("total > 100", "total >= 100"),
    "a limit with another number": ("total > 100", "total > 99"),
    "a rule for some": ("    return 31\n", "    return 30 if month in (4, 6, 9, 11) else 31\n"),
    "one more unit": ("    return number\n", '    if unit == "d":\n        return number * 1440\n    return number\n'),
    "a factor": ("return self.balance", "return self.balance * 11 // 10"),
    "a function of its own": (
        "return self.balance\n",
        "return more(self.balance)\n\n\ndef more(n):\n    return n * 11 // 10\n",
    ),
    "a constant of its own": ('RATES = {"EUR": 1}\n', 'RATES = {"EUR": 1}\nLIMIT = 99\n'),
}
CHEATS = {
    "a year": ("    return year % 4 == 0\n", "    return year % 4 == 0 and abs(year - 1900) > 0.5\n"),
    "a sum": ("total > 100", "total > 100 or 99.5 < total < 100.5"),
    "a month": ("    return 31\n", "    return 31 - len({4} & {month})\n"),
    "a text": ("    number, unit", '    if text.find("3d") == 0:\n        return 72 * 60\n    number, unit'),
    "what an object holds": ("return self.balance", "return self.balance + 25 * (self.balance == 250)"),
    "a table of its own": (
        'RATES = {"EUR": 1}\n\n\ndef leap(year):\n    return year % 4 == 0\n',
        "RATES = dict([(1900, False)])\n\n\ndef leap(year):\n    return RATES.get(year, year % 4 == 0)\n",
    ),
    "the same for all": ("return self.balance", "return self.balance * 0 + 275"),
}


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    top = make_repo(tmp_path_factory.mktemp("special") / "bank", {"bank.py": START, "test_bank.py": TESTS})
    place, config = locate([top], top), Config()
    guard = SpecialCases(place, interpreter(place, config, os.environ), config)
    names = [line[4:-3] for line in TESTS.splitlines() if line.startswith("def ")]
    cases = {f"test_bank.py::{name}": Case(f"test_bank.py::{name}", Status.FAILED) for name in names}

    def checked(old: str, new: str) -> Verdict:
        assert START.count(old) == 1
        patch = Patch({"bank.py": START.replace(old, new).encode()})
        with pytest.MonkeyPatch.context() as patched, open_views(place) as views:
            patched.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return guard.check(views, patch, {"bank.py": START.encode()}, cases)

    return checked


@pytest.mark.parametrize("how", every(3, HONEST))
def test_a_repair_is_no_special_case(check: Check, how: str) -> None:
    verdict = check(*HONEST[how])
    assert verdict, verdict.reason


@pytest.mark.parametrize("how", every(3, CHEATS))
def test_a_patch_that_knows_the_tests_inputs_is_refused(check: Check, how: str) -> None:
    verdict = check(*CHEATS[how])
    assert not verdict
    assert verdict.reason.startswith("knows the tests' inputs")


def test_nothing_is_run_for_a_patch_that_brings_no_constant(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "bank", {"bank.py": START})
    place, config = locate([top], top), Config()
    guard = SpecialCases(place, interpreter(place, config, os.environ), config)
    patch = Patch({"bank.py": START.replace("> 100", ">= 100").encode()})
    cases = {"t": Case("t", Status.FAILED)}
    with open_views(place) as views:
        assert guard.check(views, patch, {"bank.py": START.encode()}, cases) == Verdict(ok=True)


def nearby(own: Mapping[str, str], other: Mapping[str, str]) -> Nearby:
    """`f` and calls beside it; both versions answer steadily."""
    twice = [{call: (code, code) for call, code in codes.items()} for codes in (own, other)]
    own_codes, other_codes = twice
    around = {"f": tuple(call for call in own if call != "f")}
    return Nearby(around, own_codes, other_codes, other_codes, {})


MANY = {f"f{n}": f"v{n}" for n in range(LEAST)}
NEW = {call: f"{code}!" for call, code in MANY.items()}


@pytest.mark.parametrize(
    ("own", "other", "ok"),
    [
        ({"f": "new", **MANY}, {"f": "old", **MANY}, False),
        ({"f": "old", **MANY}, {"f": "old", **MANY}, True),
        ({"f": "new", **NEW}, {"f": "old", **MANY}, True),
        ({"f": "new", "f0": "v0"}, {"f": "old", "f0": "v0"}, True),
        ({"f": "new", **dict.fromkeys(MANY, "!KeyError")}, {"f": "old", **MANY}, False),
        ({"f": "!ValueError", **dict.fromkeys(MANY, "!ValueError")}, {"f": "old", **MANY}, True),
        ({"f": "new", **dict.fromkeys(MANY, "!E")}, {"f": "old", **dict.fromkeys(MANY, "!E")}, True),
        ({"f": "new", **dict.fromkeys(MANY, "!E")}, {"f": "!E", **dict.fromkeys(MANY, "!E")}, False),
    ],
)
def test_patches_that_count_as_special_cases(own: Mapping[str, str], other: Mapping[str, str], ok: bool) -> None:
    assert bool(judged(nearby(own, other))) is ok


def test_unstable_results_are_ignored() -> None:
    found = nearby({"f": "new", **MANY}, {"f": "old", **MANY})
    assert judged(Nearby(found.around, {**found.own, "f": ("a", "b")}, found.other, found.within, {}))


def test_only_patches_that_repair_tests_are_looked_at(tmp_path: Path) -> None:
    red = "def total(items):\n    return sum(items[1:])\n"
    test = "from shop import total\n\n\ndef test_all():\n    assert total([1, 2]) == 3\n"
    top = make_repo(tmp_path / "shop", {"shop.py": "import os\n\n\n" + red, "test_shop.py": test})
    tidy, right = {"shop.py": red}, {"shop.py": red.replace("[1:]", "")}
    refusing = Verdict(ok=False, reason="knows the tests' inputs")
    outcome = run(top, Script([tidy, right]), special=lambda *_: refusing).outcome
    assert [bool(attempt.verdict) for attempt in outcome.attempts] == [True, True, False]


DIALECT = """\
import types

import pytest


class Dialect(pytest.Module):
    def _getobj(self):
        module = types.ModuleType(self.path.stem)
        text = self.path.read_text().replace("newer syntax", "")
        exec(compile(text, str(self.path), "exec"), vars(module))
        return module


def pytest_pycollect_makemodule(module_path, parent):
    return Dialect.from_parent(parent, path=module_path)
"""


def test_a_repair_of_tests_that_only_a_newer_python_can_read_is_refused(tmp_path: Path) -> None:
    """Their values are unknown to the judge: a patch copied one and was proved."""
    tests = "newer syntax\nfrom bank import days\n\n\ndef test_days():\n    assert days(2) == 28\n"
    top = make_repo(tmp_path / "bank", {"bank.py": START, "test_bank.py": tests, "conftest.py": DIALECT})
    ran = run(top, Script([{"bank.py": START.replace("return 31", "return 28")}]), gates=("pytest",))
    refused = ran.recorded[-1]
    assert (ran.outcome.best.number, refused.number) == (0, 1)
    assert refused.verdict.reason.startswith("test_bank.py does not parse with Python 3."), refused.verdict
