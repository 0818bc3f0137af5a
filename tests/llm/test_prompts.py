from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.core import FIX
from coderefine.llm import prompts
from coderefine.llm.prompts import fields, render, system_message

EXPECTED = {
    "again": {"problem"},
    "critic": set(),
    "critique": set(),
    "cut": set(),
    "drafter": {"module"},
    "drafts": {"code", "path", "goal"},
    "feedback": set(),
    "first": set(),
    "fresh": set(),
    "given": {"code"},
    "goal": set(),
    "improve": set(),
    "other": set(),
    "named": {"code", "functions"},
    "names": set(),
    "quality": set(),
    "refine": set(),
    "repair": {"number", "reason"},
    "same": {"number", "reason"},
    "review": {"code", "criteria"},
    "reviewer": {"subject", "task"},
    "role": set(),
    "several": {"number"},
    "system": {"role", "task"},
    "version": {"number", "code", "reason", "feedback"},
}


def test_every_prompt_is_known_here() -> None:
    names = (path.stem for path in Path(prompts.__file__).parent.glob("*.md"))
    assert {name: set(fields(name)) for name in names} == EXPECTED


@pytest.mark.parametrize("name", EXPECTED)
def test_every_prompt_renders_with_every_field(name: str) -> None:
    values = {field: f"<{field} $number {{x}}>" for field in EXPECTED[name]}
    text = render(name, **values)
    assert all(value in text for value in values.values())
    assert "$" not in text.replace("$number", "") or values


@pytest.mark.parametrize("name", EXPECTED)
def test_a_missing_or_a_surplus_field_is_a_bug(name: str) -> None:
    with pytest.raises(KeyError, match=name):
        render(name, **dict.fromkeys(EXPECTED[name], "x"), surplus="x")
    if EXPECTED[name]:
        with pytest.raises(KeyError, match=name):
            render(name)


def test_the_system_prompt_is_short() -> None:
    assert len(system_message(FIX)) <= 1100
