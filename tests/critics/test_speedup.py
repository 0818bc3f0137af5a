"""Speed-ups are believed when they are sure: exact small cases, and thousands of trials with nothing to find."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import product

import pytest

from coderefine.critics.speedup import LOOKS, Speedup, caches, ratios, settled, slower, speedup

Noise = Callable[[random.Random, int], float]
NOISES: dict[str, Noise] = {
    "calm": lambda rng, _: rng.gauss(0, 0.02),
    "wild": lambda rng, _: rng.gauss(0, 0.3),
    "spikes": lambda rng, _: rng.gauss(0, 0.02) + (rng.random() < 0.2) * rng.choice((1, -1)) * rng.expovariate(1),
    "the second run is slower": lambda rng, n: rng.gauss(0, 0.05) + (0.1 if n % 2 else -0.1),
}


def trial(rng: random.Random, noise: Noise, target: float, truth: float = 1.0) -> Speedup:
    """One comparison as it is made: pairs until it is settled."""
    seen: list[float] = []
    while True:
        seen.append(truth * math.exp(noise(rng, len(seen))))
        if len(seen) in LOOKS:
            found = speedup(seen, target)
            if len(seen) == LOOKS[-1] or settled(found, target):
                return found


@pytest.mark.parametrize("noise", NOISES)
def test_nothing_is_accepted_in_less_than_one_of_a_hundred_trials(noise: str) -> None:
    rng = random.Random(7)
    bare = sum(trial(rng, NOISES[noise], 1.0).enough for _ in range(600))
    assert bare <= 6, "even without the margin of a target"
    assert not any(trial(rng, NOISES[noise], 1.05).enough for _ in range(300))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("truth", [1.5, 3.0])
def test_a_real_speed_up_is_found_and_its_interval_holds_it(noise: str, truth: float) -> None:
    rng = random.Random(3)
    found = [trial(rng, NOISES[noise], 1.05, truth) for _ in range(60)]
    assert sum(one.enough for one in found) >= 54
    assert sum(one.low <= truth <= one.high for one in found) >= 58


def test_ten_pairs_are_bounded_by_their_extremes() -> None:
    values = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]
    found = speedup(values, 1.05)
    assert found.low == pytest.approx(1.1)
    assert found.high == pytest.approx(2.0)
    assert found.enough
    assert 1.1 < found.ratio < 2.0


def test_the_rank_is_that_of_the_signed_rank_distribution() -> None:
    """The interval's rank against a count of all 2**16 ways to give signs to sixteen ranks."""
    sums = sorted(sum(r for r, s in zip(range(1, 17), signs, strict=True) if s) for signs in product((0, 1), repeat=16))
    rank = next(k for k in range(200) if sum(1 for one in sums[:9000] if one <= k) / 2**16 > 0.01 / len(LOOKS) / 2)
    values = [1.0 + n / 100 for n in range(16)]
    means = sorted((math.log(a) + math.log(b)) / 2 for i, a in enumerate(values) for b in values[i:])
    assert speedup(values).low == pytest.approx(math.exp(means[rank - 1]))


@pytest.mark.parametrize("pairs", [1, 2, 9])
def test_a_few_pairs_prove_nothing(pairs: int) -> None:
    found = speedup([50.0] * pairs, 1.05)
    assert not found.enough
    assert (found.low, found.high) == (0.0, math.inf)
    assert "no interval yet" in str(found)


def test_without_a_pair_there_is_no_speed_up() -> None:
    with pytest.raises(ValueError, match="no pair"):
        speedup([])


@pytest.mark.parametrize(
    ("found", "over"),
    [
        (Speedup(1.3, 1.2, 1.4, 10, enough=True), True),
        (Speedup(1.01, 0.9, 1.03, 10), True),
        (Speedup(1.0, 0.5, 2.0, 10), True),
        (Speedup(1.2, 0.9, 1.6, 10), False),
    ],
)
def test_when_more_pairs_would_be_wasted(found: Speedup, over: bool) -> None:
    assert settled(found, 1.05) is over


def test_benchmarks_count_the_same_and_one_that_slows_down_is_named() -> None:
    pairs = [({"a": 4.0, "b": 1.0}, {"a": 1.0, "b": 1.5})] * 12
    assert ratios(pairs)[0] == pytest.approx(math.sqrt(4 / 1.5))
    assert slower(pairs, 1.05) == ("b",)
    assert slower([({"a": 1.0}, {"a": 1.0})] * 12, 1.05) == ()


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ("@lru_cache(maxsize=None)\ndef f(x): return x", True),
        ("@functools.cache\ndef f(x): return x", True),
        ("_cache: dict = {}\ndef f(x): return x", True),
        ("def f(x): return x + 0", False),
    ],
)
def test_added_caches_are_detected(after: str, kept: bool) -> None:
    assert caches("def f(x): return x", after) is kept
    assert not caches(after, after)
