"""The comparison in small: the default is never behind, and nobody spends anything after success."""

from __future__ import annotations

from itertools import pairwise

import pytest

from coderefine.config import POLICIES
from tests.bench.policies.run import Terms, compare, growth
from tests.support.cases import every


@pytest.mark.thorough
@pytest.mark.parametrize("single", every(2, [False, True]))
@pytest.mark.parametrize("chance", every(2, [0.15, 0.6]))
def test_the_default_solves_at_least_as_much_as_any_other(chance: float, single: bool) -> None:
    scores = compare(Terms(8, 12_000, (chance,), single=single))
    solved = {score.policy: score.solved for score in scores}
    assert solved["coderefine"] == max(solved.values())
    assert solved["coderefine"] > 0
    assert [score.after for score in scores] == [0] * len(POLICIES)


LEDGER_LINE = 380


@pytest.mark.parametrize("single", every(2, [False, True]))
def test_a_prompt_grows_by_a_ledger_line_per_round(single: bool) -> None:
    """What an attempt changed and what was found of it, never cut; not the attempt itself."""
    sizes = growth("coderefine", single=single)
    assert len(sizes) == 6
    assert all(new - old < LEDGER_LINE for old, new in pairwise(sizes)), sizes


def test_the_plain_loop_grows_by_every_version() -> None:
    sizes = growth("coderefine", 4)
    assert growth("self-refine", 4)[-1] > 1.5 * sizes[3]
