"""`coderefine check`: when it may say that all is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.cli.check import passed
from coderefine.core import Check, Finding, Severity
from tests.support.command import coderefine
from tests.support.repo import make_repo

HARD = Finding("ruff", "F401", "a.py", "unused")
SOFT = Finding("ruff", "F401", "b.py", "unused", severity=Severity.SOFT)


@pytest.mark.parametrize(
    ("checks", "well"),
    [
        ((), False),
        ((Check("pytest"), Check("ruff")), True),
        ((Check("ruff", (SOFT,)),), True),
        ((Check("pytest"), Check("ruff", (HARD,))), False),
        ((Check("pytest", (SOFT,), complete=False),), False),
    ],
)
def test_a_check_passes_when_every_gate_is_clean_and_has_seen_everything(
    checks: tuple[Check, ...],
    well: bool,
) -> None:
    assert passed(checks) is well


def test_the_models_key_is_hidden_from_the_tests_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = "import os\n\n\ndef test_key():\n    assert 'MY_LLM' not in os.environ\n"
    top = make_repo(tmp_path / "shop", {"test_spy.py": spy})
    monkeypatch.setenv("MY_LLM", "s3cret")
    assert coderefine("check", "--gate", "pytest", cwd=top).code == 1
    (top / "pyproject.toml").write_text('[tool.coderefine]\napi-key-env = "MY_LLM"\n')
    assert coderefine("check", "--gate", "pytest", cwd=top).code == 0
