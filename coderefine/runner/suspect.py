"""A test that may hang: until it is certain whether it hangs, a second process runs the other tests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from coderefine.runner.process_run import Ended, ProcessLimits, ProcessRun, frames_of
from coderefine.runner.run_results import RunResults

SUSPECTED, KILLED = 2.0, 3.0
"""Values of `Ask.computing`: for the unchanged tree, where a suspect continues, and for patched trees, where it is
killed."""
LEAST, MOST, USUAL = 5.0, 10.0, 100.0
"""CPU seconds after which a test counts as hanging: USUAL times the slowest test, but between LEAST and MOST."""

WAITING = 6.0
"""Factor from these CPU seconds to the limit of wall time, because the test may have to wait for a processor."""


class Suspect:
    """The running test of `run`, which may hang. Use as a context manager, which kills the process at its end."""

    def __init__(self, run: ProcessRun, limits: ProcessLimits) -> None:
        self.name = run.results.running
        self._run = run
        self._results = run.results.of_running()
        certain = min(MOST, max(LEAST, USUAL * run.results.slowest))
        self._limits = replace(limits, computing=certain, glance=None, test=max(limits.test, WAITING * certain))
        self._frames = frames_of(run.stacks(), run.start.view.top)
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self) -> Suspect:
        self._run.end_after_running_test(self._results)
        self._end = self._threads.submit(lambda: self._run.end(self._run.watch(self._limits, until=self.name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._run.kill()
        self._threads.shutdown()

    def repeats(self, dump: str) -> bool:
        """Return whether another test, with the stacks `dump`, executes the function in which this test hangs."""
        here = self._frames[-1:]
        there = frames_of(dump, self._run.start.view.top)
        return any((one.path, one.function) == (other.path, other.function) for one in here for other in there)

    def result(self) -> tuple[RunResults, Ended]:
        """Wait for the test; return its results (empty if it was killed or crashed) and how its process ended."""
        return self._results, self._end.result()
