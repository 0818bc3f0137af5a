"""Divide tests by their files into shards, record whether they depend on each other, and merge the results."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from itertools import chain
from pathlib import Path

from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Coverage

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
        from coderefine.journal import storage  # takes 20 ms, and a run on this machine saves nothing

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
            seconds[file_of(case)] += case.seconds
        return replace(self, seconds=dict(seconds), failing=tuple(check.failing) if whole else self.failing)


def file_of(case: Case) -> str:
    """Return the file of a test as pytest's arguments and `Ask.files` name it: relative to the project's root."""
    return case.id.partition("::")[0]


def divide(seconds: Mapping[str, float], most: int) -> list[tuple[str, ...]]:
    """Divide test files into at most `most` shards of about equal duration; long files are placed first.

    `seconds`: the duration of each file. The files of a shard are in the order of `seconds`. Return no shard if the
    tests take less than SHORTEST seconds altogether.
    """
    number = min(most, len(seconds), int(sum(seconds.values()) / SHORTEST))
    if not number:
        return []
    loads = [(0.0, index) for index in range(number)]
    found: list[set[str]] = [set() for _ in loads]
    for path, took in sorted(seconds.items(), key=lambda item: -item[1]):
        load, index = min(loads)
        found[index].add(path)
        loads[index] = (load + took, index)
    return [tuple(path for path in seconds if path in shard) for shard in found]


def parts(config: Config, ask: Ask, shards: Sequence[tuple[str, ...]]) -> Iterator[tuple[Config, Ask]]:
    """Yield configuration and request for the run of each shard; without shards, those for one run of all tests.

    The first run also has all tests that are in no shard.
    """
    ignored = (f"--ignore={path}" for path in chain.from_iterable(shards[1:]))
    yield replace(config, pytest_args=(*config.pytest_args, *ignored)), ask
    for shard in shards[1:]:
        yield config, replace(ask, files=shard)


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
        compiled={
            path: one.compiled.get(path, frozenset()) | other.compiled.get(path, frozenset())
            for path in {**one.compiled, **other.compiled}
        },
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
