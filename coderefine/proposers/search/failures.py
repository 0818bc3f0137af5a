"""Which failing tests the search is to repair, in which order, and which tests a proposal broke."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from coderefine.core import Case, Failure, Patch, Situation
from coderefine.runner.cold_pool import AnyPool

Symptom = tuple[str, str, str]
MOST_FIRST, MORE_FIRST, CHEAP = 3, 8, 0.01
"""Number of failing tests that run first on a candidate, and how many do if they take CHEAP seconds together."""
NO_FIXTURE = "FixtureLookupError"
"""A test asks for a fixture that does not exist, often that of a plug-in: no change to the program repairs it."""


def repairable(situation: Situation) -> list[Case]:
    """Return the failing tests that a change to the program may repair.

    Where others fail, a test that lacks the network is left out: it fails for that reason, most likely, and what it
    executes would be as suspicious as the fault.
    """
    left = situation.flaky | situation.absent | situation.offered
    bad = [case for case in situation.best.cases.values() if case.status.bad and case.id not in left]
    found = [case for case in bad if not _failure(case).exception.endswith(NO_FIXTURE)]
    return [case for case in found if not _failure(case).wants_network] or found


def _failure(case: Case) -> Failure:
    return case.failure or Failure("")


def broken(situation: Situation, patch: Patch | None) -> list[str]:
    """Return the tests that `patch` broke in its cold run, if it was the last attempt."""
    tried = situation.attempts[-1] if situation.attempts else situation.best
    bad = {name for name, case in tried.cases.items() if case.status.bad} if tried.patch is patch else set()
    return [name for name, case in situation.best.cases.items() if name in bad and not case.status.bad]


def symptoms(situation: Situation) -> frozenset[Symptom]:
    """Return the failing tests with the type and message of each failure."""
    failures = ((case.id, case.failure) for case in repairable(situation))
    return frozenset(
        (name, str(failure and failure.exception), str(failure and failure.message)) for name, failure in failures
    )


def in_order(failing: list[Case], pool: AnyPool, covering: frozenset[str]) -> list[str]:
    """Order the failing tests: one of each symptom first, then one of each test function; fastest first in each part.

    `covering`: the tests that execute a statement of the program. The others are last: hardly any repair can influence
    them. Tests that the servers do not know, or that end differently there, are left out.
    """
    names = {*pool.tests, *pool.broken} - pool.unfit
    fit = sorted((case for case in failing if case.id in names), key=lambda case: case.seconds)
    kinds: dict[object, str] = {}
    functions: dict[object, str] = {}
    for case in fit:
        kinds.setdefault(_symptom(case), case.id)
        functions.setdefault(case.id.split("[")[0], case.id)
    every = dict.fromkeys((*kinds.values(), *functions.values(), *(case.id for case in fit)))
    return sorted(every, key=lambda name: name not in covering and name not in pool.broken)


def first_on(failing: Sequence[str], executing: Collection[str], seconds: Mapping[str, float]) -> tuple[str, ...]:
    """Select the tests that run first on an edit of a statement: those of `failing`, in this order, that execute it.

    A test that does not execute the statement tells nothing about the edit. `seconds`: durations by test.
    """
    chosen: list[str] = []
    spent = 0.0
    for name in failing:
        if name in executing:
            spent += seconds.get(name, CHEAP)
            if len(chosen) >= MOST_FIRST and (spent > CHEAP or len(chosen) >= MORE_FIRST):
                break
            chosen.append(name)
    return tuple(chosen)


def _symptom(case: Case) -> object:
    """Return the type of the exception and the innermost line of the traceback."""
    failure = case.failure
    return failure and (failure.exception, *((frame.path, frame.line) for frame in failure.frames[-1:]))
