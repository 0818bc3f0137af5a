"""Advice in the loop: used once the gates pass, refined on, and never against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from coderefine.core import Ask, Attempt, Check, Finding, Outcome, Severity, Span, Stop, View
from coderefine.errors import BudgetError, CriticError
from tests.support.cases import every
from tests.support.loop import Script, run
from tests.support.repo import make_repo

UGLY = "def total(items):\n    x = 0\n    for y in items:\n        x += y\n    return x\n"
NICE = "def total(items):\n    return sum(items)\n"
OTHER = "def total(items):\n    amount = 0\n    for item in items:\n        amount += item\n    return amount\n"
BROKEN = "def total(items):\n    return sum(items[1:])\n"
LINTED = "import os\n\n\n" + NICE
TESTS = "from shop import total\n\n\ndef test_all():\n    assert total([1, 2, 3]) == 6\n"


@dataclass
class Adviser:
    """Likes texts as `taste` says: text -> (total, remarks)."""

    taste: Mapping[str, tuple[float, int]]
    name: str = "review"
    gate: bool = False
    asked: list[str] = field(default_factory=list)
    fault: Exception | None = None

    def check(self, view: View, ask: Ask) -> Check:
        text = (view.read("shop.py") or b"").decode()
        self.asked.append(text)
        if self.fault:
            raise self.fault
        total, remarks = self.taste[text]
        findings = tuple(
            Finding("review", "names", "shop.py", f"remark {n}", Span(1, 1), "total", severity=Severity.SOFT)
            for n in range(remarks)
        )
        return Check("review", findings, gate=False, total=total, notes=("decided by names",))


TASTE = {UGLY: (2.0, 2), NICE: (5.0, 0), OTHER: (3.0, 1), BROKEN: (5.0, 0), LINTED: (5.0, 0)}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", {"shop.py": UGLY, "test_shop.py": TESTS})


def refined(top: Path, adviser: Adviser, steps: Sequence[str]) -> tuple[Outcome, Script]:
    script = Script([{"shop.py": text} for text in steps])
    return run(top, script, advice=(adviser,)).outcome, script


def verdicts(outcome: Outcome) -> list[bool]:
    return [attempt.verdict.ok for attempt in outcome.attempts[1:]]


def review(attempt: Attempt) -> Check:
    check = attempt.check("review")
    assert check is not None
    return check


def test_green_code_is_refined_until_the_adviser_has_no_findings(shop: Path) -> None:
    adviser = Adviser(TASTE)
    outcome, script = refined(shop, adviser, [NICE, OTHER])
    assert (outcome.stop, outcome.best.number, outcome.clean) == (Stop.CLEAN, 1, True)
    assert outcome.best.patch.files == {"shop.py": NICE.encode()}
    assert review(outcome.best).notes == ("decided by names",)
    assert adviser.asked == [UGLY, NICE], "asked once about each, and not again in the proof"
    assert script.asked == 1
    assert [finding.message for finding in script.seen[0].findings] == ["remark 0", "remark 1"]


def test_without_findings_of_an_adviser_nothing_is_requested(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": NICE, "test_shop.py": TESTS})
    outcome, script = refined(top, Adviser(TASTE), [OTHER])
    assert (outcome.best.number, script.asked, outcome.stop) == (0, 0, Stop.CLEAN)


def test_code_with_a_lower_score_of_the_adviser_is_not_published(shop: Path) -> None:
    outcome, _ = refined(shop, Adviser({**TASTE, OTHER: (1.0, 0)}), [OTHER])
    assert (outcome.best.number, verdicts(outcome)) == (0, [False])
    assert "no better than the start: review 2 → 1" in outcome.attempts[1].verdict.reason
    assert outcome.clean, "advice blocks nothing"
    assert len(outcome.remaining) == 2


@pytest.mark.parametrize("worse", every(2, [LINTED, BROKEN]), ids=["lint", "a test"])
def test_praise_never_outvotes_a_gate(shop: Path, worse: str) -> None:
    adviser = Adviser(TASTE)
    outcome, _ = refined(shop, adviser, [worse])
    assert (outcome.best.number, verdicts(outcome)) == (0, [False])
    assert adviser.asked == [UGLY], "the adviser is not asked about what the gates refuse"


def test_a_step_up_is_kept_when_the_next_one_fails(shop: Path) -> None:
    adviser = Adviser(TASTE)
    outcome, _ = refined(shop, adviser, [OTHER, LINTED])
    assert adviser.asked == [UGLY, OTHER], "the adviser is not asked about what the gates refuse"
    assert (outcome.best.number, outcome.best.patch.files) == (1, {"shop.py": OTHER.encode()})
    assert [finding.message for finding in outcome.remaining] == ["remark 0"]


def test_red_code_is_repaired_before_anybody_gives_advice(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": BROKEN, "test_shop.py": TESTS})
    adviser = Adviser(TASTE)
    outcome, script = refined(top, adviser, [UGLY, NICE])
    assert adviser.asked == [UGLY, NICE]
    assert (outcome.best.number, verdicts(outcome)) == (2, [True, True])
    assert script.seen[0].findings[0].critic == "pytest"
    assert script.seen[1].findings[0].critic == "review"


def test_an_adviser_that_cannot_be_understood_blocks_nothing(shop: Path) -> None:
    adviser = Adviser(TASTE, fault=CriticError("the review cannot be read"))
    outcome, script = refined(shop, adviser, [NICE])
    assert (outcome.stop, outcome.best.number, script.asked) == (Stop.CLEAN, 0, 0)
    assert review(outcome.baseline).notes == ("the review cannot be read",)


def test_a_budget_that_ends_in_the_review_ends_the_run_with_the_best(shop: Path) -> None:
    adviser = Adviser(TASTE, fault=BudgetError("requests", "12 of 12"))
    outcome, _ = refined(shop, adviser, [NICE])
    assert (outcome.stop, outcome.best.number, outcome.clean) == (Stop.CLEAN, 0, True)
