"""The report for programs, held to its schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from coderefine.core import Check, Cost, Finding, Outcome, Patch
from coderefine.reports import json as report
from coderefine.reports.formats import RunReport

Validate = Callable[[str], dict[str, Any]]


@pytest.fixture
def valid() -> Validate:
    """Parses a report and holds it to the schema, where jsonschema is installed."""
    jsonschema = pytest.importorskip("jsonschema")

    def validate(text: str) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(text)
        jsonschema.validate(loaded, report.schema())
        return loaded

    return validate


def test_the_schema_is_one(valid: Validate) -> None:
    jsonschema = pytest.importorskip("jsonschema")

    jsonschema.Draft202012Validator.check_schema(report.schema())
    with pytest.raises(jsonschema.ValidationError):
        valid('{"version": 1, "kind": "check"}')
    with pytest.raises(jsonschema.ValidationError):
        valid(report.checks([Check("ruff", (Finding("ruff", "E1", "/abs/a.py", "m"),))]))


def test_a_check(valid: Validate, checks: tuple[Check, ...]) -> None:
    loaded = valid(report.checks(checks))
    assert (loaded["version"], loaded["kind"], loaded["clean"]) == (1, "check", False)
    assert [one["critic"] for one in loaded["checks"]] == ["pytest", "ruff", "radon"]
    assert loaded["checks"][1]["findings"][0] == {
        "critic": "ruff",
        "rule": "B006",
        "path": "src/cart.py",
        "first": 12,
        "last": 12,
        "symbol": "Cart.add",
        "message": "mutable default",
        "evidence": "def add(self, to=[]):",
        "instruction": "use None",
        "severity": "hard",
        "weight": 1.0,
    }
    assert len(loaded["checks"][0]["tests"]) == 44


def test_an_outcome(valid: Validate, outcome: Outcome) -> None:
    loaded = valid(report.outcome(RunReport(outcome, ("src/cart.py +1 −2",), "20261121-1", b"--- a\n+++ b\n")))
    assert (loaded["stop"], loaded["clean"], loaded["run"]) == ("no-progress", False, "20261121-1")
    assert loaded["patch"] == [
        {"path": "src/cart.py", "text": "x = 2\n"},
        {"path": "src/odd.py", "base64": "/w=="},
    ]
    assert loaded["evidence"]["covered"] == {"done": 2, "total": 2}
    assert loaded["evidence"]["executed"][0]["tests"] == ["t1", "t2"]
    assert loaded["evidence"]["survived"] == [{"path": "src/cart.py", "line": 1, "old": "2", "new": "3"}]
    assert [attempt["ok"] for attempt in loaded["attempts"]] == [True, True, False, True]
    assert loaded["attempts"][2]["reason"] == "protected"
    assert loaded["baseline"]["tests"] == {"failed": 3, "passed": 41}
    assert loaded["cost"]["usd"] == 0.0021
    assert loaded["wrote"] == ["src/cart.py +1 −2"]


def test_odd_text_survives(valid: Validate, outcome: Outcome) -> None:
    best = replace(outcome.best, patch=Patch({"gone.py": None, "na\udcffme.py": b"\xc3\xa9"}, "model", "é"))
    text = report.outcome(RunReport(replace(outcome, best=best, cost=Cost(1, usd=None)), diff=b"\xff"))
    assert text.isascii()
    loaded = valid(text)
    assert loaded["patch"] == [{"path": "gone.py", "deleted": True}, {"path": "na\udcffme.py", "text": "é"}]
    assert loaded["cost"]["usd"] is None
    assert loaded["diff"] == "\N{REPLACEMENT CHARACTER}"
