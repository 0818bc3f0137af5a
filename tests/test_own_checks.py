"""coderefine's own gates on coderefine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("config", "llm", "proposers", "runner")
"""Packages that are clean; the others join as they become so."""


@pytest.mark.parametrize("name", OURS)
def test_own_gates_find_nothing(name: str) -> None:
    argv = [sys.executable, "-m", "coderefine", "check", "--gate", "ruff", "--gate", "radon", f"coderefine/{name}"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
