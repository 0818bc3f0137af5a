"""Whether a patch answers as the code before it did: on calls that the tests make, and on calls near them.

For tasks that may not change what the code does, where tests alone are too thin to hold it (seeds: a green
"improvement" that changes `fibonacci(-1)`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coderefine.config import Config
from coderefine.core import Case, Patch, Verdict, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.anypool import open_any_pool
from coderefine.runner.candidates import Candidate, Codes

SUITE = 10.0
"""Seconds of tests above which it is not looked at: the pool would run them all once more."""
PATIENCE = 4.0
"""Seconds for the calls of both versions together."""
NO_VALUE = ("!", "~")
"""How an answer begins that is none: an exception, no end (runner/inside/probe.py)."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Compares patches of one project with the start, in forks: only what the hot runner can swap in is compared."""

    place: Place
    interpreter: Interpreter
    config: Config

    def kept(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> Verdict:
        """No when a call that had a value has another one now. `reason` says what was compared; "" for nothing."""
        if not cases or sum(case.seconds for case in cases.values()) > SUITE:
            return Verdict(ok=True)
        try:
            before, after = self._answers(views, patch, cases)
        except (RunnerError, WorkspaceError):
            # What cannot be compared is left to the tests.
            return Verdict(ok=True)
        pairs = [(old, new) for old, new in zip(before, after, strict=False) if not old.startswith(NO_VALUE)]
        other = sum(old != new for old, new in pairs)
        if other:
            return Verdict(ok=False, reason=f"answers {other} of {len(pairs)} calls near those of the tests otherwise")
        return Verdict(ok=True, reason=f"answers {len(pairs)} calls near those of the tests as before" if pairs else "")

    def _answers(self, views: Views, patch: Patch, cases: Mapping[str, Case]) -> tuple[Codes, Codes]:
        statuses = {name: case.status for name, case in cases.items()}
        usual = sum(case.seconds for case in cases.values())
        parts = (views, self.place, self.interpreter, self.config)
        with open_any_pool(*parts, patch=Patch(), expected=statuses, usual=usual) as pool:
            pool.baseline()
            names = [name for name in pool.tests if not statuses[name].bad]
            codes = pool.probe([Candidate(1, patch.files)], names, PATIENCE)
        return codes.get(0, ()), codes.get(1, ())
