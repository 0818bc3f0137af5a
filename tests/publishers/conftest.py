"""A small repository and a run in it, ready to publish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.publishing import Stage
from tests.support.repo import make_repo

Begin = Callable[..., Stage]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(
        tmp_path / "répo dir",
        {"src/a.py": "one = 1\ntwo = 2\n", "src/b.py": "x = 1\n", "notes.txt": "mine\n", "run.sh": "#!/bin/sh\n"},
    )
