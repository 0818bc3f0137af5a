"""What a patch may do while it is on trial, and what the project's own tests may go on doing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.sandbox.kernel import landlock_abi
from tests.support.cases import every, few
from tests.support.command import FAULT, GREEN, ORDER, RIGHT, ROOT, TESTS, block, coderefine
from tests.support.llm_server import LlmServer
from tests.support.repo import make_repo

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not landlock_abi(), reason="this system has no Landlock")
NEW = FAULT.replace("> 100", ">= 100")
HOME = "__import__('os').path.expanduser('~')"
ATTACKS = {
    "writes into HOME": f"open({HOME} + '/pwned', 'w').close()",
    "removes from HOME": f"__import__('os').remove({HOME} + '/diary')",
    "reads a key": f"assert open({HOME} + '/.ssh/id_ed25519').read()",
    "writes beside the repository": "open('../beside', 'w').close()",
}
"""If one succeeds, the failing test passes. Passing tests do not run it: a broken one is run again many times."""


def model(server: LlmServer, *more: str) -> tuple[str, ...]:
    return ("fix", "--no-search", "--model", "scripted", "--base-url", server.url, *more)


@pytest.fixture
def home(sealed: Path) -> Path:
    (sealed / ".ssh").mkdir()
    (sealed / ".ssh/id_ed25519").write_text("KEY")
    (sealed / "diary").write_text("dear diary")
    return sealed


@pytest.mark.parametrize(
    "case",
    few(
        (f"{attack}, {view}" for attack in ATTACKS for view in ("overlay", "copy")),
        "writes into HOME, overlay",
    ),
)
def test_attack(home: Path, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attack, _, view = case.partition(", ")
    repo = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS})
    monkeypatch.setenv("CODEREFINE_VIEW", view)
    with LlmServer([block("order.py", FAULT, f"    if total >= 100:\n        {ATTACKS[attack]}\n{NEW}")]) as server:
        result = coderefine(*model(server, "--max-iterations", "1"), cwd=repo)
    assert result.code == 1, result
    assert "verdict: no better than the start" in result.err
    assert not (home / "pwned").exists()
    assert not (tmp_path / "beside").exists()
    assert (home / "diary").read_text() == "dear diary"
    assert (repo / "order.py").read_text() == ORDER


def test_accesses_of_the_projects_own_tests_are_allowed_and_named(home: Path, tmp_path: Path) -> None:
    need = f"\n\ndef test_remembers():\n    open({str(home / 'cache')!r}, 'w').close()\n"
    repo = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS + need})
    with LlmServer([RIGHT]) as server:
        result = coderefine(*model(server), cwd=repo)
    assert result.code == 0, result
    assert (repo / "order.py").read_text() == GREEN
    assert "may write ~/cache" in result.out


@pytest.mark.thorough
def test_a_failing_test_that_needs_more_is_judged_with_it(home: Path, tmp_path: Path) -> None:
    need = f"def test_discount():\n    open({str(home / 'cache')!r}, 'w').close()\n"
    repo = make_repo(
        tmp_path / "order",
        {"order.py": ORDER, "test_order.py": TESTS.replace("def test_discount_from_one_hundred_on():\n", need)},
    )
    with LlmServer([RIGHT]) as server:
        result = coderefine(*model(server), cwd=repo)
    assert result.code == 0, result
    assert "may write ~/cache" in result.out


@pytest.mark.thorough
@pytest.mark.parametrize(
    "faulty", every(2, [ORDER, GREEN.replace('"""Prices', 'import os\n"""Prices')]), ids=["a test", "only lint"]
)
def test_accesses_before_the_first_test_are_allowed(home: Path, tmp_path: Path, faulty: str) -> None:
    """With a conftest.py that writes to HOME pytest does not even start in the sandbox."""
    files = {"order.py": faulty, "test_order.py": TESTS, "conftest.py": f"open({str(home / 'log')!r}, 'a').close()\n"}
    repo = make_repo(tmp_path / "order", files)
    with LlmServer([RIGHT]) as server:
        result = coderefine(*model(server), cwd=repo)
    assert result.code == 0, result
    assert "may write ~/log" in result.out


@pytest.mark.thorough
def test_strict_allows_nothing_more_and_off_confines_nothing(home: Path, tmp_path: Path) -> None:
    need = f"\n\ndef test_remembers():\n    open({str(home / 'cache')!r}, 'w').close()\n"
    repo = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS + need})
    with LlmServer([RIGHT, RIGHT]) as server:
        strict = coderefine(*model(server, "--sandbox", "strict", "--max-iterations", "1"), cwd=repo)
        free = coderefine(*model(server, "--sandbox", "off"), cwd=repo)
    assert strict.code == 1, strict
    assert free.code == 0, free
    assert "landlock" not in free.out


GATE = """
import pathlib
print("order.py:1:", pathlib.Path("~/.ssh/id_ed25519").expanduser().read_text())
"""
SETTINGS = """
[tool.coderefine]
gates = ["steal"]

[[tool.coderefine.commands]]
name = "steal"
run = ["python3", "steal.py"]
regex = '^(?P<path>[^:]+):(?P<line>[0-9]+): (?P<message>.*)$'
"""


def test_a_command_gate_cannot_read_keys(home: Path, tmp_path: Path) -> None:
    """A gate ran unconfined while the evidence named "landlock"; with `sandbox = "off"` it still may."""
    repo = make_repo(tmp_path / "order", {"order.py": ORDER, "steal.py": GATE, "pyproject.toml": SETTINGS})
    confined = coderefine("check", cwd=repo)
    free = coderefine("check", cwd=repo, env={"CODEREFINE_SANDBOX": "off"})
    assert "KEY" not in confined.out + confined.err, confined
    assert "Permission denied" in confined.err
    assert "KEY" in free.out, free


@pytest.mark.thorough
def test_a_gate_that_needs_more_gets_it_and_no_keys(home: Path, tmp_path: Path) -> None:
    program = "open(__import__('os').path.expanduser('~/.cache/steal'), 'w')\n" + GATE.replace("print(", "#")
    (home / ".cache").mkdir()
    repo = make_repo(tmp_path / "order", {"order.py": ORDER, "steal.py": program, "pyproject.toml": SETTINGS})
    result = coderefine("check", cwd=repo)
    assert result.code == 0, result
    assert (home / ".cache/steal").exists()


WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
op = lambda *fields: struct.pack("HBBI", *fields)
program = op(0x20, 0, 0, 0) + op(0x15, 0, 1, 444) + op(6, 0, 0, 0x50026) + op(6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.thorough
def test_strict_without_landlock_runs_nothing_and_auto_names_the_missing_guard(home: Path, tmp_path: Path) -> None:
    """It ran unconfined without a note."""
    repo = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS})

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        argv = (sys.executable, "-c", WITHOUT_LANDLOCK, sys.executable, "-m", "coderefine", *args)
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(argv, cwd=repo, env=env, capture_output=True, text=True, check=False)

    strict = run("fix", "--no-model", "--sandbox", "strict")
    assert strict.returncode == 2, strict
    assert "this system lacks: Landlock" in strict.stderr
    assert strict.stdout == ""
    auto = run("fix", "--no-model")
    assert auto.returncode == 0, auto
    assert "lacking Landlock" in auto.stdout
    assert "outside read-only" in auto.stdout
    assert "missing: Landlock" in run("doctor", "--no-model").stdout
