"""One launcher: who starts processes at all, and what those that run the project's code are started with."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from coderefine import sandbox
from coderefine.config import Config
from coderefine.core import Needs
from coderefine.errors import SandboxError
from coderefine.sandbox.permissions import TIGHT, Bounds
from tests.support.view import DirectView

PACKAGE = Path(sandbox.__file__).parents[1]
STARTERS = {
    "proc.py": "starts processes",
    "sandbox/launch.py": "the launcher",
    "workspace/namespaces.py": "holders of namespaces",
    "workspace/private_views.py": "View.run, for our own programs",
    "git/process.py": "git",
    "project/environments.py": "asks an environment manager where the project's environment is",
    "project/interpreter.py": "asks the project's interpreter for its version, outside of the project",
    "app/fleet.py": "git, and coderefine itself once for each repository",
    "cluster/environments.py": "the interpreter of a worker, to ask for its distributions, and uv or pip to build one",
    "quick/children.py": "the hook's own tests and ruff, on what the user commits",
    "lint.py": "ruff, by View.run",
    "mcp/server.py": "our own worker, for one call of a client; it starts what it runs by the launcher",
    "runner/process_run.py": "`kill`, by View.run, to ask a hanging process for its stacks",
}
"""Every file that starts a process, and which."""
INSIDE = ("runner/agent/", "sandbox/inside.py")
"""What runs in the processes themselves, confined already."""


START = re.compile(
    r"(proc\.(run|start)|view\.run|subprocess\.(Popen|run|check\w*)|os\.(system|exec\w*|posix_spawn\w*|spawn\w*))\b"
)


def starts(path: Path) -> bool:
    """Return whether the file at `path` has a call that starts a process."""
    text = path.read_text("utf-8")
    if not START.search(text):  # parsing takes time
        return False
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return any(START.fullmatch(ast.unparse(call.func)) for call in calls)


def test_nothing_else_starts_a_process() -> None:
    """Whoever adds a start must say here what it starts; what runs the project's code goes through `sandbox`."""
    files = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    found = {name for name, path in files.items() if starts(path) and not name.startswith(INSIDE)}
    assert found == STARTERS.keys()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_program_is_confined_before_its_first_instruction(tmp_path: Path) -> None:
    """An interpreter that imports `sitecustomize` from PYTHONPATH runs it under the guards."""
    if sandbox.tried().missing:
        pytest.skip("not all guards are here")
    (tmp_path / "sitecustomize.py").write_text(
        "open(__file__ + '.status', 'w').write(open('/proc/self/status').read())\n"
    )
    env = {"PYTHONPATH": str(tmp_path)}
    result, report = sandbox.run(DirectView(tmp_path), (sys.executable, "-c", "pass"), TIGHT, env=env)
    status = (tmp_path / "sitecustomize.py.status").read_text()
    assert "Seccomp:\t2" in status, result
    assert "NoNewPrivs:\t1" in status
    assert report.words == report.done


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    result, _ = sandbox.run(DirectView(tmp_path), ("no-such-program",), TIGHT)
    assert result.returncode == 127
    assert "cannot start no-such-program" in result.stderr.decode()


def test_nothing_runs_if_strict_is_impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher that does not answer has confined nothing."""
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(SandboxError, match="is impossible here"):
        sandbox.run(DirectView(tmp_path), ("touch", str(tmp_path / "ran")), TIGHT, strict=True)
    assert not (tmp_path / "ran").exists()


def test_a_step_allows_exactly_the_recorded_accesses() -> None:
    needs = Needs(write=("/var/lib/thing",), read=("/root/.netrc",), unix=True, memory=1 << 30)
    tight, touched, *rest = sandbox.steps(Config(), needs)
    assert tight is not None
    assert touched is not None
    assert tight == Bounds(memory=tight.memory)
    wider = Bounds(touched.name, ("/var/lib/thing",), ("/root/.netrc",), sockets=True, memory=tight.memory)
    assert touched == wider
    assert rest[-1] is None
    assert len(rest) + 1 == sandbox.LOOSEST
    assert tight.memory >= 2 << 30
    assert sandbox.steps(Config(sandbox="strict"), needs) == (tight,)
    assert sandbox.steps(Config(sandbox="off")) == (None,)
