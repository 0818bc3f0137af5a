"""How code reads: each measure with code that shows it, and the price of shredding."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Check, Severity
from coderefine.critics.reading import BEST, Reading, remarks
from coderefine.project import Interpreter, locate
from tests.support.repo import make_repo
from tests.support.view import DirectView

NOBODY = Interpreter(Path("/nowhere/bin/python"), "3.11.0", "test", None, Path("/nowhere"))


def check(tmp_path: Path, code: str) -> Check:
    top = make_repo(tmp_path / "repo", {"shop.py": code, "tests/test_shop.py": NAMED})
    return Reading(locate([top], top), NOBODY, Config(), lambda _: None).check(DirectView(top), Ask())


def rules(code: str) -> list[str]:
    return [remark.rule for remark in remarks("shop.py", code)]


LONG = "def total(items):\n" + "".join(f"    # step {n}\n    items = items + [{n}]\n" for n in range(21))
DEEP = """\
def total(rows):
    for row in rows:
        if row:
            for cell in row:
                if cell:
                    with cell:
                        pass
"""
NAMED = "def total(items):\n    qq = 0\n    for item in items:\n        qq += item\n    return qq\n"
SILENT = "def total(items):\n" + "".join(f"    items = items + [{n}]\n" for n in range(16))
FRAGMENT = "def total(items):\n    return _added(items)\n\n\ndef _added(items):\n    return sum(items)\n"
FINE = """\
def total(items):
    return sum(item.price for item in items)
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (LONG, ["long"]),
        (DEEP, ["deep"]),
        (NAMED, ["name"]),
        (SILENT, ["silent"]),
        (FRAGMENT, ["fragment"]),
        ("def f(a, b, c, d, e, g, h): ...\n", ["wide"]),
        (FINE, []),
        ("def total(rows):\n    for i, j in rows:\n        _ = i\n        x = j\n    return x\n", []),
        ("def total(rows):\n    first = 1\n\n    return [ab + first for ab in rows]\n", []),
        (FRAGMENT.replace("_added(items)\n\n", "_added(items) + _added(items)\n\n"), []),
        (FRAGMENT.replace("return sum(items)", "for item in items:\n        print(item)"), []),
        ("def broken(:\n", []),
        ("", []),
    ],
)
def test_each_measure(code: str, message: list[str]) -> None:
    assert rules(code) == message


def test_a_score_falls_with_each_remark_and_tests_are_left_alone(tmp_path: Path) -> None:
    assert check(tmp_path / "fine", FINE).total == BEST
    ugly = check(tmp_path / "ugly", NAMED + "\n\n" + FRAGMENT)
    assert (ugly.gate, ugly.clean, ugly.total) == (False, True, BEST - 0.25 - 0.5)
    assert {finding.severity for finding in ugly.findings} == {Severity.SOFT}
    assert ugly.notes == ("4.25 of 5: name ×1, fragment ×1",)


def test_shredding_a_function_scores_below_leaving_it_alone(tmp_path: Path) -> None:
    whole = (
        "def total(items):\n    # all prices\n    paid = [item for item in items if item.paid]\n"
        "    prices = [item.price for item in paid]\n    return round(sum(prices), 2)\n"
    )
    shredded = (
        "def total(items):\n    return _rounded(_sum(_prices(_paid(items))))\n\n\n"
        "def _paid(items):\n    return [item for item in items if item.paid]\n\n\n"
        "def _prices(items):\n    return [item.price for item in items]\n\n\n"
        "def _sum(prices):\n    return sum(prices)\n\n\n"
        "def _rounded(amount):\n    return round(amount, 2)\n"
    )
    assert (check(tmp_path / "a", shredded).total or 0) < (check(tmp_path / "b", whole).total or 0)
