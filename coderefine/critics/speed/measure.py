"""Two trees, run in turn until it is clear which is faster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from coderefine.core import View
from coderefine.critics.speed.speedup import LOOKS, Pair, Reading, Speedup, ratios, settled, slower, speedup
from coderefine.errors import CriticError


class Watch(Protocol):
    """Reads how long the benchmarks of a tree take."""

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """Seconds by benchmark of one run, PYTHONHASHSEED being `seed`. Raises CriticError when it fails."""
        ...


@dataclass(frozen=True, slots=True)
class How:
    """`target`: what the lower end of the interval has to be above. `seconds` of measuring in all."""

    watch: Watch
    target: float = 1.05
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Measured:
    """The speed-up over all benchmarks, and those of them that became slower. `several`: there is more than one."""

    speedup: Speedup
    slower: tuple[str, ...] = ()
    several: bool = False


def measure(before: View, after: View, how: How) -> Measured:
    """How many times faster `after` is than `before`.

    One run of each is dropped: it compiles and fills caches. Then pairs in the order AB BA AB BA, so that neither a
    drift of the machine nor being the second favours one; both runs of a pair share a hash seed, no two pairs do.
    Raises CriticError when a run fails.
    """
    began = time.monotonic()
    pairs: list[Pair] = []
    _pair(before, after, how, 0)
    while True:
        pairs.append(_pair(before, after, how, len(pairs) + 1))
        late = time.monotonic() - began > how.seconds
        if late or len(pairs) in LOOKS:
            found = speedup(ratios(pairs), how.target)
            if late or len(pairs) == LOOKS[-1] or settled(found, how.target):
                return Measured(found, slower(pairs, how.target), several=len(pairs[0][0]) > 1)


def _pair(before: View, after: View, how: How, number: int) -> Pair:
    first, second = (before, after) if number % 2 else (after, before)
    one = how.watch.read(first, number, how.seconds)
    other = how.watch.read(second, number, how.seconds)
    pair = (one, other) if number % 2 else (other, one)
    if pair[0].keys() != pair[1].keys():
        odd = ", ".join(sorted(pair[0].keys() ^ pair[1].keys()))
        raise CriticError(f"speed: both versions must run the same benchmarks, and one did not run {odd}")
    return pair
