"""`fix --criteria`: green code refined by a review, through the real command and a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import GREEN, TESTS, block, coderefine
from tests.support.llm_server import LlmServer, Reply, Seen
from tests.support.repo import git, make_repo

OLD = "    return total - discount(total)"
NEW = "    return total - discount(total)  # `total` is money, in euros"


def result(score: float, *findings: dict[str, str]) -> Reply:
    return Reply(json.dumps({"scores": [{"criterion": "money", "score": score}], "findings": list(findings)}))


REMARK = {
    "criterion": "money",
    "path": "order.py",
    "symbol": "price",
    "quote": OLD,
    "problem": "the result is a bare number",
    "advice": "say which currency",
}


POOR = result(2, REMARK)


@pytest.fixture
def green(tmp_path: Path) -> Path:
    config = '[tool.coderefine.criteria]\nmoney = "Amounts of money name their currency."\n'
    return make_repo(tmp_path / "green", {"order.py": GREEN, "test_order.py": TESTS, "pyproject.toml": config})


def script(seen: Seen) -> Reply:
    if "You review Python code" not in seen.prompt:
        return Reply("The currency is missing.\n\n" + block("order.py", OLD, NEW))
    return result(5) if "`total` is money" in seen.prompt else result(2, REMARK)


def test_a_review_refines_code_that_passes_the_gates(green: Path) -> None:
    with LlmServer(script) as server:
        result = coderefine("fix", "--model", "scripted", "--base-url", server.url, cwd=green)
    assert result.code == 0, result
    assert "`total` is money" in (green / "order.py").read_text()
    assert "review: decided by the criteria money (pyproject.toml): 5.0 of 5, given by scripted" in result.out
    assert "review 2.0 of 5, 1 remark" in result.out
    assert len(server.requests) == 3


@pytest.mark.thorough
def test_remaining_remarks_of_the_review_are_shown_and_block_nothing(green: Path) -> None:
    broken = Reply(block("order.py", OLD, "    return 0"))
    with LlmServer(lambda seen: POOR if "You review" in seen.prompt else broken) as server:
        result = coderefine(
            *("fix", "--max-requests", "3", "--model", "scripted", "--base-url", server.url),
            *("--criteria", "money"),
            cwd=green,
        )
    assert result.code == 0, result
    assert (green / "order.py").read_text() == GREEN
    assert "advice    order.py:11 money the result is a bare number: say which currency" in result.out


def test_criteria_without_a_model_are_named_and_ignored(green: Path) -> None:
    result = coderefine("fix", "--no-model", "--criteria", "readability", cwd=green)
    assert result.code == 0, result
    assert "criteria need a model" in result.err


def test_an_unknown_set_is_refused(green: Path) -> None:
    result = coderefine("fix", "--criteria", "readabilty", cwd=green)
    assert result.code == 2
    assert "did you mean 'readability'" in result.lines[0]


@pytest.mark.thorough
def test_a_reviewed_run_is_replayed_without_a_request(green: Path) -> None:
    with LlmServer(script) as server:
        coderefine("fix", "--model", "scripted", "--base-url", server.url, "--format", "json", cwd=green)
    result = coderefine("replay", cwd=green)
    assert result.code == 0, result
    assert "the same patch as run" in result.out
    assert "5.0 of 5, given by scripted" in result.out


@pytest.mark.thorough
def test_a_commit_message_contains_the_reviews_score(green: Path) -> None:
    with LlmServer(script) as server:
        result = coderefine("fix", "--commit", "--model", "scripted", "--base-url", server.url, cwd=green)
    assert result.code == 0, result
    trailers = git(green, "log", "-1", "--format=%(trailers:only)")
    assert "Coderefine-Checks: pytest 0 -> 0, ruff 0 -> 0, radon 0 -> 0, review 2.0 -> 5.0" in trailers
