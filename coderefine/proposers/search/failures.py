"""The failing tests that the search is to repair, their order, and the tests that a proposal broke."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from coderefine.core import Case, Patch, Situation, repairable, without_parameters
from coderefine.runner.cold import is_deadly
from coderefine.runner.cold_pool import AnyPool, ColdPool

Symptom = tuple[str, str, str]
MOST_FIRST, MORE_FIRST, CHEAP = 3, 8, 0.01
"""Number of failing tests that run first on a candidate: MOST_FIRST, or up to MORE_FIRST if they take at most CHEAP
seconds together."""


def to_repair(situation: Situation) -> list[Case]:
    """Return the failing tests that the search is to repair, see `core.repairable`.

    Tests that are flaky, cannot run alone or have an offered repair are left out.
    """
    left = situation.flaky | situation.absent | situation.offered
    return repairable(case for case in situation.best.cases.values() if case.status.bad and case.id not in left)


def broken(situation: Situation, patch: Patch | None) -> list[str]:
    """Return the tests that `patch` broke in its cold run; [] if `patch` was not the last attempt."""
    tried = situation.attempts[-1] if situation.attempts else situation.best
    bad = {name for name, case in tried.cases.items() if case.status.bad} if tried.patch is patch else set()
    return [name for name, case in situation.best.cases.items() if name in bad and not case.status.bad]


def to_repeat(names: Sequence[str], judging: Collection[str], cases: Iterable[str]) -> list[str]:
    """Return the tests to run in order to find out whether another patch breaks the tests `names`.

    `judging`: the tests that ran on candidates. Return those of `names` that are not in `judging`. If all are in
    `judging`, they passed there and fail only after other tests: return all tests of their files, in the order of
    `cases`.
    """
    files = {name.partition("::")[0] for name in names}
    unforeseen = [name for name in names if name not in judging]
    return unforeseen or [name for name in cases if name.partition("::")[0] in files]


def symptoms(situation: Situation) -> frozenset[Symptom]:
    """Return the id of each failing test with the type of its exception and its message."""
    failures = ((case.id, case.failure) for case in to_repair(situation))
    return frozenset(
        (name, str(failure and failure.exception), str(failure and failure.message)) for name, failure in failures
    )


def in_order(failing: list[Case], pool: AnyPool, covering: frozenset[str]) -> list[str]:
    """Order the failing tests as `various` does, the fastest first.

    `covering`: the tests that execute a statement of the program. Other tests are last, because hardly any repair can
    influence them, but not test modules that cannot be imported. Tests that the servers do not know, or that end
    differently there than in a cold run, are left out.
    """
    names = {*pool.tests, *pool.broken} - pool.unfit
    fit = sorted((case for case in failing if case.id in names), key=lambda case: case.seconds)
    every = (case.id for case in various(fit))
    return sorted(every, key=lambda name: name not in covering and name not in pool.broken)


def various(failing: Iterable[Case]) -> list[Case]:
    """Order failing tests: one of each `_symptom` first, then one of each test function, then the others."""
    listed = list(failing)
    kinds: dict[object, Case] = {}
    functions: dict[object, Case] = {}
    for case in listed:
        kinds.setdefault(_symptom(case), case)
        functions.setdefault(without_parameters(case.id), case)
    return list({case.id: case for case in (*kinds.values(), *functions.values(), *listed)}.values())


def first_on(
    failing: Sequence[Case], asked: Sequence[str], executing: Mapping[ast.stmt, Collection[str]]
) -> dict[ast.stmt, tuple[str, ...]]:
    """Return, for each statement, the tests that run first on its edits: the first tests of `asked` that execute it.

    A test that does not execute a statement says nothing about its edits. `executing`: failing tests by statement.
    """
    seconds = {case.id: case.seconds for case in failing}
    return {stmt: _cheapest([name for name in asked if name in tests], seconds) for stmt, tests in executing.items()}


def _cheapest(tests: Sequence[str], seconds: Mapping[str, float]) -> tuple[str, ...]:
    """Return the first MOST_FIRST of `tests`, and more if they take little time."""
    spent = itertools.accumulate(seconds.get(name, CHEAP) for name in tests)
    rows = enumerate(zip(tests[:MORE_FIRST], spent, strict=False))
    return tuple(name for at, (name, until) in rows if at < MOST_FIRST or until <= CHEAP)


def _symptom(case: Case) -> object:
    """Return the type of the exception and the innermost line of the traceback."""
    failure = case.failure
    return failure and (failure.exception, *((frame.path, frame.line) for frame in failure.frames[-1:]))


def failed_again(pool: AnyPool, failing: list[Case]) -> frozenset[str]:
    """Return those of `failing` that failed again in `pool`; none for a ColdPool, or if the servers were restarted."""
    if isinstance(pool, ColdPool) or pool.launches > 1:
        return frozenset()
    ran = (case.id for case in failing if not is_deadly(case))  # Pool.observe does not run deadly tests
    return frozenset(ran).intersection(pool.fit, pool.tests)
