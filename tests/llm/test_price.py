from __future__ import annotations

import pytest

from coderefine.llm.budget import price


def test_a_known_model_costs_more_with_more_tokens_and_less_from_the_cache() -> None:
    base = price("gpt-4o-mini", None, 1000, 100)
    more = price("gpt-4o-mini", None, 2000, 100)
    cached = price("gpt-4o-mini", None, 1000, 100, cached=800)
    assert base is not None
    assert more is not None
    assert cached is not None
    assert 0 < cached < base < more < 0.01


@pytest.mark.parametrize(
    ("model", "url"),
    [("no-such-model", None), ("gpt-4o-mini", "http://127.0.0.1:11434/v1"), ("", None), ("gpt-4o-mini", "nonsense")],
)
def test_an_unknown_price_is_none(model: str, url: str | None) -> None:
    assert price(model, url, 1000, 100) is None


def test_openrouter_is_known() -> None:
    assert price("openai/gpt-4o-mini", "https://openrouter.ai/api/v1", 1000, 100) is not None
