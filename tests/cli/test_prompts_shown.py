"""What is sent can be seen: before, instead of, and after sending."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import ORDER, RIGHT, TESTS, coderefine
from tests.support.llm_server import LlmServer
from tests.support.publishing import state
from tests.support.repo import make_repo

SECRET = "AKIAIOSFODNN7EXAMPLE"
SHOWN = ("--- edit: ", "characters (system ", "[system]\nYou repair Python code.", "assert discount(100) == 10")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    key = f'AWS = "{SECRET}"\n'
    return make_repo(tmp_path / "shop", {"order.py": ORDER + f"\n\n{key}", "test_order.py": TESTS})


def test_without_a_model_the_first_request_is_shown_and_nothing_is_sent(shop: Path) -> None:
    before = state(shop)
    result = coderefine("fix", "--no-search", "--show-prompts", cwd=shop)
    assert result.code == 1, result
    for part in SHOWN:
        assert part in result.err
    assert SECRET not in result.err
    assert "prompts are shown only, nothing is sent" in result.out
    assert {name for name, value in state(shop).items() if before.get(name) != value} <= {"refs"}


@pytest.mark.thorough
def test_requests_are_shown_before_and_after_sending(shop: Path) -> None:
    with LlmServer([RIGHT]) as server:
        model = ("--model", "scripted", "--base-url", server.url)
        result = coderefine("fix", "--no-search", "--show-prompts", *model, cwd=shop)
        assert result.code == 0, result
        prompt = server.requests[0].messages[1][1]
    assert prompt in result.err
    later = coderefine("show", "--prompts", cwd=shop)
    assert prompt in later.out
    assert "[answer]\nThe boundary is excluded." in later.out
    assert SECRET not in later.out + result.err + prompt
