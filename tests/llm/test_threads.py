"""Calls on the side: their result, their error, and no waiting at the end."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from coderefine.errors import ModelError
from coderefine.llm.client import run_in_thread

ROOT = Path(__file__).parents[2]


def test_the_result_comes_when_it_is_there() -> None:
    assert run_in_thread(str.upper, "there").result(5) == "THERE"


def test_an_error_of_ours_is_raised_where_the_result_is_wanted() -> None:
    def fails(_: int) -> int:
        raise ModelError("no")

    with pytest.raises(ModelError, match="no"):
        run_in_thread(fails, 1).result(5)


def test_any_other_error_is_raised_there_too() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        run_in_thread(int, "bug").result(5)


def test_the_program_ends_without_waiting() -> None:
    began = time.monotonic()
    assert (
        _ran("import time; from coderefine.llm.client import run_in_thread; run_in_thread(time.sleep, 30)").returncode
        == 0
    )
    assert time.monotonic() - began < 20


def _ran(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", program), check=False, cwd=ROOT, timeout=25, capture_output=True, text=True
    )
