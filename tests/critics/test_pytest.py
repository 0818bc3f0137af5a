"""The pytest gate: what a failing test looks like as a finding."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Severity, Span
from coderefine.critics.pytest import EVIDENCE, Pytest
from coderefine.errors import CriticError
from coderefine.project import Interpreter, Place
from tests.support.repo import write
from tests.support.view import DirectView


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


def critic(top: Path, listen: list[Event] | None = None) -> Pytest:
    python = Interpreter(Path(sys.executable), "3.11", "ours", pytest.__version__, Path(sys.prefix))
    return Pytest(Place(top, top), python, Config(), listen.append if listen is not None else lambda _: None)


def check(top: Path, files: dict[str, str], ask: Ask = Ask(timeout=60)) -> Check:  # noqa: B008 — frozen
    write(top, files)
    return critic(top).check(DirectView(top), ask)


CART = {
    "cart.py": "def total(prices, discount=0):\n    print('adding', prices)\n    return sum(prices) - discount + 1\n\n"
    "def price(table, name):\n    return table[name]\n",
    "tests/test_cart.py": "from cart import price, total\n\ndef test_total():\n    prices = [2, 3]\n"
    "    assert total(prices) == 5\n\ndef test_price():\n    assert price({'a': 1}, 'b') == 1\n\n"
    "def test_fine(): pass\n",
    "conftest.py": "",
}


def test_a_failing_test_is_a_finding_with_the_values(tmp_path: Path) -> None:
    found = check(tmp_path, CART)
    first, second = found.findings
    assert first.identity == ("pytest", "tests/test_cart.py", "failed", "tests/test_cart.py::test_total")
    assert first.message == "assert 6 == 5"
    assert first.span == Span(5, 5)
    assert first.evidence.splitlines() == [
        "assert 6 == 5",
        " +  where 6 = total([2, 3])",
        "tests/test_cart.py:5 in test_total: assert total(prices) == 5",
        "    prices = [2, 3]",
        "Captured stdout call:",
        "adding [2, 3]",
    ]
    assert second.message == "KeyError: 'b'"
    assert "cart.py:6 in price: return table[name]\n    table = {'a': 1}\n    name = 'b'" in second.evidence
    assert second.where == "tests/test_cart.py:8"
    assert len(found.cases) == 3
    assert not found.clean


def test_a_clean_project_has_no_findings(tmp_path: Path) -> None:
    found = check(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    assert (found.findings, found.clean, found.critic, found.gate) == ((), True, "pytest", True)


def test_rules_distinguish_kinds_of_failures(tmp_path: Path) -> None:
    files = {
        "lib.py": "import missing_thing\n",
        "test_a.py": "import lib\n",
        "test_b.py": "import os, pytest\n@pytest.fixture\ndef bad(): 1 / 0\ndef test_1(bad): pass\n"
        "def test_2(): os._exit(0)\ndef test_3(): assert 0\n",
    }
    found = check(tmp_path, files).findings
    assert [(item.rule, item.symbol) for item in found] == [
        ("collection", "test_a.py"),
        ("error", "test_b.py::test_1"),
        ("error", "test_b.py::test_2"),
        ("failed", "test_b.py::test_3"),
    ]
    assert found[0].message == "ModuleNotFoundError: No module named 'missing_thing'"
    assert "lib.py:1 in <module>: import missing_thing" in found[0].evidence
    assert "exit code 0" in found[2].message
    assert all(item.instruction for item in found)


def test_evidence_is_short_for_every_kind_of_test(tmp_path: Path) -> None:
    source = (
        "def deep(n, text):\n    words = {str(i): text for i in range(50)}\n"
        "    return deep(n - 1, text) if n else 1 / 0\n"
        "def test_a():\n    print('x' * 400_000)\n    deep(300, 'y' * 5000)\n"
        "def test_b():\n    assert 'a' * 5000 == 'b' * 5000, 'm' * 5000\n"
    )
    for finding in check(tmp_path, {"test_a.py": source}).findings:
        assert 100 < len(finding.evidence) <= EVIDENCE
        assert len(finding.message) < 400
    first = check(tmp_path, {}).findings[0]
    assert "1 / 0" in first.evidence
    assert "test_a.py:6 in test_a" in first.evidence or first.evidence.count("in deep") >= 2


@pytest.mark.parametrize(
    ("scope", "severities"),
    [
        ((".",), [Severity.HARD, Severity.HARD]),
        (("cart.py",), [Severity.HARD, Severity.HARD]),
        (("other.py",), [Severity.HARD, Severity.SOFT]),
        (("tests",), [Severity.HARD, Severity.HARD]),
    ],
)
def test_a_failure_that_shows_other_code_does_not_block(
    tmp_path: Path, scope: tuple[str, ...], severities: list[Severity]
) -> None:
    found = check(tmp_path, CART, Ask(scope=scope, timeout=60))
    assert [finding.severity for finding in found.findings] == severities


@pytest.mark.thorough
def test_a_hang_learned_once_is_cheaper_the_second_time(tmp_path: Path) -> None:
    """After a whole check the limit follows the slowest test that ended by itself."""
    write(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    gate = critic(tmp_path)
    gate.check(DirectView(tmp_path), Ask())
    write(tmp_path, {"test_a.py": "import time\ndef test_abc(): time.sleep(60)\n"})
    again = gate.check(DirectView(tmp_path), Ask())
    assert again.findings[0].message == "still running after 10 s: killed (test-timeout allows more)"


def test_a_broken_configuration_gives_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(CriticError, match="unrecognized arguments: --nope"):
        check(tmp_path, {"pytest.ini": "[pytest]\naddopts = --nope\n"})


def test_the_stage_and_the_tests_are_reported(tmp_path: Path) -> None:
    write(tmp_path, CART)
    events: list[Event] = []
    critic(tmp_path, events).check(DirectView(tmp_path), Ask())
    assert events[0] == Event("critic", "pytest")
    assert events[-1] == Event("tests", done=3, total=3)
