"""How strong the proof of a patch is: the share of its wrong versions that the tests notice."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coderefine import judge
from coderefine.config import Config
from coderefine.core import Attempt, Freedom, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.anypool import open_any_pool
from coderefine.runner.candidates import Candidate, Plan

MOST = 12
"""Mutants judged: enough for a ratio a person can read."""
OBSERVING = 0.5
"""Share of the time that the tests may take on the patch itself; the rest is for the mutants."""


@dataclass(frozen=True, slots=True)
class Strength:
    """Measures patches of one project. Uses the hot runner, so a mutant costs milliseconds."""

    place: Place
    interpreter: Interpreter
    config: Config

    def measure(
        self,
        views: Views,
        attempt: Attempt,
        originals: Mapping[str, bytes | None],
        *,
        seconds: float,
        freedom: Freedom = Freedom(),
    ) -> tuple[int, int] | None:
        """(mutants noticed, mutants judged) within `seconds`, by the tests that are known to run the patched lines.

        None when it cannot be measured, or there is nothing to mutate. `freedom` of the tests: see Ask.
        """
        until = time.monotonic() + seconds
        wrong = list(judge.mutants(attempt.patch, originals, MOST))
        running = judge.running(attempt, originals)
        if not wrong or not running:
            return None
        try:
            return self._noticed(views, attempt, wrong, running, until, freedom)
        except (RunnerError, WorkspaceError):
            # The evidence is then one number shorter; the patch is no worse for it.
            return None

    def _noticed(  # noqa: PLR0917
        self,
        views: Views,
        attempt: Attempt,
        wrong: list[judge.Mutant],
        running: Sequence[str],
        until: float,
        freedom: Freedom,
    ) -> tuple[int, int] | None:
        cases = attempt.cases
        known = frozenset(name for name, case in cases.items() if case.status.bad)
        with open_any_pool(
            views,
            self.place,
            self.interpreter,
            self.config,
            patch=attempt.patch,
            expected={name: case.status for name, case in cases.items()},
            seconds={name: case.seconds for name, case in cases.items()},
            files=list(dict.fromkeys(name.split("::")[0] for name in running)),
            freedom=freedom,
            within=until - time.monotonic(),
        ) as pool:
            pool.observe((), running, OBSERVING * (until - time.monotonic()))
            candidates = (Candidate(number, files) for number, files in enumerate(wrong) if time.monotonic() < until)
            judged = list(pool.judge(candidates, Plan(known=known | pool.unfit, thorough=False)))
        return (sum(not one.plausible for one in judged), len(judged)) if judged else None
