"""Seven instants in `.ci/run` (two in README's), forty by hand (-m slow); `python -m tests.bench.kill.run`: 200."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.bench.kill.kills import Kill, killed
from tests.bench.kill.run import instants
from tests.support.cases import every


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kill",
    every(
        7,
        [
            Kill(0.1),
            Kill(1.5),
            Kill(4.0),
            Kill(0.0, publishing=True),
            Kill(0.02, publishing=True, delivery=("--commit",)),
            Kill(0.06, publishing=True, delivery=("--commit",)),
            Kill(0.5, publishing=True, delivery=("--commit",), hooks=True),
        ],
    ),
    ids=["at the start", "baseline", "attempts", "writing", "committing", "commit made", "in a slow hook"],
)
def test_killed_and_nothing_lost(tmp_path: Path, kill: Kill) -> None:
    fate = killed(tmp_path / "order", kill)
    assert not fate.faults, fate


@pytest.mark.slow
@pytest.mark.parametrize("kill", instants(40, 8.0, random.Random(7)), ids=str)
def test_killed_anywhere_and_nothing_lost(tmp_path: Path, kill: Kill) -> None:
    fate = killed(tmp_path / "order", kill)
    assert not fate.faults, fate
