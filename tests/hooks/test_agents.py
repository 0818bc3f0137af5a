"""The stop hook for coding agents: no end on a tree that the changes made worse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import GREEN, ORDER, ROOT, TESTS
from tests.support.repo import make_repo

UNTIDY = f"import os\n\n{ORDER}"
WORSE = ORDER.replace("total - discount", "total + 1 - discount")


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (ORDER, 0, ""),
        pytest.param(GREEN, 0, "", marks=pytest.mark.thorough),
        (UNTIDY, 2, "Your changes make the project worse: "),
        pytest.param(WORSE, 2, "Your changes make the project worse: ", marks=pytest.mark.thorough),
        pytest.param(ORDER + "\nTAX = 7\n", 0, "", marks=pytest.mark.thorough),
    ],
    ids=["unchanged", "repaired", "a new finding", "a broken test", "neither"],
)
def test_the_agent_is_stopped_only_if_anything_is_worse(tmp_path: Path, text: str, code: int, message: str) -> None:
    top = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS})
    (top / "order.py").write_text(text)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        (sys.executable, ROOT / "hooks/agents/stop.py"),
        cwd=top,
        env={**os.environ, "PATH": path},
        input='{"hook_event_name": "Stop", "stop_hook_active": false}',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done
    assert done.stderr.startswith(message)
    assert bool(done.stderr) == bool(message)
