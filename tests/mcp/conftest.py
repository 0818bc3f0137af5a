"""Repositories for an agent to work on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import seal
from tests.support.command import GREEN, ORDER, TESTS
from tests.support.repo import make_repo

FAULTY = f"import os\n\n{ORDER}"
ASLEEP = TESTS + "\n\ndef test_sleeps():\n    import time\n\n    time.sleep(600)\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two repositories: one to repair, one whose tests take a minute. All under a sealed HOME."""
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        both = tmp_path_factory.mktemp("served").resolve()
        make_repo(both / "order", {"order.py": FAULTY, "test_order.py": TESTS})
        make_repo(both / "asleep", {"order.py": GREEN, "test_order.py": ASLEEP})
        yield both
