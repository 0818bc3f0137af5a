"""A test that may hang: its process goes on with it, beside the process of the other tests, until that is certain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from coderefine.runner.process_run import Ended, Limits, ProcessRun, frames_of
from coderefine.runner.run_results import RunResults

LEAST, MOST, USUAL = 5.0, 10.0, 100.0
"""CPU seconds after which it is certain that a test hangs: `USUAL` times the slowest other's, within the first two."""

WAITING = 6.0
"""Wall seconds that it may take for each of these: it may have to wait for a processor."""


class Suspect:
    """The test that `run` runs; its process ends with the block at the latest."""

    def __init__(self, run: ProcessRun, limits: Limits) -> None:
        self.name = run.results.running
        self._run = run
        self._results = run.results.of_running()
        certain = min(MOST, max(LEAST, USUAL * run.results.slowest))
        self._limits = replace(limits, computing=certain, glance=None, test=max(limits.test, WAITING * certain))
        self._frames = frames_of(run.stacks(), run.start.view.top)
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self) -> Suspect:
        self._run.go_on_alone(self._results)
        self._end = self._threads.submit(self._wait)
        return self

    def __exit__(self, *_: object) -> None:
        self._run.kill()
        self._threads.shutdown()

    def _wait(self) -> Ended:
        return self._run.end(self._run.watch(self._limits, until=self.name))

    def repeats(self, dump: str) -> bool:
        """Return whether these stacks are those of another test in the function where this one is."""
        here = self._frames[-1:]
        there = frames_of(dump, self._run.start.view.top)
        return any((one.path, one.function) == (other.path, other.function) for one in here for other in there)

    def result(self) -> tuple[RunResults, Ended]:
        """Wait for it: a results with its result, without one where it was ended, or ended its process."""
        return self._results, self._end.result()
