"""`--policy`, `--samples` and `models`, through the real command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import every
from tests.support.command import DEFINED, GREEN, ORDER, RIGHT, TESTS, UNDEFINED, WRONG, coderefine
from tests.support.llm_server import LlmServer, Reply
from tests.support.repo import make_repo

MODELS = '[tool.coderefine]\nmodels = ["small", "large"]\n'


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", {"order.py": ORDER, "test_order.py": TESTS, "pyproject.toml": MODELS})


def fix(server: LlmServer, *more: str) -> tuple[str, ...]:
    return ("fix", "--no-search", "--base-url", server.url, *more)


@pytest.mark.thorough
def test_samples_come_in_one_request_and_the_right_one_is_taken(shop: Path) -> None:
    with LlmServer([Reply(WRONG, more=(RIGHT, WRONG))]) as server:
        result = coderefine(*fix(server, "--samples", "3"), cwd=shop)
    assert result.code == 0, result
    assert (shop / "order.py").read_text() == GREEN
    assert [(seen.body["n"], seen.body["model"]) for seen in server.requests] == [(3, "small")]


@pytest.mark.thorough
def test_a_policy_is_chosen_by_name(shop: Path) -> None:
    with LlmServer([WRONG, RIGHT]) as server:
        result = coderefine(*fix(server, "--policy", "warming", "--model", "own"), cwd=shop)
    assert result.code == 0, result
    first, second = server.requests
    assert first.messages == second.messages
    assert first.body["temperature"] < second.body["temperature"]
    assert {first.body["model"], second.body["model"]} == {"own"}, "the flag goes before `models`"


def test_an_unknown_policy_is_refused(shop: Path) -> None:
    (shop / "pyproject.toml").write_text('[tool.coderefine]\npolicy = "luck"\n')
    result = coderefine("fix", cwd=shop)
    assert result.code == 2
    assert "policy must be one of coderefine, retry, warming, self-refine" in result.lines[0]


@pytest.mark.parametrize("limit", every(2, ["--max-tokens", "--max-requests"]))
def test_a_limit_in_dollars_needs_a_known_price(repo: Path, limit: str) -> None:
    """A scripted server is in no price list: with --max-cost alone nothing would ever stop the run."""
    (repo / "order.py").write_text(UNDEFINED)
    with LlmServer([DEFINED]) as server:
        where = ("--gate", "ruff", "--model", "scripted", "--base-url", server.url)
        ask = ("fix", "--no-search", *where, "--max-cost", "0.5")
        result = coderefine(*ask, cwd=repo)
        assert (result.code, len(result.lines)) == (2, 1), result
        assert "the price of 'scripted' is not known" in result.lines[0]
        assert server.requests == []
        assert coderefine(*ask, limit, "20000", "--diff", cwd=repo).code == 0
