"""The words of a commit."""

from __future__ import annotations

from coderefine.core import Attempt, Check, Finding, Outcome, Patch, Stop, Verdict
from coderefine.publishers import Wording

FOUND = (
    Finding("pytest", "failed", "tests/test_a.py", "assert 1 == 2", symbol="tests/test_a.py::test_one"),
    Finding("ruff", "F401", "src/a.py", "unused"),
)
START = Attempt(0, Patch(), (Check("pytest", FOUND[:1]), Check("ruff", FOUND[1:])))


def step(number: int, summary: str, *, ok: bool = True) -> Attempt:
    return Attempt(number, Patch({"src/a.py": b"1\n"}, "search", summary), START.checks, Verdict(ok=ok))


def written(*steps: Attempt) -> str:
    outcome = Outcome(steps[-1], START, Stop.CLEAN, attempts=(START, *steps))
    return Wording().full(outcome, "run-1")


def test_a_single_step_is_the_summary() -> None:
    assert written(step(1, "src/a.py:3 `>` → `>=`")).splitlines()[:2] == ["fix: src/a.py:3 `>` → `>=`", ""]


def test_several_steps_are_summed_up_and_listed() -> None:
    words = written(step(1, "first thing"), step(2, "refused thing", ok=False), step(3, "second\nthing"))
    assert words.splitlines()[:5] == [
        "fix: repair 2 findings in a.py",
        "",
        "- search: first thing",
        "- search: second thing",
        "",
    ]
    assert "refused" not in words


def test_a_message_of_the_users_own() -> None:
    outcome = Outcome(last := step(1, "it"), START, Stop.CLEAN, attempts=(START, last))
    assert Wording("chore: {summary} (bot)").subject(outcome) == "chore: it (bot)"
    assert Wording("no braces").subject(outcome) == "no braces"
