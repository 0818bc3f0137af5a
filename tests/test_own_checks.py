"""coderefine's own gates on coderefine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = (
    *("bounds.py", "cli", "config", "core", "errors.py", "git", "journal", "judge", "library.py", "lint.py", "llm"),
    *("proc.py", "project", "proposers", "publishers", "reports", "runner", "source.py", "temporary.py", "workspace"),
)
"""What is clean; the others join as they become so."""


def test_own_gates_find_nothing() -> None:
    places = [f"coderefine/{name}" for name in OURS]
    argv = [sys.executable, "-m", "coderefine", "check", "--gate", "ruff", "--gate", "radon", *places]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
