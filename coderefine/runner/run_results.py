"""The results of a check so far, from the messages of all its processes, and whether they are valid.

Results are valid if the process loaded the patched code, and if its tests were able to fail.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coderefine.core import Case, Failure, Frame, Needs, Status, Step, View
from coderefine.errors import RunnerError, VoidError
from coderefine.runner.agent.agent_channel import fails, token
from coderefine.runner.client_channel import Message
from coderefine.runner.reached_code import steps_of

FEWEST = 2
"""Minimum number of canary tests before the project's tests, and minimum number after them."""


@dataclass(slots=True)
class RunResults:
    """Results that grow with each message. `running`, `importing`: the test or module to blame if the process dies now.

    `broken`: modules that cannot be imported. `collected`: ids of all tests; `chosen`: ids of those that the current
    process runs (None: not known yet), and `lines`: the line of each. `number`: the running test's 1-based index in
    `chosen`, from the process's status file; 0 for none. `dropped`: options of addopts that are left out. `since`: time
    (monotonic) at which the running test, or the import of a module, began. `code`: the exit code of pytest, if it
    reported one. `loaded`, `canaries`, `silent`: see `check_loaded`, `check_canary` and `_silent`.
    """

    cases: dict[str, Case] = field(default_factory=dict)
    broken: dict[str, Case] = field(default_factory=dict)
    coverage: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    steps: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    collected: tuple[str, ...] = ()
    chosen: tuple[str, ...] | None = None
    dropped: list[str] = field(default_factory=list)
    confined: tuple[str, ...] = ()
    pytest: str = ""
    prefix: str = ""
    pid: int = 0
    lines: tuple[int, ...] = ()
    number: int = 0
    importing: str = ""
    since: float = 0.0
    slowest: float = 0.0
    code: int | None = None
    stopped: bool = False
    followed: bool = False
    loaded: Message | None = None
    canaries: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    silent: str = ""
    needs: Needs = Needs()
    compiled: dict[str, frozenset[str]] = field(default_factory=dict)

    def begin_process(self) -> None:
        """Reset the fields that describe one process."""
        self.importing = ""
        self.number = self.pid = 0
        self.chosen = self.code = self.loaded = None
        self.canaries, self.silent = {}, ""
        self.since = time.monotonic()

    def of_running(self) -> RunResults:
        """Return a copy without outcomes, in which only the outcome of the running test will be recorded."""
        return replace(self, cases={}, broken={}, coverage={}, canaries={})

    def add(self, message: Message) -> None:
        """Process one message. Raises RunnerError if its kind is unknown."""
        take = getattr(self, f"_{message.get('kind')}", None)
        if take is None:
            raise RunnerError(f"the test process sent an unknown message: {message.get('kind')!r}")
        take(message)

    def note_running(self, number: int) -> None:
        """Store the number of the running test, from the status file."""
        if number != self.number:
            self.number = number
            self.since = time.monotonic()

    @property
    def running(self) -> str:
        """Return the test that has started and has no result yet; "" if there is none."""
        return "" if self.latest in self.cases else self.latest

    @property
    def latest(self) -> str:
        """Return the test that started last; "" before the first test, and after all tests have ended."""
        return self.chosen[self.number - 1] if self.chosen and 0 < self.number <= len(self.chosen) else ""

    @property
    def left(self) -> tuple[str, ...]:
        """Return the chosen tests that have no result."""
        return tuple(name for name in self.chosen or () if name not in self.cases)

    @property
    def complete(self) -> bool:
        """Return whether every chosen test has a result; check the last test first, which usually has no result yet."""
        return all(name in self.cases for name in reversed(self.chosen or ()))

    @property
    def failing(self) -> bool:
        """Return whether a test failed."""
        return any(case.status.bad for case in self.cases.values())

    def ordered(self) -> dict[str, Case]:
        """Return all results: collection errors, then the tests in collection order."""
        place = {name: index for index, name in enumerate(self.collected)}
        names = sorted(self.cases, key=lambda name: place.get(name, len(place)))
        return {**self.broken, **{name: self.cases[name] for name in names}}

    def blame(self, failure: Failure) -> str:
        """Record `failure` for the running test or the module being imported; return its id, or "" if there is none."""
        name = self.running or (self.latest if self.left else "") or self.importing
        if not name:
            return ""
        path, _, _ = name.partition("::")
        seconds = time.monotonic() - self.since
        line = self.lines[self.number - 1] if name == self.latest else 0
        case = Case(name, Status.ERROR, seconds, self.prefix + path, line, failure)
        (self.cases if name == self.latest else self.broken)[name] = case
        return name

    def _hello(self, message: Message) -> None:
        self.pid = int(message["pid"])

    def _began(self, message: Message) -> None:
        self.pytest = str(message["pytest"])
        self.prefix = str(message["prefix"])
        self.since = time.monotonic()

    def _dropped(self, message: Message) -> None:
        self.dropped += [word for word in message["options"] if word not in self.dropped]

    def _collecting(self, message: Message) -> None:
        self.importing = str(message["id"])
        self.since = time.monotonic()

    def _broken(self, message: Message) -> None:
        case = parse_case(message["case"])
        self.broken[case.id] = case

    def _collected(self, message: Message) -> None:
        ids: Any = message["ids"]
        self.collected = self.collected or tuple(ids)
        self.chosen = tuple(message["chosen"])
        self.lines = tuple(message["lines"])
        self.importing = ""

    def _lines(self, message: Message) -> None:
        self.coverage.setdefault("", parse_lines(message["lines"]))

    def _case(self, message: Message) -> None:
        record = message["case"]
        case = parse_case(record)
        known = self.cases.get(case.id)
        if known and known.status.bad and not case.status.bad:
            return  # a reported failure is final
        self.cases[case.id] = case
        self.slowest = max(self.slowest, case.seconds)
        if "lines" in record:
            self.coverage[case.id] = parse_lines(record["lines"])
            self.followed = self.followed or bool(record["followed"])
            self.steps |= steps_of((case.id,), record["steps"] or {})

    def _loaded(self, message: Message) -> None:
        """Store the report of loaded files, unless an earlier report contains a fault."""
        if self.loaded is None or not self.loaded["fault"]:
            self.loaded = message

    def _compiled(self, message: Message) -> None:
        for path, digests in message["digests"].items():
            self.compiled[path] = self.compiled.get(path, frozenset()).union(digests)

    def _canary(self, message: Message) -> None:
        self.canaries[str(message["when"])] = message["records"]

    def _silent(self, message: Message) -> None:
        """Store why the canary tests could not run, unless there is an earlier reason."""
        self.silent = self.silent or str(message["why"])

    def _stopped(self, _: Message) -> None:
        self.stopped = True

    def _finishing(self, _: Message) -> None:
        """Do nothing: the message only flushes the last result before the end of the session can crash the process."""

    def _end(self, message: Message) -> None:
        self.code = int(message["code"])
        self.needs |= Needs(memory=int(message["memory"]))


# -- records of agent/cold_plugin.py, parsed once ---------------------------------------------------------


def parse_case(record: Mapping[str, Any]) -> Case:
    """Convert a plugin's CaseRecord to a Case. Raises RunnerError if it is malformed."""
    try:
        return Case(
            str(record["id"]),
            Status(record["status"]),
            float(record["seconds"]),
            str(record["path"]),
            int(record["line"]),
            parse_failure(record["failure"]) if record["failure"] else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunnerError(f"the test process sent a broken record: {error!r}") from error


def parse_failure(record: Mapping[str, Any]) -> Failure:
    """Convert a FailureRecord to a Failure."""
    return Failure(
        record["message"],
        record["exception"],
        record["assertion"],
        tuple(
            Frame(path, line, function, values, tuple(span)) for path, line, function, values, span in record["frames"]
        ),
        record["output"],
        str(record.get("wrong", "")),
        tuple(map(str, record.get("nearest", ()))),
        tuple(map(str, record.get("attributes", ()))),
    )


def parse_lines(record: Mapping[str, list[int]]) -> dict[str, frozenset[int]]:
    """Return the executed lines of one test, by path."""
    return {path: frozenset(numbers) for path, numbers in record.items()}


def patched(view: View) -> Mapping[str, str]:
    """Return the digests of the patched files of `view`, by path; "" for deleted ones."""
    files = view.patch.files.items()
    return {path: hashlib.sha256(data).hexdigest() if data is not None else "" for path, data in files}


def check_loaded(report: Message | None, expected: Mapping[str, str]) -> None:
    """Raise VoidError unless `report` has the `expected` digests of the patched files, and no fault."""
    if report is None:
        raise VoidError("the test process did not report which files it had loaded")
    if fault := str(report["fault"]):
        raise VoidError(f"not the patched code was tested: {fault}", elsewhere=True)
    found = report["digests"]
    wrong = next((path for path, digest in expected.items() if found.get(path) != digest), "")
    if wrong:
        raise VoidError(f"not the patched code was tested: {wrong} has other content than in the patch", elsewhere=True)


def check_canary(records: Sequence[Mapping[str, Any]] | None, secret: str, when: str) -> None:
    """Raise VoidError unless the canary tests' `records` have the outcomes that follow from `secret`.

    `when`: "before" or "after" the project's tests.
    """
    if records is None or len(records) < FEWEST:
        raise VoidError(f"no result counts: the tests that must fail did not run {when} the project's")
    for number, record in enumerate(records):
        wanted = "failed" if fails(secret, when, number) else "passed"
        if record["status"] != wanted:
            what = wanted.removesuffix("ed")
            detail = f"a test of ours that must {what} ended as {record['status']}"
            raise VoidError(f"no result counts: {detail}; the code under test disarms pytest")
        if wanted == "failed":
            _check_message(record, token(secret, when, number))


def _check_message(record: Mapping[str, Any], mark: str) -> None:
    message = str((record["failure"] or {}).get("message", ""))
    _, found, rest = message.partition(f"{mark}[")
    ways, end, _ = rest.partition("]")
    if not found or not end:
        raise VoidError("no result counts: a test that must fail did not fail with our message")
    if ways:
        raise VoidError(f"no result counts: {ways} does not fail when it must; the code under test disarms pytest")
