"""Run all tests on the workers, divided by their durations if they do not depend on each other, and merge the results.

New or changed tests first run all together, and then once more in shards. If the results are equal, later runs use
shards. If a test fails in a shard, but did not fail in the last run of all tests together, it may depend on tests of
other shards; then all tests run together once more. If that run has other results than the shards, or if the tests have
other results on this machine, they are not divided again until they change.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import chain
from pathlib import Path

from coderefine.cluster.worker import Job
from coderefine.cluster.workers import Batch, Workers
from coderefine.core import Ask, Check, Coverage
from coderefine.core.plurals import counted
from coderefine.journal import storage

SHORTEST = 2.0
"""Minimum seconds of tests in a shard, because its start takes time."""


@dataclass(frozen=True, slots=True)
class SuiteRecord:
    """What earlier runs showed about a project's tests. `seconds`: the duration of each test file, in collection order.

    `independent`: whether shards gave the same results as a whole run (None: not compared yet).
    `failing`: the tests that failed in the last whole run.
    `tests`: a digest of the tests, their data and configuration; `independent` holds only for this digest.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    independent: bool | None = None
    failing: Sequence[str] = ()
    tests: str = ""

    @classmethod
    def load(cls, file: Path) -> SuiteRecord:
        """Return the record in `file`; an empty record if the file is missing or cannot be read."""
        with suppress(OSError, ValueError, TypeError):
            return cls(**json.loads(file.read_text("utf-8")))
        return cls()

    def save(self, file: Path) -> None:
        storage.make_folder(file.parent)
        storage.write(file, json.dumps(asdict(self)).encode())

    def of(self, tests: str) -> SuiteRecord:
        """Return this record with the digest `tests`.

        If the digest is not that of the record, also set `independent` to None (unknown).
        """
        return self if self.tests == tests else replace(self, independent=None, tests=tests)

    def learn(self, check: Check, *, whole: bool) -> SuiteRecord:
        """Return the record with the durations in `check`; if it is a `whole` run, also with its failing tests.

        `check` must have run all tests.
        """
        seconds: defaultdict[str, float] = defaultdict(float)
        for case in check.cases.values():
            seconds[case.path] += case.seconds
        return replace(self, seconds=dict(seconds), failing=tuple(check.failing) if whole else self.failing)

    def shards(self, most: int) -> list[tuple[str, ...]]:
        """Divide the known test files into at most `most` shards of about equal duration; long files are placed first.

        Return no shard if the tests take less than SHORTEST seconds altogether.
        """
        number = min(most, len(self.seconds), int(sum(self.seconds.values()) / SHORTEST))
        if not number:
            return []
        loads = [(0.0, index) for index in range(number)]
        found: list[list[str]] = [[] for _ in loads]
        for path, seconds in sorted(self.seconds.items(), key=lambda item: -item[1]):
            load, index = min(loads)
            found[index].append(path)
            loads[index] = (load + seconds, index)
        return [tuple(shard) for shard in found]


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
        shards = self.record.shards(len(self.able)) if self.record.independent and not self._partial else []
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
        shards = self.record.shards(len(self.able))
        if self.record.independent is None and len(shards) > 1:
            again, _ = self._sharded(shards)
            self.record = replace(self.record, independent=None if again is None else same(check, again))
        self.record.save(self.file)

    def _sharded(self, shards: Sequence[tuple[str, ...]]) -> tuple[Check | None, str]:
        """Run the shards, the first together with all tests that are in no shard; without shards, run all tests.

        Return what `check` returns.
        """
        job = self.job
        others = chain.from_iterable(shards[1:])
        root = f"{job.prefix}/".removeprefix("./")
        ignored = (f"--ignore={path.removeprefix(root)}" for path in others)
        first = replace(job, config=replace(job.config, pytest_args=(*job.config.pytest_args, *ignored)))
        jobs = [first, *(replace(job, ask=replace(job.ask, files=shard)) for shard in shards[1:])]
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
    failing = tuple(dict.fromkeys(check.cases[name].path for name in check.failing))
    if not failing:
        return check if check.complete else None
    home = at_home(replace(ask, files=failing))
    if not check.complete:
        return home if ask.stop_early and set(home.failing) - ask.known else None
    there = {id: case for id, case in check.cases.items() if case.path in failing}
    return replace(check, cases={**check.cases, **home.cases}) if same(replace(check, cases=there), home) else None


def merged(checks: Sequence[Check]) -> Check:
    """Combine several checks of the same tree into one."""
    whole = reduce(_joined, checks)
    if len(checks) == 1:
        return whole
    cases = sorted(whole.cases.values(), key=lambda case: case.path)  # as pytest collects them, but for folders
    return replace(whole, cases={case.id: case for case in cases})


def _joined(one: Check, other: Check) -> Check:
    return replace(
        one,
        cases={**one.cases, **other.cases},
        coverage=None if one.coverage is None else _joined_coverage(one.coverage, other.coverage or {}),
        seconds=max(one.seconds, other.seconds),
        complete=one.complete and other.complete,
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
        followed=one.followed or other.followed,
        steps={**one.steps, **other.steps},
    )


def _joined_coverage(one: Coverage, other: Coverage) -> Coverage:
    found = {name: dict(lines) for name, lines in one.items()}
    for name, lines in other.items():
        known = found.setdefault(name, {})  # "", the lines that imports execute, is in every shard
        known.update({path: known.get(path, frozenset()) | numbers for path, numbers in lines.items()})
    return found


def same(one: Check, other: Check) -> bool:
    """Return whether every test has the same status in both checks."""
    first, second = ({id: case.status for id, case in check.cases.items()} for check in (one, other))
    return first == second
