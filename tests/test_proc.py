"""Processes at the edges of what the system can count."""

from __future__ import annotations

import math

import pytest

from coderefine import proc


@pytest.mark.parametrize("timeout", [1e12, math.inf])
def test_a_time_limit_longer_than_the_system_can_count_is_no_limit(timeout: float) -> None:
    assert proc.run(("true",), timeout=timeout).returncode == 0
