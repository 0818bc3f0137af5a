"""`coderefine check`: when it may say that all is well."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from coderefine.config import GATES
from coderefine.core import Check, Finding, Severity, passed
from coderefine.reports import json as json_report
from tests.support.command import coderefine
from tests.support.repo import make_repo, write

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
    assert json.loads(json_report.checks(checks))["clean"] is well


@pytest.mark.parametrize(("args", "env"), [(("--gate", ""), {}), ((), {"CODEREFINE_GATES": ""})])
def test_an_empty_choice_of_gates_runs_the_usual_ones(repo: Path, args: tuple[str, ...], env: dict[str, str]) -> None:
    """`--gate "$UNSET"` ran nothing, and said that all checks pass."""
    result = coderefine("check", *args, "--format", "json", cwd=repo, env=env)
    assert result.code == 1, result
    report = json.loads(result.out)
    assert [one["critic"] for one in report["checks"]] == [*GATES]
    assert report["clean"] is False


def test_paths_did_not_say_to_which_folder_they_are_relative(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "lint", {"shop/a.py": "import os\n"})
    result = coderefine("check", "--gate", "ruff", cwd=top / "shop")
    assert f"note: paths are relative to {top}\n" in result.err
    result = coderefine("check", "--gate", "ruff", "--format", "json", cwd=top)
    assert json.loads(result.out)["root"] == str(top)


@pytest.mark.parametrize("command", ["check", "fix"])
def test_without_any_gate_nothing_is_said_to_pass(repo: Path, command: str) -> None:
    write(repo, {"pyproject.toml": "[tool.coderefine]\ngates = []\n"})
    result = coderefine(command, cwd=repo)
    assert result.code == 2, result
    assert result.lines == [
        "coderefine: no gate would run, so that nothing could be checked: name some in `gates` or with --gate"
    ]
    assert not result.out


def test_the_models_key_is_hidden_from_the_tests_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = "import os\n\n\ndef test_key():\n    assert 'MY_LLM' not in os.environ\n"
    top = make_repo(tmp_path / "shop", {"test_spy.py": spy})
    monkeypatch.setenv("MY_LLM", "s3cret")
    assert coderefine("check", "--gate", "pytest", cwd=top).code == 1
    (top / "pyproject.toml").write_text('[tool.coderefine]\napi-key-env = "MY_LLM"\n')
    assert coderefine("check", "--gate", "pytest", cwd=top).code == 0


NEEDY = "import os\n\n\ndef test_settings():\n    assert os.environ['SECRET_KEY'] == 'abc'\n"


def test_a_suite_that_needs_a_secret_key_is_referred_to_pass_env_and_green_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = make_repo(tmp_path / "site", {"test_settings.py": NEEDY})
    monkeypatch.setenv("SECRET_KEY", "abc")
    monkeypatch.setenv("OTHER_TOKEN", "x")
    refused = coderefine("check", "--gate", "pytest", cwd=top)
    assert refused.code == 1
    assert 'pass-env = ["SECRET_KEY"]' in refused.out
    assert "OTHER_TOKEN" not in refused.out
    write(top, {"pyproject.toml": '[tool.coderefine]\npass-env = ["SECRET_*"]\n'})
    assert coderefine("check", "--gate", "pytest", cwd=top).code == 0


def test_a_suite_that_needs_the_network_is_referred_to_the_flag_and_green_with_it(tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    call = f"import socket\n\n\ndef test_call():\n    socket.create_connection(('127.0.0.1', {port}), 5)\n"
    top = make_repo(tmp_path / "net", {"test_call.py": call})
    with server:
        refused = coderefine("check", "--gate", "pytest", cwd=top)
        if refused.code == 0:
            pytest.skip("the network cannot be switched off here")
        assert "--network" in refused.out
        assert coderefine("check", "--gate", "pytest", "--network", cwd=top).code == 0


def test_a_program_that_the_tests_start_but_that_is_not_installed_is_named(tmp_path: Path) -> None:
    test = "import subprocess\n\n\ndef test_program():\n    subprocess.run(['no-such-shop', '--help'], check=True)\n"
    top = make_repo(tmp_path / "p", {"test_m.py": test})
    found = coderefine("fix", "--gate", "pytest", cwd=top)
    assert found.code == 1
    assert "a failing test starts no-such-shop, which is not installed: no patch can repair it" in found.out
    assert "candidates" not in found.out
