"""The model's review over real HTTP: what it says is checked against the code, and added up by us."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coderefine.config import Config, Criterion, load
from coderefine.core import Ask, Check, Severity
from coderefine.critics.review import Review
from coderefine.errors import ConfigError, CriticError
from coderefine.llm.prompts import expanded
from coderefine.project import Place, Protection
from tests.support.clients import Line, line
from tests.support.llm_server import Reply, Script, Seen, error
from tests.support.repo import write
from tests.support.view import DirectView

CODE = """class Cart:
    def total(self, l):
        x = 0
        for a in l:
            x += a
        return x


def other(l):
    x = 0
    return x
"""
NAMES = Criterion("names", "Names say what things are.", weight=3.0, source="pyproject.toml")
SHORT = Criterion("short", "Functions are short.", source="asked for")


def scored(scores: Mapping[str, object], *findings: Mapping[str, str]) -> str:
    blank = {"criterion": "", "path": "", "symbol": "", "quote": "", "problem": "bad", "advice": "x"}
    whole = [{**blank, **finding} for finding in findings]
    return json.dumps({"scores": [{"criterion": n, "score": s} for n, s in scores.items()], "findings": whole})


@contextmanager
def reviewed(
    top: Path,
    script: Script,
    criteria: Sequence[Criterion] = (NAMES, SHORT),
    files: Mapping[str, str] | None = None,
    **more: Any,
) -> Iterator[tuple[Check, Line]]:
    write(top, dict(files or {"cart.py": CODE, "test_cart.py": "def test_x():\n    pass\n"}))
    place = Place(top, top)
    config = Config(criteria=tuple(criteria), **more)
    with line(script, config) as it:
        critic = Review(place, replace(config, model="m1"), it.client, Protection.of(place, config))
        yield critic.check(DirectView(top), Ask()), it


def test_a_finding_has_its_place_its_criterion_and_an_instruction(tmp_path: Path) -> None:
    reply = scored(
        {"names": 2, "short": 4},
        {"criterion": "names", "path": "./cart.py", "quote": "        x = 0"}
        | {"problem": "x is a sum", "advice": "call it amount"},
    )
    with reviewed(tmp_path, [reply]) as (check, it):
        (finding,) = check.findings
        assert (finding.critic, finding.rule) == ("review", "names")
        assert (finding.where, finding.symbol) == ("cart.py:3", "Cart.total")
        assert (finding.message, finding.instruction, finding.evidence) == ("x is a sum", "call it amount", "x = 0")
        assert finding.severity is Severity.SOFT
        assert (check.gate, check.clean, check.tool) == (False, True, "m1")
        assert "test_cart" not in it.server.requests[0].prompt
        assert it.server.requests[0].body["response_format"]["json_schema"]["name"] == "review"


def test_the_symbol_distinguishes_equal_lines(tmp_path: Path) -> None:
    reply = scored({"names": 2}, {"criterion": "names", "path": "cart.py", "symbol": "other", "quote": "x = 0"})
    with reviewed(tmp_path, [reply]) as (check, _):
        assert check.findings[0].where == "cart.py:10"


def test_totals_are_ours_and_weighted(tmp_path: Path) -> None:
    reply = scored({"names": 2, "short": 4}) + "\nTotal: 10/10"
    with reviewed(tmp_path, [reply]) as (check, _):
        assert check.scores == {"names": 2.0, "short": 4.0}
        assert check.total == pytest.approx((2 * 3 + 4) / 4)
        assert check.notes == (
            "decided by the criteria names (pyproject.toml), short (asked for): 2.5 of 5, given by m1",
        )


def test_no_issue_is_an_answer(tmp_path: Path) -> None:
    with reviewed(tmp_path, [scored({"names": 5, "short": 5})]) as (check, it):
        assert (check.findings, check.total) == ((), 5.0)
        assert "an empty list of findings is a good answer" in it.server.requests[0].prompt


NOWHERE = {
    "no such file": {"criterion": "names", "path": "shop.py", "quote": "x = 0"},
    "no such line": {"criterion": "names", "path": "cart.py", "quote": "y = 0"},
    "no such line in it": {"criterion": "names", "path": "cart.py", "symbol": "other", "quote": "y = 0"},
    "no such symbol": {"criterion": "names", "path": "cart.py", "symbol": "basket"},
    "nothing cited": {"criterion": "names", "path": "cart.py"},
    "no such criterion": {"criterion": "beauty", "path": "cart.py", "quote": "x = 0"},
    "a test": {"criterion": "names", "path": "test_cart.py", "quote": "pass"},
    "no problem named": {"criterion": "names", "path": "cart.py", "quote": "x = 0", "problem": " "},
}


@pytest.mark.parametrize("name", NOWHERE)
def test_a_finding_that_quotes_missing_code_is_dropped(name: str, tmp_path: Path) -> None:
    with reviewed(tmp_path, [scored({"names": 3, "short": 3}, NOWHERE[name])]) as (check, _):
        assert check.findings == ()
        assert "1 finding dropped: no such code, path or criterion" in check.notes


@pytest.mark.parametrize("scores", [{}, {"short": 0}, {"short": 11}, {"pretty": 3}])
def test_a_missing_or_impossible_score_is_not_counted(scores: Mapping[str, object], tmp_path: Path) -> None:
    with reviewed(tmp_path, [scored({"names": 4, **scores})]) as (check, _):
        assert check.total == 4.0
        assert "not scored, and not counted: short" in check.notes


def test_without_any_score_there_is_no_total(tmp_path: Path) -> None:
    with reviewed(tmp_path, [scored({})]) as (check, _):
        assert check.total is None
        assert "no score" in check.notes[0]


def test_an_answer_that_is_no_review_is_requested_once_more(tmp_path: Path) -> None:
    with reviewed(tmp_path, ["Looks fine to me!", scored({"names": 3})]) as (check, it):
        assert (check.total, len(it.server.requests)) == (3.0, 2)
    with pytest.raises(CriticError, match="cannot be read"), reviewed(tmp_path, [Reply("no")]):
        pass


def test_criteria_for_some_paths_count_only_there(tmp_path: Path) -> None:
    files = {"api/web.py": "x = 0\n", "core/sums.py": "x = 0\n"}
    only = Criterion("names", "Names are clear.", paths=("api/**",))
    reply = scored(
        {"names": 3},
        {"criterion": "names", "path": "core/sums.py", "quote": "x = 0"},
        {"criterion": "names", "path": "api/web.py", "quote": "x = 0"},
    )
    with reviewed(tmp_path, [reply], (only, SHORT), files) as (check, it):
        assert [finding.path for finding in check.findings] == ["api/web.py"]
        assert "- names: Names are clear. (only in api/**)" in it.server.requests[0].prompt
    with reviewed(tmp_path, [reply], (only,), files) as (check, it):
        assert "core/sums.py" not in it.server.requests[0].prompt


def test_the_critic_may_be_another_model(tmp_path: Path) -> None:
    with reviewed(tmp_path, [scored({"names": 3})], critic_model="wise") as (check, it):
        assert it.server.requests[0].body["model"] == "wise"
        assert check.tool == "wise"


@pytest.mark.parametrize("name", ["readability", "performance", "security", "api-design"])
def test_every_built_in_set_has_criteria_in_words(name: str) -> None:
    found = expanded((Criterion(name, weight=2.0),))
    assert len(found) >= 3
    assert all(one.name.startswith(f"{name}/") and len(one.text) > 40 and one.weight == 2.0 for one in found)


class TestConfiguration:
    def config(self, top: Path, text: str, **flags: object) -> Config:
        (top / "pyproject.toml").write_text(f"[tool.coderefine.criteria]\n{text}")
        return load(top, {}, flags)

    def test_a_set_a_sentence_and_a_table(self, tmp_path: Path) -> None:
        found = self.config(
            tmp_path,
            'readability = true\nmoney = "Amounts are Decimal."\n'
            'names = { text = "Names are clear.", paths = ["src/**"], weight = 2 }\n',
        ).criteria
        assert [(one.name, one.text, one.paths, one.weight) for one in found] == [
            ("readability", "", (), 1.0),
            ("money", "Amounts are Decimal.", (), 1.0),
            ("names", "Names are clear.", ("src/**",), 2.0),
        ]

    def test_the_command_line_chooses(self, tmp_path: Path) -> None:
        asked = ("money", "security", "No function is called x, ever.")
        found = self.config(tmp_path, 'money = "Amounts are Decimal."\n', criteria=asked).criteria
        assert [(one.name, one.text, one.source) for one in found] == [
            ("money", "Amounts are Decimal.", "pyproject.toml"),
            ("security", "", "built in"),
            ("no-function-is-called", "No function is called x, ever.", "asked for"),
        ]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("readabilty = true\n", "did you mean 'readability'"),
            ("names = 3\n", "must be true"),
            ('names = { txt = "x" }\n', "did you mean 'text'"),
            ('names = { text = "x", weight = 0 }\n', "weight"),
            ('names = { text = "x", paths = "src" }\n', "a list of globs"),
        ],
    )
    def test_impossible_criteria_are_refused(self, text: str, words: str, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=words):
            self.config(tmp_path, text)

    def test_an_unknown_word_is_no_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="did you mean 'readability'"):
            load(tmp_path, {}, {"criteria": ("readable",)})


def test_a_model_with_a_small_context_reviews_less_and_a_note_tells_it(tmp_path: Path) -> None:
    def script(seen: Seen) -> Reply:
        if seen.chars > 12_000:
            return error(400, "maximum context length exceeded", code="context_length_exceeded")
        return Reply(scored({"names": 4}))

    files = {f"part_{n}.py": f"x_{n} = 1\n" * 400 for n in range(5)}
    with reviewed(tmp_path, script, (NAMES,), files) as (check, _):
        assert check.total == 4.0
        assert any("not read because the request is full" in note for note in check.notes)
    with (
        pytest.raises(CriticError, match="nothing is reviewed: the request is longer"),
        reviewed(tmp_path, [error(400, "maximum context length", code="context_length_exceeded")], (NAMES,), files),
    ):
        pass
