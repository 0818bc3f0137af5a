"""Run all tests on the workers, divided by their durations if they do not depend on each other, and merge the results.

New or changed tests first run all together, and then once more in shards. If the results are equal, later runs use
shards. If a test fails in a shard, but did not fail in the last run of all tests together, it may depend on tests of
other shards; then all tests run together once more. If that run has other results than the shards, or if the tests have
other results on this machine, they are not divided again until they change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coderefine.cluster.shards import SuiteRecord, divide, file_of, merged, parts, same
from coderefine.cluster.worker import Job
from coderefine.cluster.workers import Batch, Workers
from coderefine.core import Ask, Check
from coderefine.core.plurals import counted


@dataclass(slots=True)
class SuiteRun:
    """A run of all tests of `job` on the workers `able`. `at_home` runs tests on this machine.

    `record`, stored in `file`, describes the tests; the run updates it.
    """

    workers: Workers
    job: Job
    able: Sequence[str]
    record: SuiteRecord
    file: Path
    at_home: Callable[[Ask], Check]

    def check(self) -> tuple[Check | None, str]:
        """Return the result of the workers, and the number of shards; or None, and why they have no result."""
        shards = divide(self.record.seconds, len(self.able)) if self.record.independent and not self._partial else []
        check, why = self._sharded(shards)
        if check and len(shards) > 1 and not set(check.failing) <= set(self.record.failing):
            check, why = self._whole(check)
            shards = []
        if check is None:
            return None, why
        self._learn(check, whole=len(shards) < 2)
        if result := confirmed(check, self.job.ask, self.at_home):
            return result, why
        if check.complete and len(shards) > 1:
            replace(self.record, independent=False).save(self.file)
        return None, "other results on the workers than here"

    @property
    def _partial(self) -> bool:
        return self.job.ask.files is not None

    def _whole(self, divided: Check) -> tuple[Check | None, str]:
        """Run all tests together, and record whether their results differ from `divided`, the result of the shards.

        Return what `check` returns.
        """
        check, why = self._sharded([])
        if check and divided.complete and not same(divided, check):
            self.record = replace(self.record, independent=False)
        return check, why

    def _learn(self, check: Check, *, whole: bool) -> None:
        """Update the record from `check`.

        If it is unknown whether the tests may be divided, run them in shards and compare the results.
        """
        if self._partial or not check.complete:
            return
        self.record = self.record.learn(check, whole=whole)
        shards = divide(self.record.seconds, len(self.able))
        if self.record.independent is None and len(shards) > 1:
            again, _ = self._sharded(shards)
            self.record = replace(self.record, independent=None if again is None else same(check, again))
        self.record.save(self.file)

    def _sharded(self, shards: Sequence[tuple[str, ...]]) -> tuple[Check | None, str]:
        """Run the shards, the first together with all tests that are in no shard; without shards, run all tests.

        Return what `check` returns.
        """
        job = self.job
        jobs = [replace(job, config=config, ask=ask) for config, ask in parts(job.config, job.ask, shards)]
        seconds = self.record.seconds
        expected = [sum(map(seconds.__getitem__, shard)) for shard in shards or [tuple(seconds)]]
        answers = Batch(self.workers, jobs, self.able, expected).answers()
        if fault := next((answer for answer in answers if isinstance(answer, str)), ""):
            return None, fault
        return merged([answer for answer in answers if isinstance(answer, Check)]), counted(len(jobs), "shard")


def confirmed(check: Check, ask: Ask, at_home: Callable[[Ask], Check]) -> Check | None:
    """Repeat on this machine the test files that fail in `check`, a result of workers; return None if results differ.

    If the results agree, return `check` with the local results. If `check` is incomplete, return the local results if
    they contain a new failure and `ask.stop_early` is set, else None.
    """
    failing = tuple(dict.fromkeys(file_of(check.cases[name]) for name in check.failing))
    if not failing:
        return check if check.complete else None
    home = at_home(replace(ask, files=failing))
    if not check.complete:
        return home if ask.stop_early and set(home.failing) - ask.known else None
    there = {id: case for id, case in check.cases.items() if file_of(case) in failing}
    return replace(check, cases={**check.cases, **home.cases}) if same(replace(check, cases=there), home) else None
