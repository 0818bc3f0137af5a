"""The docs gate: what has no docstring, and what describes arguments that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask
from coderefine.critics.docs import Docs, described
from coderefine.project import Interpreter, locate
from tests.support.repo import make_repo
from tests.support.view import DirectView

NOBODY = Interpreter(Path("/nowhere/bin/python"), "3.11.0", "test", None, Path("/nowhere"))


def found(tmp_path: Path, code: str, *scope: str) -> list[tuple[str, str]]:
    top = make_repo(tmp_path / "repo", {"shop.py": code, "tests/test_shop.py": "def test_it(): pass\n"})
    check = Docs(locate([top], top), NOBODY, Config(), lambda _: None).check(DirectView(top), Ask(scope or (".",)))
    return [(finding.rule, finding.symbol) for finding in check.findings]


@pytest.mark.parametrize(
    ("code", "symbols"),
    [
        ("X = 1\n", [""]),
        ('"""Shop."""\n\n\ndef buy(): ...\n', ["buy"]),
        ('"""Shop."""\n\n\nclass Cart:\n    def total(self): ...\n', ["Cart", "Cart.total"]),
        ('"""Shop."""\n\n\ndef _buy(): ...\n\n\nclass _Cart:\n    def total(self): ...\n', []),
        ('"""Shop."""\n\n\nclass Cart:\n    """C."""\n\n    def __init__(self): ...\n', []),
        ('"""Shop."""\n\n\ndef outer():\n    """O."""\n\n    def inner(): ...\n    return inner\n', []),
        ('"""Shop."""\n\n\nclass Cart:\n    """C."""\n\n    @x.setter\n    def x(self, v): ...\n', []),
        ("", []),
        ("def broken(:\n", []),
    ],
)
def test_public_definitions_need_a_docstring(tmp_path: Path, code: str, symbols: list[str]) -> None:
    assert found(tmp_path, code) == [("missing-docstring", symbol) for symbol in symbols]


def test_outside_the_scope_nothing_is_reported(tmp_path: Path) -> None:
    assert found(tmp_path, "X = 1\n", "other") == []


GOOGLE = """Buy.

    Args:
        item: what
        price (int): how much
            more: of it

    Returns:
        it: x
"""


@pytest.mark.parametrize(
    ("docstring", "unknown"),
    [
        ("Buy.\n\n    :param item: what\n    :param int price: how much\n", ["price"]),
        (GOOGLE, ["price"]),
        ("Buy `price`: see Args.\n", []),
        ("Buy.\n\n    Args:\n        *args: more\n        colour: which one\n", ["colour"]),
    ],
)
def test_arguments_that_are_not_there_are_named(tmp_path: Path, docstring: str, unknown: list[str]) -> None:
    code = f'"""Shop."""\n\n\ndef buy(item, *args):\n    """{docstring}    """\n'
    assert found(tmp_path, code) == [("unknown-argument", "buy")] * len(unknown)


def test_arguments_that_kwargs_takes_are_not_unknown(tmp_path: Path) -> None:
    docstring = "Buy.\n\n    :param colour: which\n    :param options: others\n"
    code = f'"""Shop."""\n\n\ndef buy(item, **options):\n    """{docstring}    """\n'
    assert found(tmp_path, code) == []


def test_numpy_sections_are_left_alone() -> None:
    assert described("Buy.\n\nParameters\n----------\nitem : str\n    what\n") == set()
