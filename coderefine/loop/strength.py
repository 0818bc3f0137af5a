"""How strong the proof of a patch is: the share of its wrong versions that the tests notice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from coderefine import judge
from coderefine.config import Config
from coderefine.core import Case, Patch, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.anypool import open_any_pool
from coderefine.runner.candidates import Candidate, Plan

MOST = 12
"""Mutants judged: enough for a ratio a person can read."""
SUITE = 10.0
"""Seconds of tests above which strength is not measured: the pool would run them all once more."""
PATIENCE = 10.0
"""Seconds for all mutants."""


@dataclass(frozen=True, slots=True)
class Strength:
    """Measures patches of one project. Uses the hot runner, so a mutant costs milliseconds."""

    place: Place
    interpreter: Interpreter
    config: Config

    def measure(
        self, views: Views, patch: Patch, originals: Mapping[str, bytes | None], cases: Mapping[str, Case]
    ) -> tuple[int, int] | None:
        """(mutants noticed, mutants judged); None when it cannot be measured or there is nothing to mutate."""
        wrong = _spread(list(judge.mutants(patch, originals)))
        if not wrong or not cases or sum(case.seconds for case in cases.values()) > SUITE:
            return None
        try:
            return self._noticed(views, patch, wrong, cases)
        except (RunnerError, WorkspaceError):
            # The evidence is then one number shorter; the patch is no worse for it.
            return None

    def _noticed(
        self, views: Views, patch: Patch, wrong: list[judge.Mutant], cases: Mapping[str, Case]
    ) -> tuple[int, int] | None:
        statuses = {name: case.status for name, case in cases.items()}
        known = frozenset(name for name, case in cases.items() if case.status.bad)
        until = time.monotonic() + PATIENCE
        usual = sum(case.seconds for case in cases.values())
        parts = (views, self.place, self.interpreter, self.config)
        with open_any_pool(*parts, patch=patch, expected=statuses, usual=usual) as pool:
            pool.baseline()
            candidates = (Candidate(number, files) for number, files in enumerate(wrong) if time.monotonic() < until)
            judged = list(pool.judge(candidates, Plan(known=known | pool.unfit, thorough=False)))
        return (sum(not one.plausible for one in judged), len(judged)) if judged else None


def _spread(wrong: list[judge.Mutant]) -> list[judge.Mutant]:
    """At most `MOST` of them, from all over the patch."""
    step = -(-len(wrong) // MOST) or 1
    return list(islice(wrong[::step], MOST))
