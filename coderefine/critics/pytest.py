"""The pytest gate: one finding per failing test, with the values that made it fail."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace

from coderefine import proc
from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Event, Failure, Finding, Frame, Listen, Severity, Span, Status, View
from coderefine.core.views import inside
from coderefine.critics.source_files import Texts
from coderefine.errors import CriticError, RunnerError, VoidError
from coderefine.project import Interpreter, Place
from coderefine.runner.cold import RunOptions, is_hung, run_tests
from coderefine.sensitive import ends

EVIDENCE = 1200
"""Maximum number of characters of a finding's evidence."""
WAITING = 3.0
"""Seconds of wall-clock time for each second of CPU time that a test may take."""
EXPLANATION = 500
OUTPUT = 300
SHOWN_FRAMES = 6
SHOWN_LOCALS = 6

INSTRUCTIONS = {
    "failed": "Change the code under test so that this test passes; the test says what is wanted and stays as it is.",
    "error": "Change the code so that this test can be set up, run to its end and torn down; the test stays as it is.",
    "collection": "Make this file importable again: repair the code it imports, not the tests.",
}


class Pytest:
    """Runs all of the project's tests in a fresh process of the project's interpreter."""

    name = "pytest"
    gate = True

    def __init__(self, place: Place, interpreter: Interpreter, config: Config, listen: Listen) -> None:
        self._place = place
        self._interpreter = interpreter
        self._config = config
        self._listen = listen
        self._limit = config.test_timeout
        self._paced = False
        self._slowest = 0.0
        self._doubted: tuple[str, ...] = ()
        self.runner = run_tests
        """The function that runs the tests: in one process, in several, or on a cluster."""
        self._canary = ""
        """Why no canary tests run with the project's tests; "" if they do."""
        self.spent = 0.0
        """Seconds that the runs have taken so far."""

    def check(self, view: View, ask: Ask) -> Check:
        """Run the tests. Raises CriticError if pytest fails: broken configuration, an internal error, no result."""
        self._listen(Event("critic", self.name))
        check = self._with_canary(view, ask)
        self.spent += check.seconds
        if check.complete and not self._paced:
            # The duration of a hung test does not show how long tests take.
            ended = (one.seconds for one in check.cases.values() if not is_hung(one))
            self._slowest, self._paced = max(ended, default=0.0), True
            self._doubted = tuple(name for name in check.failing if "::" in name)
            self._limit = min(self._limit, max(10.0, 20 * self._slowest))
        texts = Texts(view)
        findings = tuple(_finding(case, texts, ask.scope) for case in check.cases.values() if case.status.bad)
        notes = (*check.notes, *_uninstalled(check), *_denied(check, view, self._config))
        return replace(check, findings=(*check.findings, *findings), notes=notes)

    def _with_canary(self, view: View, ask: Ask) -> Check:
        """Run the tests with the canary tests; if these do not work on the unchanged tree, omit them and add a note."""
        try:
            check = self._run(view, ask)
        except VoidError as error:
            if error.elsewhere or self._paced or self._canary:
                raise
            self._canary = str(error)
            check = self._run(view, ask)
        return replace(check, notes=(*check.notes, self._canary)) if self._canary else check

    def _run(self, view: View, ask: Ask) -> Check:
        # Wall-clock time of one test: much more than its CPU time, because the test may have to wait for a processor.
        limit = max(self._limit, WAITING * (ask.computing or 0.0))
        options = RunOptions(limit, self._slowest, self._doubted, canary=not self._canary)
        try:
            return self.runner(view, self._place, self._interpreter, self._config, ask, self._listen, options)
        except RunnerError as error:
            raise CriticError(f"no verdict from pytest: {error}") from error


def _uninstalled(check: Check) -> Iterator[str]:
    """Yield a sentence for each program that a failing test starts, but that is not installed."""
    for name in sorted({case.missing_program for case in check.cases.values()} - {""}):
        yield f"a failing test starts {name}, which is not installed: no patch can repair it"


def _denied(check: Check, view: View, config: Config) -> Iterator[str]:
    """Yield a sentence for each resource that a failing test needs but the view lacks: network, secret variables."""
    failures = [case.failure for case in check.cases.values() if case.failure and case.status.bad]
    if "network off" in view.isolation and any(one.wants_network for one in failures):
        yield "a failing test needs the network, which is off: `--network` (network = true) lets tests use it"
    text = "\n".join(one.text for one in failures)
    for name in sorted(proc.withheld(os.environ, config.pass_env) - {config.api_key_env}):
        if re.search(rf"\b{re.escape(name)}\b", text):
            yield f'a failing test needs {name}, kept from tests as a secret: pass-env = ["{name}"] passes it on'


def _finding(case: Case, texts: Texts, scope: tuple[str, ...]) -> Finding:
    failure = case.failure or Failure("failed without a reason")
    rule = "collection" if "::" not in case.id else "error" if case.status is Status.ERROR else "failed"
    line = next((frame.line for frame in reversed(failure.frames) if frame.path == case.path), case.line)
    span, shown = Span(line, line) if line else None, evidence(failure, texts)
    severity = Severity.SOFT if _fails_elsewhere(case.path, failure, scope) else Severity.HARD
    return Finding(Pytest.name, rule, case.path, failure.message, span, case.id, shown, INSTRUCTIONS[rule], severity)


def _fails_elsewhere(path: str, failure: Failure, scope: tuple[str, ...]) -> bool:
    """Return whether the traceback shows that the fault is in code outside the requested paths."""
    code = [frame.path for frame in failure.frames if frame.path != path and not frame.path.startswith("/")]
    return bool(code) and not any(inside(item, scope) for item in (path, *code))


def evidence(failure: Failure, texts: Texts) -> str:
    """Format the evidence of a failure: the explanation, the frames with their values, the output."""
    parts = [_cut(failure.assertion, EXPLANATION)] if failure.assertion else []
    output = _cut(failure.output.strip(), OUTPUT)
    room = EVIDENCE - len(output) - sum(map(len, parts)) - 4
    parts.append(_frames(failure.frames, texts, room))
    parts.append(output)
    return _cut("\n".join(part for part in parts if part), EVIDENCE)


def _frames(frames: tuple[Frame, ...], texts: Texts, room: int) -> str:
    """Format as many of the innermost frames as fit, outermost first."""
    shown: list[str] = []
    for frame in reversed(frames[-SHOWN_FRAMES:]):
        source = "" if frame.path.startswith("/") else texts.line(frame.path, frame.line)
        head = f"{frame.path}:{frame.line} in {frame.function}" + (f": {source}" if source else "")
        values = [f"    {name} = {value}" for name, value in list(frame.locals.items())[:SHOWN_LOCALS]]
        text = "\n".join((head, *values))
        if shown and len(text) > room:
            break
        shown.append(_cut(text, max(room, 200)))
        room -= len(text) + 1
    return "\n".join(reversed(shown))


def _cut(text: str, limit: int) -> str:
    """Return `text`, reduced to its head and tail if it is longer than `limit`."""
    if len(text) <= limit:
        return text
    gap = "\n…\n" if "\n" in text else " … "
    head = (limit - len(gap)) * 2 // 3
    return gap.join(ends(text, head, limit - len(gap) - head))
