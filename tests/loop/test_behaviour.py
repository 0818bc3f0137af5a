"""A patched program is compared with the old one by the results of calls; the reason if this is impossible."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Case, Patch, Status, Verdict, Views
from coderefine.critics.pytest import Pytest
from coderefine.loop.behaviour import Behaviour, compared
from coderefine.project import interpreter, locate
from coderefine.workspace import open_views
from tests.support.cases import every
from tests.support.repo import make_repo

START = '''\
"""Numbers."""

import random


def fibonacci(count):
    """The first `count` of them."""
    found = [0]
    following = 1
    while len(found) < count:
        found, following = [*found, following], found[-1] + following
    return found


class Cart:
    """Prices."""

    def __init__(self, items):
        self.items = items

    def total(self, rate):
        """With tax."""
        amount = 0
        for item in self.items:
            amount += item * rate
        return amount


def dice(sides):
    """Something else every time."""
    return random.random() * sides
'''
TESTS = """\
from numbers_ import Cart, dice, fibonacci


def test_five():
    assert fibonacci(5) == [0, 1, 1, 2, 3]


def test_total():
    assert Cart([1, 2]).total(2) == 6


def test_dice():
    assert 0 <= dice(6) < 6
"""
END, ADD = "    return found\n", "amount += item * rate"


class ComparedProject:
    """The project with its tests run once."""

    def __init__(self, views: Views, behaviour: Behaviour, cases: Mapping[str, Case]) -> None:
        self._views, self._behaviour, self.cases = views, behaviour, cases

    def compared(self, text: str, cases: Mapping[str, Case] | None = None) -> Verdict:
        patch = Patch({"numbers_.py": text.encode()})
        return self._behaviour.check(self._views, patch, self.cases if cases is None else cases)


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComparedProject]:
    top = make_repo(tmp_path_factory.mktemp("kept") / "n", {"numbers_.py": START, "test_numbers.py": TESTS})
    place, config = locate([top], top), Config()
    with pytest.MonkeyPatch.context() as patch, open_views(place) as views:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        parts = (place, interpreter(place, config, os.environ), config)
        with views.open() as view:
            check = Pytest(*parts, lambda _: None).check(view, Ask())
        yield ComparedProject(views, Behaviour(*parts), check.cases)


CUT = "found[: max(count, 0)]"
OTHERWISE = {
    "in the body": START.replace(END, f"    return {CUT}\n"),
    "in a function that is new": START.replace(END, "    return _cut(found, count)\n")
    + f"\n\ndef _cut(found, count):\n    return {CUT}\n",
    "with a module that is new": START.replace("import random", "import itertools\nimport random").replace(
        END, "    return list(itertools.islice(found, max(count, 0)))\n"
    ),
    "with a constant that is new": START.replace("import random\n", "import random\n\nLEAST = 0\n").replace(
        END, "    return found[: max(count, LEAST)]\n"
    ),
    "with a parameter that is new": START.replace("(count):", "(count, least=0):").replace(
        END, "    return found[: max(count, least)]\n"
    ),
    "in a method that is new": START.replace(ADD, "amount += self._one(item, rate)").replace(
        "\n\ndef dice", "\n    def _one(self, item, rate):\n        return item * abs(rate)\n\n\ndef dice"
    ),
}
AS_BEFORE = {
    "split": START.replace(END, "    return _all_of(found)\n") + "\n\ndef _all_of(found):\n    return found\n",
    "a parameter": START.replace("(count):", "(count, start=0):").replace("found = [0]", "found = [start]"),
    "a comprehension": START.replace("        amount = 0\n", "").replace(
        f"        for item in self.items:\n            {ADD}\n        return amount",
        "        return sum(item * rate for item in self.items)",
    ),
}


@pytest.mark.parametrize("how", every(3, OTHERWISE))
def test_a_changed_result_is_detected_whatever_causes_it(checker: ComparedProject, how: str) -> None:
    verdict = checker.compared(OTHERWISE[how])
    assert not verdict
    assert verdict.reason.startswith("changes the results of ")


@pytest.mark.parametrize("how", every(3, AS_BEFORE))
def test_code_with_the_same_results_is_accepted_and_random_results_are_ignored(
    checker: ComparedProject, how: str
) -> None:
    verdict = checker.compared(AS_BEFORE[how])
    assert verdict, verdict
    assert re.fullmatch(r"same results for \d+ calls near those of the tests", verdict.reason)


def test_the_reason_is_given_where_nothing_was_compared(checker: ComparedProject) -> None:
    prefix = "its behaviour was not compared beyond the tests: "
    verdict = checker.compared(START, {})
    assert verdict
    assert verdict.reason == prefix + "no test passes at the start, so there are no calls to compare"
    slow = {"test_numbers.py::test_five": Case("test_numbers.py::test_five", Status.PASSED, 31.0)}
    assert checker.compared(START, slow).reason.startswith(prefix + "the tests take 31 s")
    assert checker.compared("def fibonacci(:\n").reason.startswith(prefix)


def test_only_stable_results_of_the_same_calls_count() -> None:
    before = {"f 1": ("a", "a"), "f 2": ("b", "c"), "f 3": ("!ValueError", "!ValueError"), "f 4": ("d", "d")}
    after = {"f 1": ("a", "a"), "f 2": ("x", "x"), "f 3": ("e", "e"), "f 5": ("y", "y")}
    assert compared(before, after).reason == "same results for 1 call near those of the tests"
    assert not compared(before, {"f 4": ("~", "~")}), "a call that ends no more is another answer"
    assert compared(before, {"f 4": ("d", "~")}), "once too late is chance"
    assert "not compared" in compared({}, after).reason
    assert "not compared" in compared(before, {"g 1": ("a", "a")}).reason
