"""The dependency order of the house is a contract (see [tool.importlinter])."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]


def test_data_flows_one_way() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run((program, "--no-cache"), cwd=TOP, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 kept, 0 broken" in done.stdout
