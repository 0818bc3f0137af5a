"""A small repository for the real command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import ORDER, TESTS
from tests.support.repo import make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """One failing test, one that passes, no lint."""
    return make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS})
