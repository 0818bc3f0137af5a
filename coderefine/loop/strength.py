"""Measure the strength of a proof: how many mutants of the patch the tests kill, and how many results it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from coderefine import judge
from coderefine.config import Config
from coderefine.core import Attempt, Freedom, Listen, Mutation, Patch, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Candidate, Judged, Plan, counted_mutants
from coderefine.runner.cold_pool import AnyPool, open_any_pool
from coderefine.runner.test_selection import files_of, one_of_each
from coderefine.source import owners, syntax

MOST, LEAST = 12, 3
"""Maximum number of mutants that are judged, and minimum number from which anything can be concluded."""
MOST_TESTS = 40
"""Maximum number of repaired tests that run each mutant."""
PATIENCE = 3.0
"""The first LEAST mutants may take this many times the usual limit: a busy machine must not make tests look strong."""
UNMEASURED = "the strength of the tests could not be measured"
COMPARING = 0.3
"""Seconds for repeating the tests' calls and variants of them, with the patch and at the baseline."""
QUICK = 0.5
"""If all mutants can be judged in fewer seconds, one worker judges them: a second worker would have to start pytest."""
LONG = 0.5
"""If the tests of one mutant take more seconds, the workers of a cluster are used."""
OBSERVING = 0.5
"""Share of the time for running the tests on the patch itself; the rest is for the mutants."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Three pairs of numbers (None: not measured), and the surviving mutants.

    `noticed`: (number of mutants that the tests kill, number of judged mutants). `changed`: of the tests' calls and
    variants of these calls, without the calls of repaired tests: (number whose result the patch changes, number of
    compared calls). `weakest`: as `noticed`, for the function of which the tests kill the smallest share of mutants;
    functions with fewer than LEAST judged mutants do not count. `survived`: the mutants that no test kills. `why`: why
    the mutants could not be judged; "" if they were judged, or if there are none.
    """

    noticed: tuple[int, int] | None = None
    changed: tuple[int, int] | None = None
    weakest: tuple[int, int] | None = None
    survived: tuple[Mutation, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Strength:
    """Measures patches of one project. The tests run in servers that are already warm: a mutant costs milliseconds."""

    place: Place
    interpreter: Interpreter
    config: Config
    open_pool: Callable[..., AbstractContextManager[AnyPool]] = open_any_pool
    listen: Listen = lambda _: None

    def measure(
        self,
        views: Views,
        attempt: Attempt,
        originals: Mapping[str, bytes | None],
        *,
        seconds: float,
        freedom: Freedom = Freedom(),
        repaired: Sequence[str] = (),
    ) -> Measured:
        """Measure how many mutants of the patch the tests kill, and how many results of their calls the patch changes.

        Run the repaired tests, whether or not they were traced, and the tests that are known to run the patched lines,
        within `seconds` (but see PATIENCE). Return a Measured without numbers if there is nothing to mutate or no such
        test, or (with the reason) if measuring fails. `freedom`: permissions of the tests, see Ask. `repaired`: tests
        that failed at the baseline.
        """
        until = (time.monotonic() + seconds, time.monotonic() + PATIENCE * seconds)
        wrong = list(judge.mutants(attempt.patch, originals, MOST, repairing=bool(repaired)))
        running = judge.running(attempt, originals)
        # A file or class that could not be collected is in `repaired` itself: all of its tests count.
        flipped = [name for name in attempt.cases if judge.is_among(name, repaired)]
        first = sorted(one_of_each(flipped)[:MOST_TESTS], key=lambda name: name not in running)
        ordered = (*first, *(name for name in running if name not in first))
        if not wrong or not ordered:
            return Measured()
        try:
            return self._measured(views, attempt, originals, wrong, ordered, len(first), until, freedom)
        except (RunnerError, WorkspaceError) as error:
            # The evidence then lacks this number, but that is not the patch's fault.
            return Measured(why=f"{UNMEASURED}: {error}")

    def _measured(  # noqa: PLR0917
        self,
        views: Views,
        attempt: Attempt,
        originals: Mapping[str, bytes | None],
        wrong: list[judge.Mutant],
        running: Sequence[str],
        repaired: int,
        until: tuple[float, float],
        freedom: Freedom,
    ) -> Measured:
        """Measure in a pool. `repaired`: number of tests that failed at the baseline; they come first in `running`.

        `until`: when to end, and when to end even if fewer than LEAST mutants were judged.
        """
        cases = attempt.cases
        known = frozenset(name for name, case in cases.items() if case.status.bad)
        each = sum(cases[name].seconds for name in running)
        with self.open_pool(
            views,
            self.place,
            self.interpreter,
            self.config,
            patch=attempt.patch,
            expected={name: case.status for name, case in cases.items()},
            seconds={name: case.seconds for name, case in cases.items()},
            files=files_of(running),
            imports=tuple(attempt.patch.files),
            workers=1 if len(wrong) * each < QUICK else None,
            freedom=freedom,
            within=until[1] - time.monotonic(),
            listen=self.listen,
        ) as pool:
            pool.observe((), running, OBSERVING * max(0.0, until[0] - time.monotonic()))
            # A mutant that hangs in a long suite may take minutes. It counts as killed, and does not run once more with
            # a longer limit: the proof has just measured how long its tests take.
            plan = Plan(known=known | pool.unfit, retry=0.0, many=each > LONG, ends=until[1])
            judged = counted_mutants(pool.judge(_in_time(wrong, until), plan), len(wrong), self.listen)
            changed = _changed(pool, originals, running, repaired)
        return _counted(attempt.patch, wrong, judged, changed)


def _counted(
    patch: Patch, wrong: Sequence[judge.Mutant], judged: Sequence[Judged], changed: tuple[int, int] | None
) -> Measured:
    """Return the numbers of killed and judged mutants, with a reason if too few were judged."""
    why = f"{UNMEASURED} in the time for it" if len(judged) < min(LEAST, len(wrong)) else ""
    survived = tuple(wrong[at].mutation for at in sorted(one.candidate.number for one in judged if one.plausible))
    noticed = None if why else (len(judged) - len(survived), len(judged))
    return Measured(noticed, changed, _weakest(patch, wrong, judged), survived, why)


def _weakest(patch: Patch, wrong: Sequence[judge.Mutant], judged: Sequence[Judged]) -> tuple[int, int] | None:
    """Return the value of `Measured.weakest`."""
    places = {path: owners(syntax(data or b"")) for path, data in patch.files.items()}
    found: dict[tuple[str, str], list[bool]] = {}  # per function: whether each mutant survived
    for one in judged:
        mutation = wrong[one.candidate.number].mutation
        function = places[mutation.path].get(mutation.line, "")
        found.setdefault((mutation.path, function), []).append(one.plausible)
    pairs = [(len(ends) - sum(ends), len(ends)) for ends in found.values() if len(ends) >= LEAST]
    return min(pairs, key=lambda pair: pair[0] / pair[1], default=None)


def _in_time(wrong: Sequence[judge.Mutant], until: tuple[float, float]) -> Iterator[Candidate]:
    """Yield the mutants until the time is over: until[1] for the first LEAST of them, until[0] for the others."""
    for number, one in enumerate(wrong):
        if time.monotonic() < until[number < LEAST]:
            yield Candidate(number, one.files)


def _changed(
    pool: AnyPool, originals: Mapping[str, bytes | None], running: Sequence[str], repaired: int
) -> tuple[int, int] | None:
    """Return (number of calls whose result differs from the baseline, number of compared calls).

    Calls of repaired tests are left out. Return None if there are no repaired tests, or if nothing was compared.
    `repaired`: number of tests that failed at the baseline; they come first in `running`.
    """
    if not repaired:
        return None
    found = pool.probe([Candidate(1, originals)], running, COMPARING, running[:repaired])
    changed, total = found.changed(1, "pPF")
    return (changed, total) if total else None
