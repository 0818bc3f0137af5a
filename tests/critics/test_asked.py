"""The seed of `write`: what is asked for is a finding until it is there, and hollow code is not it."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.core import Ask, Task
from coderefine.critics.task_gates import RequestedCode
from tests.support.repo import write
from tests.support.view import DirectView

STUB = 'def total(items):\n    """The sum."""\n    raise NotImplementedError\n'
DONE = 'def total(items):\n    """The sum."""\n    return sum(items)\n'
OTHER = '"""Shop."""\n\n\ndef buy():\n    return 1\n'


def rules_found(tmp_path: Path, before: str | None, after: str | None, path: str = "shop.py") -> list[str]:
    """Rules of the findings on `after`, once the critic has seen `before`."""
    critic = RequestedCode(Task("write", "a shop", wanted=(path,)))
    rules: list[str] = []
    for text in (before, after):
        if text is not None:
            write(tmp_path, {path: text})
        rules = [finding.rule for finding in critic.check(DirectView(tmp_path), Ask()).findings]
    return rules


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        (None, None, ["request"]),
        (None, "\n", ["request"]),
        (None, DONE, []),
        (None, STUB, ["stub"]),
        (None, DONE + "\n\ndef more(): ...\n", ["stub"]),
        (STUB, STUB, ["stub"]),
        (STUB, STUB.replace("raise NotImplementedError", "pass"), ["stub"]),
        (STUB, STUB.replace("raise NotImplementedError", 'raise NotImplementedError("later")'), ["stub"]),
        (STUB, DONE, []),
        (STUB, DONE + "\n\ndef more():\n    ...\n", ["stub"]),
        (OTHER, OTHER, ["request"]),
        (OTHER, OTHER.replace("Shop", "My shop"), ["request"]),
        (OTHER, OTHER + "# more\n", ["request"]),
        (OTHER, OTHER + "\n\n" + DONE, []),
        (OTHER + "\n\n" + STUB, OTHER + "\n\n" + STUB + "\n\nX = 1\n", ["stub"]),
    ],
)
def test_code_that_counts_as_written(tmp_path: Path, before: str | None, after: str | None, rules: list[str]) -> None:
    assert rules_found(tmp_path, before, after) == rules


@pytest.mark.parametrize(
    "code",
    [
        "class P(Protocol):\n    def total(self) -> int: ...\n",
        "class P(ABC):\n    @abstractmethod\n    def total(self): ...\n",
        "@overload\ndef total(x: int) -> int: ...\n",
    ],
)
def test_functions_that_are_empty_on_purpose_are_no_stubs(tmp_path: Path, code: str) -> None:
    assert rules_found(tmp_path, None, code) == []


def test_a_requested_text_is_a_finding_until_it_has_changed(tmp_path: Path) -> None:
    assert rules_found(tmp_path, "old\n", "old\n", "a.txt") == ["request"]
    assert rules_found(tmp_path, "old\n", "new\n", "a.txt") == []
