"""Whether one tree is faster than another: paired readings, and from them a speed-up with a confidence interval.

Readings are taken in pairs, one of each version, back to back. The ratio of each pair counts; its logarithm is
tested by the signed-rank test (Wilcoxon 1945), whose only assumption is that the two readings of a pair could as well
be exchanged when both versions are the same. The estimate is the median of the pairwise means (Hodges and Lehmann
1963), the interval the one that belongs to the test.

The pairs are evaluated several times, so as to stop early. The error that is allowed in all is divided equally
between these looks (Bonferroni): whenever one stops, the interval holds with `CONFIDENCE`.
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
"""Of the interval, both sides together, over all looks."""
LOOKS = (10, 16, 26, 40)
"""Pairs after which the interval is looked at. Fewer than ten cannot give it at this confidence."""
CACHE = re.compile(r"\blru_cache\b|\bcached_property\b|\bfunctools\.cache\b|@cache\b|\b_?cache\s*(?::[^=\n]+)?=")

Reading = Mapping[str, float]
"""Seconds by benchmark."""
Pair = tuple[Reading, Reading]
"""One reading before the change and one after it."""


@dataclass(frozen=True, slots=True)
class Speedup:
    """How many times faster, with the ends of its interval. `enough`: the lower end is above the target."""

    ratio: float
    low: float
    high: float
    pairs: int
    enough: bool = False

    def __str__(self) -> str:
        between = f"{self.low:.2f} to {self.high:.2f}" if self.low > 0 else "no interval yet"
        return f"{self.ratio:.2f}× as fast ({CONFIDENCE:.0%}: {between}, {self.pairs} pairs)"


class Benchmark(Protocol):
    """Reads how long the benchmarks of a tree take."""

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """Seconds by benchmark of one run, PYTHONHASHSEED being `seed`. Raises CriticError when it fails."""
        ...


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """`target`: what the lower end of the interval has to be above. `seconds`: time for measuring in all."""

    benchmark: Benchmark
    target: float = 1.05
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """The speed-up over all benchmarks, and those of them that became slower. `several`: there is more than one."""

    speedup: Speedup
    slower: tuple[str, ...] = ()
    several: bool = False


def measure(before: View, after: View, options: MeasureOptions) -> SpeedComparison:
    """How many times faster `after` is than `before`.

    One run of each is dropped: it compiles and fills caches. Then pairs in the order AB BA AB BA, so that neither a
    drift of the machine nor being the second favours one; both runs of a pair share a hash seed, no two pairs do.
    Raises CriticError when a run fails.
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
    """The speed-up that `ratios` (seconds before / seconds after, one a pair) show. Raises ValueError without any."""
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
    """Whether more pairs would be wasted: it is faster, it is not, or it looks like nothing at all.

    To give up early costs power, never a false yes.
    """
    return found.enough or found.high < target or found.ratio < math.sqrt(target)


def ratios(pairs: Sequence[Pair]) -> list[float]:
    """Before / after by pair; of several benchmarks their geometric mean, so that each counts the same."""
    return [math.exp(fmean(math.log(before[name] / after[name]) for name in before)) for before, after in pairs]


def slower(pairs: Sequence[Pair], target: float) -> tuple[str, ...]:
    """The benchmarks that surely take longer than before, by as much as the whole has to gain."""
    names = pairs[0][0] if len(pairs) > 0 else {}
    each = {name: speedup([before[name] / after[name] for before, after in pairs]) for name in names}
    return tuple(name for name, found in each.items() if found.high < 1 / target)


def caches(before: str, after: str) -> bool:
    """Whether `after` keeps results between calls more often than `before`: repeated calls then cost nothing."""
    return len(CACHE.findall(after)) > len(CACHE.findall(before))


@lru_cache(maxsize=64)
def _rank(pairs: int, error: float) -> int:
    """Which of the sorted means, from either end, bounds the interval; 0: so few pairs bound none.

    The largest k for which a sum of signed ranks below k is as rare as `error` / 2 when there is no difference.
    """
    most = 2**pairs * error / 2
    return sum(1 for _ in takewhile(lambda count: count <= most, accumulate(_ways(pairs))))


def _ways(pairs: int) -> list[int]:
    """In how many of the 2**pairs ways to give signs to the ranks 1 … pairs the positive ones sum to 0, 1, 2 …"""
    ways = [1]
    for rank in range(1, pairs + 1):
        with_it = [0] * rank + ways
        without = ways + [0] * rank
        ways = [a + b for a, b in zip(with_it, without, strict=True)]
    return ways
