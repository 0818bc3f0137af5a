"""Whether a patch answers as the code before it did: on calls that the tests make, and on calls near them.

For tasks that may not change what the code does, where tests alone are too thin to hold it (seeds: a green
"improvement" that changes `fibonacci(-1)`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from coderefine.config import Config
from coderefine.core import Attempt, Case, Patch, Verdict, Views
from coderefine.core.plurals import counted
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Codes
from coderefine.runner.cold_pool import open_any_pool

SUITE = 10.0
"""Seconds of tests above which it is not looked at: each version would run them all once more."""
PATIENCE = 4.0
"""Seconds for the calls of one version."""
RAISED, ENDLESS = "!", "~"
"""How an answer begins that is none (runner/agent/call_probe.py)."""
UNSAID = "its behaviour was not compared beyond the tests"

Answers = Mapping[str, Codes]
"""Two answers to each call, by the call."""


class Keeper(Protocol):
    """Holds patches to what the code did before."""

    def kept(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Verdict:
        """No when a call that had a value has another one now. `reason` says what was compared, or why nothing was.

        `cases`: the tests at the start, by id.
        """
        ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """`keeper`, whose recorded word on an attempt stands: what the clock or chance has a part in comes out once."""

    keeper: Keeper
    attempts: Sequence[Attempt]

    def kept(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Verdict:
        """The recorded no; a recorded yes with what is compared now."""
        known = next((one for one in self.attempts if dict(one.patch.files) == dict(patch.files)), None)
        if known is None:
            return self.keeper.kept(views, patch, cases)
        if not known.verdict:
            return known.verdict
        now = self.keeper.kept(views, patch, cases)
        return Verdict(ok=True, reason=now.reason if now else "")


@dataclass(slots=True)
class Behaviour:
    """Compares patches of one project with its start: each version, whatever was changed in it, in a server of its
    own that records the tests' calls and answers them, and calls near them."""

    place: Place
    interpreter: Interpreter
    config: Config
    _start: Answers | None = field(default=None, init=False)

    def kept(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Verdict:
        """See Keeper."""
        usual = sum(case.seconds for case in cases.values())
        if not any(not case.status.bad for case in cases.values()):
            return _unsaid("no test passes at the start, so there are no calls to compare")
        if usual > SUITE:
            return _unsaid(f"the tests take {usual:.0f} s, and {SUITE:g} s are the most it is done for")
        try:
            self._start = self._answers(views, Patch(), cases) if self._start is None else self._start
            after = self._answers(views, patch, cases)
        except (RunnerError, WorkspaceError) as error:
            return _unsaid(str(error))
        return compared(self._start, after)

    def _answers(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Answers:
        statuses = {name: case.status for name, case in cases.items()}
        seconds = {name: case.seconds for name, case in cases.items()}
        parts = (views, self.place, self.interpreter, self.config)
        # One worker observes and answers: a second one would only be started.
        with open_any_pool(*parts, patch=patch, expected=statuses, seconds=seconds, workers=1) as pool:
            names = [name for name in pool.tests if name in statuses and not statuses[name].bad]
            pool.observe((), names)
            return pool.answers(names, PATIENCE)


def compared(before: Answers, after: Answers) -> Verdict:
    """Calls whose two answers differ (by chance, by the clock) say nothing; neither do those that only one has."""
    if not before:
        return _unsaid("the tests make no call that can be repeated")
    valued = {call: code for call, code in _steady(before).items() if not code.startswith((RAISED, ENDLESS))}
    pairs = [(valued[call], code) for call, code in _steady(after).items() if call in valued]
    other = sum(old != new for old, new in pairs)
    calls = f"{counted(len(pairs), 'call')} near those of the tests"
    if other:
        return Verdict(ok=False, reason=f"answers {other} of {calls} otherwise")
    if not pairs:
        return _unsaid("the tests call nothing of it with a value to compare, or call it in another way by now")
    return Verdict(ok=True, reason=f"answers {calls} as before")


def _steady(answers: Answers) -> Mapping[str, str]:
    return {call: codes[0] for call, codes in answers.items() if len(set(codes)) == 1}


def _unsaid(why: str) -> Verdict:
    return Verdict(ok=True, reason=f"{UNSAID}: {why}")
