"""A result holds as much as fits, the most important first."""

from __future__ import annotations

import pytest

from coderefine.mcp.results import (
    DEFAULT,
    LEAST,
    Alternatives,
    Checked,
    Found,
    Offered,
    PatchVerdict,
    RunSummary,
    Shown,
    ToolResult,
    short,
)

FINDINGS = [
    Found(where=f"src/module_{n}.py:{n}", rule="ruff/F401", message=f"`{'x' * (n % 400)}`", evidence="é\n" * (n % 30))
    for n in range(3000)
]
DIFF = "\n".join(f"-    old line {n}\n+    new line {n}" for n in range(2000))
OFFERS = [Offered(number=n, what="shop.py:8 `<` → `>`", lines="-    if a < b:\n+    if a > b:") for n in range(1, 90)]
LARGE: list[ToolResult] = [
    Checked(passed=False, summary="pytest 3000 failed", findings=FINDINGS, notes=["a note"] * 50),
    RunSummary(run="r", verdict="proved", summary="all checks pass", diff=DIFF, findings=FINDINGS, why="y" * 5000),
    RunSummary(run="r", verdict="offered", summary="1 finding remains", offers=OFFERS, questions=["q(1)"] * 90),
    Alternatives(run="r", why="the plausible patches behave in 9 ways", offers=OFFERS, questions=["q(1)"] * 90),
    PatchVerdict(run="r", proved=False, worse=True, reason="y" * 900, report=["lost x"] * 20, findings=FINDINGS),
    Shown(run="r", report=["  1      search: " + "z" * 900] * 900, diff=DIFF),
]


@pytest.mark.parametrize("result", LARGE, ids=lambda one: f"{type(one).__name__}, {one.pieces}")
@pytest.mark.parametrize("limit", [LEAST, DEFAULT, 20_000])
def test_a_result_is_not_longer_than_requested_and_hardly_shorter(result: ToolResult, limit: int) -> None:
    size = len(short(result, limit).model_dump_json(by_alias=True, exclude_none=True))
    assert limit // 3 < size <= limit


def test_headlines_come_before_evidence_and_omitted_findings_are_counted() -> None:
    findings = [one.model_copy(update={"evidence": "why\n" * 60}) for one in FINDINGS[:3]]
    answer = short(Checked(passed=False, summary="3", findings=findings), DEFAULT).structured_content
    assert answer
    assert [bool(one.get("evidence")) for one in answer["findings"]] == [True, False, False]
    many = short(LARGE[0], DEFAULT).structured_content
    assert many
    assert len(many["findings"]) + many["more"] == len(FINDINGS)
    assert not any("evidence" in one for one in many["findings"])


def test_all_of_it_is_there_where_it_fits() -> None:
    whole = Checked(passed=True, summary="pytest 3 passed", notes=["ruff: a note"])
    answer = short(whole, DEFAULT)
    assert Checked(**(answer.structured_content or {})) == whole
