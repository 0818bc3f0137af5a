"""The cold runner: all tests in a fresh process of the project's own interpreter, as `python -m pytest` runs them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Event, Failure, Listen, Needs, View
from coderefine.errors import CriticError, VoidError
from coderefine.project import Interpreter, Place
from coderefine.runner.process_run import Ended, ProcessLimits, ProcessRun, Start, frames_of
from coderefine.runner.run_results import RunResults, check_canary, check_loaded, patched
from coderefine.runner.suspect import Suspect
from coderefine.sandbox import Bounds, bounds
from coderefine.sandbox.permissions import recorded, recording

RESTARTS = 8
"""Maximum number of crashed processes in a check; after one more, the remaining tests are not run."""
MOST_HANGS = 40
"""Maximum number of hanging tests in a check; after one more, the remaining tests are not run."""
AGAIN, GLANCE = 1.0, 0.3
"""CPU limits of a test, in seconds, after another test hung; GLANCE applies if both execute the same function."""
EVERY = 0.1
"""Seconds between two progress events."""
ARGS = ("-p", "no:randomly", "--tb=no", "--color=no", "--continue-on-collection-errors")

HANG = "Hang"
"""The `exception` of a test that was killed because it did not end."""
DEADLY = (HANG, "Exit", "Crash")
"""The `exception`s of tests that took their process down."""
PASSED = 0
NO_TESTS = 5
USAGE = 4
INTERNAL = 3
INSIDE = "INTERNALERROR> "
"""Prefix of the lines in which pytest prints the traceback of an internal error."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the tests run, besides `Ask`.

    `limit`: wall seconds for one test (None: `test_limit`). `slowest`: known duration of the slowest test in seconds.
    `doubted`: tests whose names the canary tests use, see agent/canary.py. `canary`: whether canary tests run.
    """

    limit: float | None = None
    slowest: float = 0.0
    doubted: tuple[str, ...] = ()
    canary: bool = True


def run_tests(  # noqa: PLR0917
    view: View,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    ask: Ask,
    listen: Listen = lambda _: None,
    options: RunOptions = RunOptions(),
) -> Check:
    """Run the project's tests inside `view`; return a Check with cases, coverage and notes, but without findings.

    A test that crashes the process or hangs is an ERROR case, and the others run in a new process. Raises VoidError if
    the code that was tested is not the patched code, or if pytest could not report failures (see agent/canary.py);
    CriticError if pytest itself failed.
    """
    secret = os.urandom(16).hex() if options.canary else ""
    return _Cold(view, place, interpreter, config, ask, listen, options, secret).check()


def is_hung(case: Case) -> bool:
    """Return whether the test was killed because it did not end."""
    return case.failure is not None and case.failure.exception == HANG


def is_deadly(case: Case) -> bool:
    """Return whether the test took its process down: it hung, crashed or ended the test run."""
    return case.failure is not None and case.failure.exception in DEADLY


def test_limit(timeout: float) -> float:
    """Return the wall seconds for one test in a check of `timeout` seconds, if the tests' durations are unknown."""
    return max(10.0, timeout / 20)


@dataclass(slots=True)
class _Cold:
    """One check of a cold run, in as many processes as necessary."""

    view: View
    place: Place
    interpreter: Interpreter
    config: Config
    ask: Ask
    listen: Listen
    options: RunOptions
    secret: str = ""
    gave_up: str = ""
    suspect: Suspect | None = None
    """The test that may hang; the others run in parallel with it."""
    ended: list[str] = field(default_factory=list)
    """Tests that were killed because `suspect` seemed to hang."""

    def check(self) -> Check:
        """Run processes until all tests have results, or until the check gives up or is stopped.

        If the suspect ends by itself after all, the tests that were killed because of it are run again.
        """
        began = time.monotonic()
        results = RunResults(slowest=self.options.slowest)
        deadline = began + self.ask.timeout
        limit = self.options.limit or test_limit(self.ask.timeout)
        limits = ProcessLimits(limit, max(60.0, 2 * limit), deadline, self.ask.computing)
        while again := self._run_left(results, limits):
            for name in again:
                del results.cases[name]
        return self._summed_up(results, time.monotonic() - began)

    def _run_left(self, results: RunResults, limits: ProcessLimits) -> list[str]:
        """Run the tests that have no result; on the unchanged tree a suspect continues in parallel with the others.

        If the suspect ended by itself, return the tests that were killed because of it; else return an empty list.
        """
        self.suspect, self.ended = None, []
        crashes = hangs = 0
        report = _reporter(results, self.listen)
        start = Start(self.view, str(self.interpreter.path), self._bounds, strict=self.config.sandbox == "strict")
        with contextlib.ExitStack() as processes:
            while crashes <= RESTARTS and hangs <= MOST_HANGS:
                run = processes.enter_context(ProcessRun(start, self._job(results), results, report))
                hung = run.watch(limits, repeats=self.suspect.repeats if self.suspect else None)
                # Only one test that may hang continues in parallel, and only on the unchanged tree.
                if hung == "computing" and self.suspect is None and not self.view.patch.files:
                    self._check_trust(results, ended=False)
                    self.suspect = processes.enter_context(Suspect(run, limits))
                    results.blame(Failure("may not end", HANG))
                elif self._finished(run, results, hung):
                    break
                crashes, hangs = crashes + (not hung), hangs + bool(hung)
                limits = _shorter(limits, results, hung)
            else:
                self.gave_up = f"gave up after {crashes + hangs} crashes: {len(results.left)} tests not run"
            return self.ended if self._ended_after_all(results) else []

    def _finished(self, run: ProcessRun, results: RunResults, hung: str) -> bool:
        """End a process and record how it ended; return whether the check is finished."""
        if self.suspect and hung in ("computing", "repeated"):
            self.ended.append(results.running)
        return self._over(results, run.end(hung))

    def _ended_after_all(self, results: RunResults) -> bool:
        """Wait for the suspect, if there is one, and store its result; return whether it ended by itself."""
        suspect = self.suspect
        if suspect is None:
            return False
        own, ended = suspect.result()
        if suspect.name not in own.cases:
            own.blame(_why(own, ended, self.view, self.ask.timeout))
        case = results.cases[suspect.name] = own.cases[suspect.name]
        if is_hung(case):
            return False
        results.slowest = max(results.slowest, case.seconds)
        return True

    def _check_trust(self, results: RunResults, *, ended: bool) -> None:
        """Raise VoidError if the process did not test the patched code, or if pytest could not report failures.

        `ended`: whether pytest ended by itself, so that the canary tests after the project's must have run, too.
        Nothing is checked if no test was chosen, or if the run was stopped before the first test.
        """
        if not results.chosen or (results.stopped and not results.cases):
            return
        check_loaded(results.loaded, patched(self.view))
        if self.secret:
            if results.silent:
                raise VoidError(f"no result counts: the tests that must fail cannot run: {results.silent}")
            check_canary(results.canaries.get("before"), self.secret, "before")
            if ended and not results.stopped:
                check_canary(results.canaries.get("after"), self.secret, "after")

    def _job(self, results: RunResults) -> Mapping[str, object]:
        root = self.view.top / self.place.prefix
        return {
            "cwd": self.place.prefix,
            "root": str(root),
            "secret": self.secret,
            "doubted": self.options.doubted,
            "origin": str(self.place.top),
            "patched": list(self.view.patch.files),
            "compile": not self.view.patch.files,
            "proof": self.ask.proof,
            "top": str(self.view.top),
            "args": ARGS,
            "extra": self.config.pytest_args,
            "tests": self.ask.tests,
            "files": self.ask.files,
            "first": self.ask.first,
            "done": tuple(results.cases),
            "avoid": tuple(results.broken),
            "known": sorted(self.ask.known),
            "stop_early": self.ask.stop_early,
            "rich": self.ask.rich,
            "coverage": self.ask.coverage,
            "cover": sorted(self.ask.cover),
            "stepped": self.ask.stepped,
            "follow": self.ask.follow,
            "watched": None if self.ask.watched is None else sorted(self.ask.watched),
            "seed": self.ask.seed,
            "record": recording(self.view) if self.ask.record else None,
            "temp": str(self.view.temp),
        }

    @property
    def _bounds(self) -> Bounds | None:
        return bounds(self.config, self.ask.freedom)

    def _over(self, results: RunResults, ended: Ended) -> bool:
        """Return whether the check is finished, after a process has ended.

        If the process ended while a test ran or a module was imported, record the failure of that test or module.
        Raises CriticError if pytest failed, or if no test or module is responsible for the end and results are missing.
        """
        if results.code is not None and not results.running and not results.importing:
            _check_exit_code(results, ended)
            self._check_trust(results, ended=True)
            return True
        name = results.blame(_why(results, ended, self.view, self.ask.timeout))
        if not name:
            self.gave_up = _unattributed(results, ended, self.view)
            if results.left or not results.failing:
                raise CriticError(self.gave_up)
            return True
        if ended.hung == "check":
            self.gave_up = f"stopped after {self.ask.timeout:g} s: {len(results.left)} tests not run"
            return True
        self._check_trust(results, ended=False)
        results.stopped = self.ask.stop_early and name not in self.ask.known
        return results.stopped

    def _summed_up(self, results: RunResults, seconds: float) -> Check:
        loosened = (self._bounds.name,) if self._bounds and self._bounds.name else ()
        complete = self.ask.tests is None and not results.stopped and not results.left and results.chosen is not None
        return Check(
            "pytest",
            cases=results.ordered(),
            coverage=results.coverage if self.ask.coverage else None,
            seconds=seconds,
            complete=complete,
            tool=f"pytest {results.pytest or self.interpreter.pytest or '?'}",
            notes=tuple(self._notes(results)),
            confined=(*results.confined, *loosened),
            followed=results.followed,
            steps=results.steps,
            compiled=results.compiled,
            needs=results.needs | (recorded(self.view) if self.ask.record else Needs()),
        )

    def _notes(self, results: RunResults) -> Iterator[str]:
        if self.gave_up:
            yield self.gave_up
        if results.dropped:
            yield f"left out of addopts: {' '.join(results.dropped)}"
        if not results.cases and not results.broken:
            named = sorted(path.name for path in (self.view.top / self.place.prefix).glob("*tests*.py"))
            yield (
                f"no tests; pytest collects no {named[0]} by default, see its setting python_files"
                if named
                else "no tests"
            )


def _shorter(limits: ProcessLimits, results: RunResults, hung: str) -> ProcessLimits:
    """Return the limits for the remaining tests; if a test hung, they are shorter."""
    if not hung:
        return limits
    test = min(limits.test, max(5.0, 10 * results.slowest))
    if limits.computing is None:
        return replace(limits, test=test)
    return replace(limits, test=test, computing=min(AGAIN, limits.computing), glance=GLANCE)


def _check_exit_code(results: RunResults, ended: Ended) -> None:
    """Raise CriticError if pytest's exit code contradicts the received results."""
    if results.code == INTERNAL:
        raise CriticError(f"pytest failed inside: {_exception(ended.stdout + ended.stderr)}")
    if not results.broken:
        _collected(results, ended)
    if results.left and not results.stopped:
        raise CriticError(f"pytest ended with {len(results.left)} tests not run (exit {results.code}): {_last(ended)}")
    if results.code not in (PASSED, NO_TESTS) and not (results.stopped or results.broken or results.failing):
        raise CriticError(
            f"pytest exited {results.code} although no test failed (a plugin or conftest.py?): {_last(ended)}"
        )


def _collected(results: RunResults, ended: Ended) -> None:
    """Raise CriticError if pytest did not collect the tests; modules that cannot be imported are findings instead."""
    if results.code == USAGE:
        raise CriticError(f"pytest refused to start: {_refusal(ended.stderr)}")
    if results.chosen is None and results.code != NO_TESTS:
        raise CriticError(f"pytest ended before it had collected the tests (exit {results.code}): {_last(ended)}")


def _why(results: RunResults, ended: Ended, view: View, timeout: float) -> Failure:
    """Describe the failure of the test (or module) during which the process ended or was killed."""
    doing = "ran" if results.latest else "was imported"
    frames = frames_of(ended.dump or ended.stderr, view.top)
    seconds = time.monotonic() - results.since
    if ended.hung:
        limit = f"the whole check may take {timeout:g} s" if ended.hung == "check" else "test-timeout allows more"
        return Failure(f"still running after {seconds:.0f} s: killed ({limit})", HANG, frames=frames)
    if results.code is not None:
        reason = _line(ended.stdout + ended.stderr, "!!!").strip("! ")
        return Failure(f"ended the whole test run while it {doing}: {reason}", "Exit", frames=frames)
    _, fatal, rest = ended.stderr.rpartition("Fatal Python error:")
    detail = f": {rest.strip().splitlines()[0]}" if fatal and rest.strip() else ""
    output = fatal + rest[:400] if fatal else ended.stderr[-400:]
    return Failure(f"the test process died while it {doing} ({ended.how}){detail}", "Crash", "", frames, output.strip())


def _unattributed(results: RunResults, ended: Ended, view: View) -> str:
    """Describe in one line the end of a process for which no test and no module is responsible."""
    if not ended.hung:
        return f"pytest crashed{_when(results)} ({ended.how}): {_last(ended)}"
    frames = frames_of(ended.dump, view.top)
    where = f", at {frames[-1].path}:{frames[-1].line}" if frames else ""
    return f"pytest hung{_when(results)}{where}: killed after {time.monotonic() - results.since:.0f} s"


def _when(results: RunResults) -> str:
    if results.chosen is None:
        return " before it had collected the tests"
    return " before the first test" if not results.cases else " after the last test"


def _line(text: str, mark: str) -> str:
    """Return the text after `mark` in the last line that has it; the last non-empty line if no line has it."""
    found = [line for line in text.splitlines() if mark in line and "usage:" not in line]
    return found[-1].partition(mark)[2].strip() or found[-1].strip() if found else _last_line(text)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it printed nothing")


def _exception(text: str) -> str:
    """Return the line with the name of the exception in pytest's own traceback; its message may have more lines."""
    lines = [line.partition(INSIDE)[2] for line in text.splitlines() if INSIDE in line]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Warning)\b", line)]
    return (named or lines or ["it printed nothing"])[-1]


def _refusal(text: str) -> str:
    """Return the text after pytest's first `error:`, else the last line.

    If the text after `error:` is empty or ends with a colon, the next lines are added, up to 300 characters in all.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    start = next((n for n, line in enumerate(lines) if "error:" in line.lower() and "usage:" not in line), None)
    if start is None:
        return lines[-1] if lines else "it printed nothing"
    first = lines[start]
    message = first[first.lower().index("error:") + len("error:") :].strip()
    return " ".join([message, *lines[start + 1 :]])[:300] if message.endswith(":") or not message else message


def _last(ended: Ended) -> str:
    return _last_line(ended.stderr or ended.stdout)


def _reporter(results: RunResults, listen: Listen) -> Callable[[], None]:
    """Return a function that reports the progress of the tests, at most ten times a second, and at their end."""
    last = 0.0

    def received() -> None:
        nonlocal last
        now = time.monotonic()
        if results.chosen is not None and (now - last > EVERY or results.complete):
            last = now
            done = len(results.cases)
            listen(Event("tests", results.running, done=done, total=done + len(results.left)))

    return received


__all__ = ["HANG", "RunOptions", "is_deadly", "is_hung", "run_tests", "test_limit"]
