"""The pytest gate: one finding per failing test, with the values that made it fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from coderefine.core import Ask, Case, Check, Event, Failure, Finding, Frame, Listen, Severity, Span, Status, View
from coderefine.critics.denied import denied
from coderefine.critics.scope import inside
from coderefine.critics.texts import Texts
from coderefine.errors import CriticError, RunnerError, VoidError
from coderefine.runner.cold import HANG, run_tests
from coderefine.sensitive import ends

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place

EVIDENCE = 1200
"""Characters of a finding's evidence."""
WAITING = 3.0
"""Wall seconds for each CPU second that a test may take."""
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
    """Runs all of the project's tests in a fresh process of its own interpreter."""

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
        self._canary = ""
        """Why no tests of ours run beside the project's; "" where they do."""
        self.spent = 0.0
        """Seconds that the runs have taken so far."""

    def check(self, view: View, ask: Ask) -> Check:
        """Raises CriticError when pytest gave no verdict: broken configuration, an internal error, no result."""
        self._listen(Event("critic", self.name))
        check = self._known(view, ask)
        self.spent += check.seconds
        if check.complete and not self._paced:
            self._slowest, self._paced = _slowest(check), True
            self._doubted = tuple(name for name in check.failing if "::" in name)
            self._limit = min(self._limit, max(10.0, 20 * self._slowest))
        texts = Texts(view)
        findings = tuple(_finding(case, texts, ask.scope) for case in check.cases.values() if case.status.bad)
        return replace(check, findings=findings, notes=(*check.notes, *denied(check, view, self._config)))

    def _known(self, view: View, ask: Ask) -> Check:
        """The check of `ask`. Where tests of ours do not work even at the start, it goes on without, and says so."""
        try:
            check = self._run(view, ask)
        except VoidError as error:
            if error.elsewhere or self._paced or self._canary:
                raise
            self._canary = str(error)
            check = self._run(view, ask)
        return replace(check, notes=(*check.notes, self._canary)) if self._canary else check

    def _run(self, view: View, ask: Ask) -> Check:
        place, interpreter, config = self._place, self._interpreter, self._config
        try:
            return run_tests(
                view,
                place,
                interpreter,
                config,
                ask,
                self._listen,
                limit=self._wall(ask),
                slowest=self._slowest,
                doubted=self._doubted,
                canary=not self._canary,
            )
        except RunnerError as error:
            raise CriticError(f"no verdict from pytest: {error}") from error

    def _wall(self, ask: Ask) -> float:
        """Wall seconds of one test: much more than its CPU seconds, for it may have to wait for a processor."""
        return max(self._limit, WAITING * (ask.computing or 0.0))


def _slowest(check: Check) -> float:
    """Seconds of the slowest test that came to an end by itself."""
    ended = (case.seconds for case in check.cases.values() if not case.failure or case.failure.exception != HANG)
    return max(ended, default=0.0)


def _finding(case: Case, texts: Texts, scope: tuple[str, ...]) -> Finding:
    failure = case.failure or Failure("failed without a reason")
    rule = "collection" if "::" not in case.id else "error" if case.status is Status.ERROR else "failed"
    line = next((frame.line for frame in reversed(failure.frames) if frame.path == case.path), case.line)
    return Finding(
        critic=Pytest.name,
        rule=rule,
        path=case.path,
        message=failure.message,
        span=Span(line, line) if line else None,
        symbol=case.id,
        evidence=evidence(failure, texts),
        instruction=INSTRUCTIONS[rule],
        severity=_severity(case.path, failure, scope),
    )


def _severity(path: str, failure: Failure, scope: tuple[str, ...]) -> Severity:
    """Soft only when the traceback shows that other code than the asked one is to blame."""
    code = [frame.path for frame in failure.frames if frame.path != path and not frame.path.startswith("/")]
    elsewhere = bool(code) and not any(inside(item, scope) for item in (path, *code))
    return Severity.SOFT if elsewhere else Severity.HARD


def evidence(failure: Failure, texts: Texts) -> str:
    """What a person or a model needs to see: the explanation, the frames with their values, the output."""
    parts = [_cut(failure.assertion, EXPLANATION)] if failure.assertion else []
    output = _cut(failure.output.strip(), OUTPUT)
    room = EVIDENCE - len(output) - sum(map(len, parts)) - 4
    parts.append(_frames(failure.frames, texts, room))
    parts.append(output)
    return _cut("\n".join(part for part in parts if part), EVIDENCE)


def _frames(frames: tuple[Frame, ...], texts: Texts, room: int) -> str:
    """As many frames as fit, the innermost being the most telling; shown outermost first."""
    shown: list[str] = []
    for frame in reversed(frames[-SHOWN_FRAMES:]):
        text = "\n".join(_frame(frame, texts))
        if shown and len(text) > room:
            break
        shown.append(_cut(text, max(room, 200)))
        room -= len(text) + 1
    return "\n".join(reversed(shown))


def _frame(frame: Frame, texts: Texts) -> Iterator[str]:
    source = "" if frame.path.startswith("/") else texts.line(frame.path, frame.line)
    yield f"{frame.path}:{frame.line} in {frame.function}" + (f": {source}" if source else "")
    for name, value in list(frame.locals.items())[:SHOWN_LOCALS]:
        yield f"    {name} = {value}"


def _cut(text: str, limit: int) -> str:
    """Head and tail of `text` when it is longer than `limit`."""
    if len(text) <= limit:
        return text
    gap = "\n…\n" if "\n" in text else " … "
    head = (limit - len(gap)) * 2 // 3
    return gap.join(ends(text, head, limit - len(gap) - head))
