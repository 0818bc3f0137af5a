"""Check that a patch preserves behaviour: compare results of the tests' calls, and of variants of these calls.

Used for tasks that must not change behaviour, where the tests alone are too weak (example: an "improvement" that
passes all tests and changes `fibonacci(-1)`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coderefine.config import Config
from coderefine.core import Case, Patch, Verdict, Views
from coderefine.core.plurals import counted
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Codes, has_value
from coderefine.runner.cold_pool import open_any_pool

SUITE = 10.0
"""Duration of the tests, in seconds, above which nothing is compared: each version runs them all once more."""
PATIENCE = 4.0
"""Seconds for the calls of one version."""
CHANGES = "changes the results of"
NOT_COMPARED = "its behaviour was not compared beyond the tests"

Answers = Mapping[str, Codes]
"""Call -> its results in two runs."""


@dataclass(slots=True)
class Behaviour:
    """Compares patched versions of one project with the baseline.

    Each version runs in a server of its own, which records the tests' calls, and then makes these calls and variants of
    them again.
    """

    place: Place
    interpreter: Interpreter
    config: Config
    _start: Answers | None = field(default=None, init=False)

    def check(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Verdict:
        """Return a negative verdict if a call that returned a value has another result with the patch.

        The verdict's `reason` describes what was compared, or why nothing was compared. `cases`: the baseline's tests,
        by id.
        """
        usual = sum(case.seconds for case in cases.values())
        if not any(not case.status.bad for case in cases.values()):
            return _not_compared("no test passes at the start, so there are no calls to compare")
        if usual > SUITE:
            return _not_compared(f"the tests take {usual:.0f} s, and {SUITE:g} s is the limit for comparing")
        try:
            self._start = self._answers(views, Patch(), cases) if self._start is None else self._start
            after = self._answers(views, patch, cases)
        except (RunnerError, WorkspaceError) as error:
            return _not_compared(str(error))
        return compared(self._start, after)

    def _answers(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Answers:
        statuses = {name: case.status for name, case in cases.items()}
        seconds = {name: case.seconds for name, case in cases.items()}
        parts = (views, self.place, self.interpreter, self.config)
        # One worker runs both the observation and the probe: a second one would have nothing to do.
        with open_any_pool(*parts, patch=patch, expected=statuses, seconds=seconds, workers=1) as pool:
            names = [name for name in pool.tests if name in statuses and not statuses[name].bad]
            pool.observe((), names)
            return pool.answers(names, PATIENCE)


def compared(before: Answers, after: Answers) -> Verdict:
    """Return the verdict on two sets of results.

    A call is ignored if its results are unstable, if only one set contains it, or if it returned no value in `before`.
    """
    if not before:
        return _not_compared("the tests make no call that can be repeated")
    valued = {call: code for call, code in _steady(before).items() if has_value(code)}
    pairs = [(valued[call], code) for call, code in _steady(after).items() if call in valued]
    other = sum(old != new for old, new in pairs)
    calls = f"{counted(len(pairs), 'call')} near those of the tests"
    if other:
        return Verdict(ok=False, reason=f"{CHANGES} {other} of {calls}")
    if not pairs:
        return _not_compared("no call of the tests returns a value to compare in both versions")
    return Verdict(ok=True, reason=f"same results for {calls}")


def _steady(answers: Answers) -> Mapping[str, str]:
    return {call: codes[0] for call, codes in answers.items() if len(set(codes)) == 1}


def _not_compared(why: str) -> Verdict:
    return Verdict(ok=True, reason=f"{NOT_COMPARED}: {why}")
