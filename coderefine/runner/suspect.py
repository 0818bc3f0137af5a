"""A test that may hang: its process goes on with it, beside the process of the other tests, until that is certain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from coderefine.runner import stacks
from coderefine.runner.sitting import Ended, Limits, Sitting
from coderefine.runner.tally import Tally

LEAST, MOST, USUAL = 5.0, 10.0, 100.0
"""CPU seconds after which it is certain that a test hangs: `USUAL` times the slowest other's, within the first two."""


class Suspect:
    """The test that `sitting` runs; its process ends with the block at the latest."""

    def __init__(self, sitting: Sitting, limits: Limits) -> None:
        self.name = sitting.tally.running
        self._sitting = sitting
        self._tally = sitting.tally.of_running()
        certain = min(MOST, max(LEAST, USUAL * sitting.tally.slowest))
        self._limits = replace(limits, computing=certain, glance=None)
        self._frames = stacks.frames(sitting.stacks(), sitting.start.view.top)
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self) -> Suspect:
        self._sitting.go_on_alone(self._tally)
        self._end = self._threads.submit(self._wait)
        return self

    def __exit__(self, *_: object) -> None:
        self._sitting.kill()
        self._threads.shutdown()

    def _wait(self) -> Ended:
        return self._sitting.end(self._sitting.watch(self._limits, until=self.name))

    def repeats(self, dump: str) -> bool:
        """Return whether these stacks are those of another test in the function where this one is."""
        here = self._frames[-1:]
        there = stacks.frames(dump, self._sitting.start.view.top)
        return any((one.path, one.function) == (other.path, other.function) for one in here for other in there)

    def result(self) -> tuple[Tally, Ended]:
        """Wait for it: a tally with its result, without one where it was ended, or ended its process."""
        return self._tally, self._end.result()
