"""coderefine's own gates on coderefine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_own_gates_find_nothing() -> None:
    argv = [sys.executable, "-m", "coderefine", "check", "--gate", "ruff", "--gate", "radon", "coderefine"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
