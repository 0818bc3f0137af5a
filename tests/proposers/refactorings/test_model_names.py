"""A model names and documents the new functions of a simpler one, and changes nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Attempt, Event, Finding, Patch, Situation, Verdict
from coderefine.lint import apply
from coderefine.project import Protection, locate
from coderefine.proposers.refactorings import ComplexityChanges
from coderefine.proposers.refactorings.files import Placed, placed
from coderefine.proposers.refactorings.measures import COMPLEXITY
from coderefine.proposers.refactorings.model_names import ModelNames, name_for_now
from coderefine.proposers.refactorings.sequence import Draft, shortened
from coderefine.workspace import open_views
from tests.proposers.refactorings.test_proposed import CODE, LIMIT, NOBODY, TESTS
from tests.support.clients import line
from tests.support.command import coderefine
from tests.support.llm_server import LlmServer, Reply, Script, Seen
from tests.support.repo import make_repo

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="behaviour is compared in forks")

DOCUMENTED = CODE.replace(
    "\n\n\ndef summary",
    "".join(f'\n\n\ndef _{name}():\n    """Return it."""\n' for name in "abc") + "\n\n\ndef summary",
)
NAMES = "Name these functions: "


def named(*changes: Callable[[dict[str, str]], object]) -> Callable[[Seen], str]:
    """Return a script that answers with `_warn_about_kinds`, after `changes` of each entry."""

    def answer(seen: Seen) -> str:
        functions = seen.prompt.rpartition(NAMES)[2].strip().split(", ")
        entries = [
            {"function": one, "name": f"_warn_about_kinds{at or ''}", "summary": "Warn about kinds with odd totals"}
            for at, one in enumerate(functions)
        ]
        for entry in entries:
            for change in changes:
                change(entry)
        return json.dumps({"functions": entries})

    return answer


@pytest.mark.thorough
def test_new_functions_have_the_names_of_the_model(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"orders.py": CODE, "test_orders.py": TESTS, "pyproject.toml": LIMIT})
    with LlmServer(named()) as server:
        result = coderefine("fix", "--model", "scripted", "--base-url", server.url, cwd=top)
    assert result.code == 0, result
    text = (top / "orders.py").read_text()
    assert "\n    _warn_about_kinds(limit, totals, warnings)\n    return totals, warnings\n" in text
    assert "def _warn_about_kinds(limit, totals, warnings):\n    # Collect warnings\n" in text
    (request,) = server.requests
    assert "response_format" in request.body
    assert "def summary(lines, limit):" in request.prompt
    assert "Return totals by kind" in request.prompt


def answered(answer: Script, code: str = DOCUMENTED) -> Draft | None:
    """Return the draft of the function with the names that the model gives, through the real client."""
    place = placed(code, "summary", frozenset({"_a", "_b", "_c"}))
    assert isinstance(place, Placed)
    draft = shortened(place.unit, {COMPLEXITY: 7}, name=name_for_now)
    assert draft is not None
    with line(answer) as it:
        return ModelNames(it.client, lambda _: None)(draft)


def other(key: str, value: str) -> Callable[[dict[str, str]], object]:
    return lambda entry: entry.update({key: value})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(other("name", "warn"), id="public"),
        pytest.param(other("name", "_warn about"), id="two-words"),
        pytest.param(other("name", "_a"), id="taken"),
        pytest.param(other("name", "__warn"), id="mangled"),
        pytest.param(other("name", "_warn(): pass\n\n\ndef _b"), id="code"),
        pytest.param(other("name", f"_{'warn' * 12}"), id="too-long"),
        pytest.param(other("function", "_unknown"), id="another-function"),
        pytest.param(lambda entry: entry.pop("name"), id="not-as-asked"),
    ],
)
def test_impossible_names_of_a_model_are_not_used(change: Callable[[dict[str, str]], object]) -> None:
    assert answered(named(change)) is None


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param('Warn."""\n    import os', id="code"),
        pytest.param("Warn about \\\\ kinds", id="a-backslash"),
        pytest.param("Warn " * 40, id="too-long"),
        pytest.param("", id="empty"),
    ],
)
def test_impossible_summaries_of_a_model_are_not_used(summary: str) -> None:
    draft = answered(named(other("summary", summary)))
    assert draft is not None
    assert draft.added[0].text.startswith(
        'def _warn_about_kinds(limit, totals, warnings):\n    """Warn about kinds."""\n    # Collect'
    )


def test_a_model_may_keep_a_name() -> None:
    draft = answered(named(lambda entry: entry.update(name=entry["function"])))
    assert draft is not None
    assert draft.added[0].text.startswith(
        'def _collect_warnings(limit, totals, warnings):\n    """Warn about kinds with odd totals."""\n'
    )


@pytest.mark.parametrize(("most", "ready"), [(1, False), (2, True)])
def test_names_leave_half_of_the_requests_to_repairs(most: int, ready: bool) -> None:
    with line([], Config(max_requests=most)) as it:
        assert ModelNames(it.client, lambda _: None).ready is ready


def test_a_text_in_the_code_is_not_taken_for_a_docstring() -> None:
    row = 'warnings.append(f"{kind} is empty")'
    code = CODE.replace(row, 'warnings.append(\n                """a text"""\n            )')
    draft = answered(named(), code)
    assert draft is not None
    assert any('"""a text"""' in one.text for one in draft.added)


def test_new_functions_have_the_summaries_of_the_model_where_private_ones_have_docstrings() -> None:
    draft = answered(named())
    assert draft is not None
    assert '"""Warn about kinds with odd totals."""\n    # Collect' in draft.added[0].text


def test_a_model_that_fails_costs_only_its_names(tmp_path: Path) -> None:
    place = locate([make_repo(tmp_path / "repo", {"orders.py": CODE})], tmp_path / "repo")
    config, best, notes = Config(max_complexity=7), Attempt(0, Patch(), (), Verdict(ok=True)), list[Event]()
    finding = Finding("radon", "CC", "orders.py", "complex", symbol="summary")
    with line([Reply("", status=401)]) as it, open_views(place) as views, views.open(Patch()) as view:
        find = ComplexityChanges(place, config, NOBODY, Protection.of(place, config), notes.append, client=it.client)
        (change,) = find(view, Situation(best, best, (best,), (finding,), ()))
        assert len(it.server.requests) == 1
    assert "def _collect_warnings(limit, totals, warnings):" in (apply(CODE, change.edits) or "")
    assert any("new functions have the names that follow from their code" in note.text for note in notes)
