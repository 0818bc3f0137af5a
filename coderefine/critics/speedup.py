"""Decide whether a tree is faster than another: take paired readings, compute the speed-up and a confidence interval.

A pair consists of one reading of each version, one directly after the other. The logarithms of the ratios of the
pairs are tested by the signed-rank test (Wilcoxon 1945). This test only assumes that, if both versions are the same,
the two readings of a pair are exchangeable. The estimate is the median of the pairwise means (Hodges and Lehmann 1963),
with the confidence interval that belongs to the test.

The pairs are evaluated several times, so that measuring can stop early. The total error probability is divided equally
between these evaluations (Bonferroni), so that the interval has the confidence `CONFIDENCE` whenever measuring stops.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, combinations_with_replacement, takewhile
from statistics import fmean, median
from typing import Protocol

from coderefine.core import View
from coderefine.errors import CriticError

CONFIDENCE = 0.99
"""Confidence of the two-sided interval, whenever measuring stops."""
LOOKS = (10, 16, 26, 40)
"""Numbers of pairs after which the interval is computed. At this confidence, at least ten pairs are needed."""
CACHE = re.compile(r"\blru_cache\b|\bcached_property\b|\bfunctools\.cache\b|@cache\b|\b_?cache\s*(?::[^=\n]+)?=")

Reading = Mapping[str, float]
"""Seconds by benchmark."""
Pair = tuple[Reading, Reading]
"""One reading before the change and one after it."""


@dataclass(frozen=True, slots=True)
class Speedup:
    """A speed-up `ratio`, and the ends of its confidence interval. `enough`: whether `low` is above the target."""

    ratio: float
    low: float
    high: float
    pairs: int
    enough: bool = False

    def __str__(self) -> str:
        between = f"{self.low:.2f} to {self.high:.2f}" if self.low > 0 else "no interval yet"
        return f"{self.ratio:.2f}× as fast ({CONFIDENCE:.0%}: {between}, {self.pairs} pairs)"


class Benchmark(Protocol):
    """Measures how long the benchmarks of a tree take."""

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """Return the seconds of one run, by benchmark; PYTHONHASHSEED is `seed`. Raises CriticError if it fails."""
        ...


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """Options of `measure`.

    `target`: the speed-up that the interval's lower end must exceed. `seconds`: wall-clock time after which no further
    pair is measured; also the time limit of each run.
    """

    benchmark: Benchmark
    target: float = 1.05
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """The speed-up of all benchmarks together.

    `slower`: the benchmarks that certainly became slower. `several`: whether there is more than one benchmark.
    """

    speedup: Speedup
    slower: tuple[str, ...] = ()
    several: bool = False


def measure(before: View, after: View, options: MeasureOptions) -> SpeedComparison:
    """Measure how many times as fast `after` is as `before`.

    The first run of each tree is not counted: it compiles, and fills caches. Then the pairs are run in the order AB BA
    AB BA, so that neither a drift of the machine's speed nor the position in the pair favours one version. Both runs of
    a pair have the same hash seed, and each pair has another seed. Raises CriticError if a run fails.
    """
    began = time.monotonic()
    pairs: list[Pair] = []
    _pair(before, after, options, 0)
    while True:
        pairs.append(_pair(before, after, options, len(pairs) + 1))
        late = time.monotonic() - began > options.seconds
        if late or len(pairs) in LOOKS:
            found = speedup(ratios(pairs), options.target)
            if late or len(pairs) == LOOKS[-1] or settled(found, options.target):
                return SpeedComparison(found, slower(pairs, options.target), several=len(pairs[0][0]) > 1)


def _pair(before: View, after: View, options: MeasureOptions, number: int) -> Pair:
    first, second = (before, after) if number % 2 else (after, before)
    one = options.benchmark.read(first, number, options.seconds)
    other = options.benchmark.read(second, number, options.seconds)
    pair = (one, other) if number % 2 else (other, one)
    if pair[0].keys() != pair[1].keys():
        odd = ", ".join(sorted(pair[0].keys() ^ pair[1].keys()))
        raise CriticError(f"speed: both versions must run the same benchmarks, and one did not run {odd}")
    return pair


def speedup(ratios: Sequence[float], target: float = 1.0) -> Speedup:
    """Return the speed-up for `ratios`: seconds before / seconds after, one for each pair.

    Raises ValueError if there are no ratios.
    """
    if not ratios:
        raise ValueError("no pair was measured")
    means = sorted(fmean(two) for two in combinations_with_replacement(map(math.log, ratios), 2))
    rank = _rank(len(ratios), (1 - CONFIDENCE) / len(LOOKS))
    found = Speedup(math.exp(median(means)), 0.0, math.inf, len(ratios))
    if not rank:
        return found
    low, high = math.exp(means[rank - 1]), math.exp(means[-rank])
    return replace(found, low=low, high=high, enough=low > target)


def settled(found: Speedup, target: float) -> bool:
    """Return whether to stop measuring: the target is certainly reached or certainly missed, or seems out of reach.

    Stopping for the last reason may miss a speed-up, but never reports one that is not there.
    """
    return found.enough or found.high < target or found.ratio < math.sqrt(target)


def ratios(pairs: Sequence[Pair]) -> list[float]:
    """Return the ratio before / after of each pair; for several benchmarks, the geometric mean of their ratios."""
    return [math.exp(fmean(math.log(before[name] / after[name]) for name in before)) for before, after in pairs]


def slower(pairs: Sequence[Pair], target: float) -> tuple[str, ...]:
    """Return the benchmarks that certainly became slower, by at least the factor `target`."""
    names = pairs[0][0] if len(pairs) > 0 else {}
    each = {name: speedup([before[name] / after[name] for before, after in pairs]) for name in names}
    return tuple(name for name, found in each.items() if found.high < 1 / target)


def caches(before: str, after: str) -> bool:
    """Return whether `after` caches results between calls in more places than `before`.

    Repeated calls, as in a benchmark, then cost nothing.
    """
    return len(CACHE.findall(after)) > len(CACHE.findall(before))


@lru_cache(maxsize=64)
def _rank(pairs: int, error: float) -> int:
    """Return which of the sorted pairwise means, counted from either end, bounds the interval; 0 if there is none.

    It is the largest k such that, without a difference, a sum of signed ranks below k has at most probability `error` /
    2. With too few pairs there is no such k.
    """
    most = 2**pairs * error / 2
    return sum(1 for _ in takewhile(lambda count: count <= most, accumulate(_ways(pairs))))


def _ways(pairs: int) -> list[int]:
    """Return, for the sums 0, 1, 2 …, how many of the 2**pairs sign assignments to the ranks 1 … `pairs` give the sum.

    The sum is that of the ranks with a positive sign.
    """
    ways = [1]
    for rank in range(1, pairs + 1):
        with_it = [0] * rank + ways
        without = ways + [0] * rank
        ways = [a + b for a, b in zip(with_it, without, strict=True)]
    return ways
