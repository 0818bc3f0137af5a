"""Processes at the edges of what the system can count."""

from __future__ import annotations

import math
import os

import pytest

from coderefine import proc


@pytest.mark.parametrize("timeout", [1e12, math.inf])
def test_a_time_limit_longer_than_the_system_supports_is_no_limit(timeout: float) -> None:
    assert proc.run(("true",), timeout=timeout).returncode == 0


@pytest.mark.parametrize(("given", "found"), [("3", 3), ("1", 1), ("0", 1), ("default", 1), ("", 1)])
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity")
def test_where_few_processors_are_allowed_few_are_counted(
    monkeypatch: pytest.MonkeyPatch, given: str, found: int
) -> None:
    monkeypatch.setenv("PYTHON_CPU_COUNT", given)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert proc.processors() == found
    finally:
        os.sched_setaffinity(0, before)
