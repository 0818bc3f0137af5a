"""Rerun failing and broken tests to find flaky tests, and to record the lines that failing tests execute.

A flaky test never counts as fixed or broken by a patch. The number of reruns is chosen such that a test that fails one
time in four is distinguished from one that always fails, or always passes, with a probability of at least 99 %. A
Confirmation continues the reruns in parallel with the first proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from coderefine import proc
from coderefine.core import Ask, Attempt, Check, Coverage, Critic, Freedom, Patch, Views, without_parameters
from coderefine.errors import CriticError
from coderefine.loop.critique import critique
from coderefine.runner.cold import is_hung
from coderefine.runner.test_selection import to_watch
from coderefine.sandbox import LOOSEST, TOUCHED

OTHER_SEED = 1
FAILED_AGAIN = 4
"""Consecutive failures after which a test counts as always failing; wrong for 0.4 % of tests that fail 1 in 4 times."""
PASSED_AGAIN = 17
"""Consecutive passes after which a test counts as always passing; wrong for 0.8 % of tests that fail 1 in 4 times."""
SIDE_BY_SIDE = 4
FAILED = 1
"""Number of times that each test has already failed alone before a Confirmation begins."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """Result of the second run of the failing tests.

    `flaky`: tests that do not always fail. `steady`: tests that failed again. `absent`: tests that cannot be run by
    themselves, such as a class that cannot be collected. `freedom`: the permissions that the tests need in the sandbox
    (see Ask). `trace`: the lines that each test executes; `followed`: whether some of these lines are in Python
    programs that tests start.
    """

    flaky: frozenset[str] = frozenset()
    steady: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    freedom: Freedom = Freedom()
    trace: Coverage = field(default_factory=dict)
    followed: bool = False


def rerun_failing(views: Views, critic: Critic, baseline: Check, ask: Ask) -> Rerun:
    """Rerun the failing tests of `baseline`: only these, in the sandbox, with another hash seed, and traced.

    Tests that pass this time are rerun until it is clear whether they are flaky. For a test that always passes alone, a
    second full run decides: a test that fails again there is order-dependent (a real failure), not flaky. Tests that
    hung are not rerun (see runner/suspect.py).
    """
    ids = tuple(id_ for id_ in baseline.failing if not is_hung(baseline.cases[id_]))
    if not ids:
        return Rerun(freedom=Freedom(needs=baseline.needs))
    ask = replace(ask, rich=False)
    watched = frozenset(to_watch(ids, baseline.durations))
    watching = replace(ask, tests=ids, seed=OTHER_SEED, coverage=True, watched=watched, follow=True)
    again, needed = _fitting(views, critic, baseline, watching)
    suspects = tuple(id_ for id_ in ids if id_ in _passing(ids, again))
    flaky = _flaky(views, critic, suspects, ask, needed) if suspects else frozenset()
    steady = tuple(id_ for id_ in again.failing if id_ in ids)
    absent = frozenset(ids) - again.cases.keys()
    return Rerun(flaky, steady, absent, needed, again.coverage or {}, again.followed)


def _flaky(views: Views, critic: Critic, suspects: Sequence[str], ask: Ask, freedom: Freedom) -> frozenset[str]:
    """Return the flaky tests of `suspects`.

    Each test in `suspects` has passed alone. A test is flaky if it also fails alone, or if it passes in a second full
    run.
    """
    seen = _outcomes(views, critic, suspects, replace(ask, seed=OTHER_SEED, freedom=freedom))
    mixed = frozenset(id_ for id_ in suspects if seen[id_, False])
    rest = frozenset(suspects) - mixed
    if rest:
        (full,) = critique(views, (critic,), Patch(), ask)
        mixed |= rest & _passing(suspects, full)
    return mixed


def _fitting(views: Views, critic: Critic, baseline: Check, ask: Ask) -> tuple[Check, Freedom]:
    """Return the check of `ask` on the unchanged tree, and the permissions with which it ran.

    These are the tightest with which the tests fail as they do outside the sandbox: a test that the sandbox breaks
    before it reaches the fault would fail even with a correct patch. If tests fail differently even with the loosest
    permissions, the sandbox is not the cause, and the tightest are used. Raises CriticError if pytest gives no verdict.
    """
    found: dict[Freedom, Check] = {}
    errors: list[CriticError] = []

    def fits(freedom: Freedom) -> bool:
        try:
            (found[freedom],) = critique(views, (critic,), Patch(), replace(ask, freedom=freedom))
        except CriticError as error:
            errors.append(error)
            return False
        return not _odd(baseline, found[freedom], ask.tests or ())

    best, last = Freedom(0, baseline.needs), Freedom(LOOSEST, baseline.needs)
    if not fits(best):
        if fits(last):
            between = (one for one in ladder(views, critic, ask, best) if 0 < one.step < LOOSEST)
            best = next(filter(fits, between), last)
        elif best not in found:
            best = last
    if best not in found:
        raise errors[-1]
    return found[best], best


def ladder(views: Views, critic: Critic, ask: Ask, first: Freedom) -> Iterator[Freedom]:
    """Yield increasing permissions for the tests of `ask`, beginning with `first`.

    After `first`, the tests run on the unchanged tree without a sandbox; the next permissions include the accesses that
    were recorded in this run.
    """
    yield first
    recorded = replace(ask, freedom=None, record=True, coverage=False)
    needs = first.needs | run_quietly(views, critic, Patch(), recorded).needs
    start = max(first.step, TOUCHED) if needs != first.needs else first.step + 1
    for step in range(start, LOOSEST + 1):
        if step != TOUCHED or needs:
            yield Freedom(step, needs)


def _odd(baseline: Check, check: Check, names: Sequence[str]) -> bool:
    """Return whether a test of `names` did not run, or raised another exception than at the baseline."""
    if any(name not in check.cases for name in names):
        return True
    both = ((baseline.cases[name].failure, check.cases[name].failure) for name in names)
    return any(before and after and before.exception != after.exception for before, after in both)


def functions_kept(before: Attempt, now: Attempt) -> frozenset[str]:
    """Return the test functions that have at least as many tests `now` as `before`; the tests' names may differ."""
    counts, after = (Counter(map(without_parameters, one.cases)) for one in (before, now))
    return frozenset(name for name, count in counts.items() if after[name] >= count)


def renamed(views: Views, critic: Critic, ids: Sequence[str], ask: Ask, kept: frozenset[str]) -> frozenset[str]:
    """Return the tests of `ids` whose names change from run to run: another full run of the baseline has other names.

    The name of a test changes, for instance, if a parameter is the time, or comes from a set. `kept`: functions that
    have as many tests as at the baseline; if the name of one test changes, all tests of the same function are returned.
    """
    full = run_quietly(views, critic, Patch(), replace(ask, freedom=None, changed=None, tests=None))
    if not full.cases or not full.complete:
        return frozenset()
    found = frozenset(ids) - full.cases.keys()
    unsteady_names = kept.intersection(map(without_parameters, found))
    return found | frozenset(one for one in ids if without_parameters(one) in unsteady_names)


def broken_by_chance(views: Views, critic: Critic, ids: Sequence[str], ask: Ask, patch: Patch) -> frozenset[str]:
    """Return the tests of `ids`, which passed before, whose failure with `patch` is no evidence against the patch.

    Such a test also fails on the unchanged baseline with the hash seed of `ask`. A test that both passes and fails in
    reruns with the patch is rerun on the baseline as often, because the patch may have made it unsteady. A test that
    always fails with the patch runs on the baseline in up to three ways:

    - alone;
    - if it passes alone: several times at once, as with the patch, because some tests limit their time (hypothesis) or
      use the same port; if it fails so, it must pass alone with the patch;
    - if it fails alone: in the full suite, because a test that depends on another one fails alone on any tree.

    The baseline runs without a sandbox, so a test that fails only because of the sandbox is not excused.

    `ask.coverage`: whether the tests were traced when they failed. The reruns are not traced. A test that passes in all
    reruns also runs on the baseline, traced. If it fails there, it is returned too: tracing is the cause, for instance
    because the test counts stack frames.
    """
    again = replace(ask, coverage=False)
    own = replace(again, freedom=None, changed=None)
    seen = _outcomes(views, critic, ids, again, patch=patch)
    mixed = tuple(_mixed(seen, ids))
    before = _outcomes(views, critic, mixed, own)
    flaky = frozenset(id_ for id_ in mixed if before[id_, False])
    if ask.coverage:
        green = tuple(id_ for id_ in ids if not seen[id_, False])
        traced = replace(own, tests=green, coverage=True, watched=None)
        flaky |= frozenset(run_quietly(views, critic, Patch(), traced).failing)
    red = tuple(id_ for id_ in ids if seen[id_, False] and id_ not in mixed)
    passed = tuple(_passing(red, run_quietly(views, critic, Patch(), replace(own, tests=red))))
    open_ = frozenset(ids) - flaky - frozenset((*mixed, *passed))
    crowded = tuple(frozenset(passed) - _passing_side_by_side(views, critic, passed, own))
    flaky |= _passing(crowded, run_quietly(views, critic, patch, replace(again, tests=crowded)))
    if not open_:
        return flaky
    (full,) = critique(views, (critic,), Patch(), replace(own, tests=None))
    return flaky | (open_ & frozenset(full.failing))


def unsteady(
    views: Views,
    critic: Critic,
    ids: Sequence[str],
    ask: Ask,
    *,
    failed: int = 0,
    once_more: Collection[str] = (),
) -> frozenset[str]:
    """Return the tests of `ids` that both pass and fail in repeated runs on the unchanged baseline.

    `failed`: how often each test has failed already; the tests in `once_more` have failed one more time.
    """
    if not ids:
        return frozenset()
    before = Counter({(id_, False): failed + (id_ in once_more) for id_ in ids})
    seen = _outcomes(views, critic, ids, replace(ask, rich=False), before=before)
    return _mixed(seen, ids)


def _mixed(seen: Counter[tuple[str, bool]], ids: Sequence[str]) -> frozenset[str]:
    """Return the tests of `ids` that both passed and failed."""
    return frozenset(id_ for id_ in ids if seen[id_, True] and seen[id_, False])


def _outcomes(
    views: Views,
    critic: Critic,
    ids: Sequence[str],
    ask: Ask,
    *,
    before: Counter[tuple[str, bool]] | None = None,
    patch: Patch = Patch(),
) -> Counter[tuple[str, bool]]:
    """Rerun the tests `ids` until it is clear which are flaky; return the numbers of runs by (test id, passed).

    `before`: the counts of earlier runs.
    """
    seen = Counter(before or {})
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for _ in range(PASSED_AGAIN):
            open_ = [id_ for id_ in ids if _is_open(seen, id_)]
            if not open_:
                break
            wanted = max(_missing(seen, id_) for id_ in open_)
            asks = [replace(ask, tests=tuple(open_)) for _ in range(min(SIDE_BY_SIDE, wanted))]
            for check in pool.map(lambda one: run_quietly(views, critic, patch, one), asks):
                _count(seen, open_, check)
    return seen


def _passing_side_by_side(views: Views, critic: Critic, ids: Sequence[str], ask: Ask) -> frozenset[str]:
    """Return the tests of `ids` that pass in all of several simultaneous runs on the unchanged baseline."""
    asks = [replace(ask, tests=tuple(ids))] * (FAILED_AGAIN if ids else 0)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        checks = pool.map(lambda one: run_quietly(views, critic, Patch(), one), asks)
        return frozenset(ids).intersection(*(_passing(ids, check) for check in checks))


def run_quietly(views: Views, critic: Critic, patch: Patch, ask: Ask) -> Check:
    """Run the critic; return an empty Check if it gives no verdict, or if `ask` has an empty list of tests."""
    if ask.tests == ():
        return Check(critic.name)
    try:
        (check,) = critique(views, (critic,), patch, ask)
    except CriticError:
        return Check(critic.name)
    return check


def _count(seen: Counter[tuple[str, bool]], ids: Collection[str], check: Check) -> None:
    for id_ in ids if check.cases else ():
        case = check.cases.get(id_)
        seen[id_, case is not None and not case.status.bad] += 1


def _is_open(seen: Counter[tuple[str, bool]], id_: str) -> bool:
    return not (seen[id_, True] and seen[id_, False]) and _missing(seen, id_) > 0


def _missing(seen: Counter[tuple[str, bool]], id_: str) -> int:
    """Return how many runs are still needed until a test that always passed, or always failed, counts as steady."""
    return (PASSED_AGAIN if seen[id_, True] else FAILED_AGAIN) - seen[id_, True] - seen[id_, False]


def _passing(ids: Sequence[str], again: Check) -> frozenset[str]:
    return frozenset(id_ for id_ in ids if id_ in again.cases and not again.cases[id_].status.bad)


class Confirmation:
    """Reruns failing tests in a background thread; does nothing until `begin` is called."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1)
        self._steady: Future[frozenset[str]] | None = None

    def begin(
        self, views: Views, critic: Critic, steady: tuple[str, ...], ask: Ask, once_more: Collection[str] = ()
    ) -> None:
        """Start to rerun the tests `steady` until it is certain that they always fail.

        Each of them has failed alone once; the tests in `once_more` have also failed in another process.
        """
        if steady:
            ask = replace(ask, seed=OTHER_SEED)
            self._steady = self._threads.submit(
                unsteady, views, critic, steady, ask, failed=FAILED, once_more=once_more
            )

    def flaky(self) -> frozenset[str]:
        """Wait for the reruns, and return the tests that passed in some of them; a second call returns no tests."""
        if self._steady is None:
            return frozenset()
        found, self._steady = self._steady.result(), None
        return found

    def close(self) -> None:
        """Stop the reruns that are still running."""
        if self._steady is not None and not self._steady.done():
            with proc.stopped():
                self._threads.shutdown(cancel_futures=True)
        self._threads.shutdown()
