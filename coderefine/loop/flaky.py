"""Run failing and broken tests again: which of them are flaky, and what the failing ones execute.

A flaky test is neither fixed nor broken by any patch. How often a test is run again is chosen for one that fails one
time in four: it is told apart from one that always fails, or always passes, with at least 99 % certainty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from coderefine.core import Ask, Case, Check, Coverage, Critic, Freedom, Needs, Patch, Views
from coderefine.errors import CriticError
from coderefine.loop.critique import critique
from coderefine.runner.cold import HANG
from coderefine.runner.test_selection import to_watch
from coderefine.sandbox import LOOSEST, TOUCHED

OTHER_SEED = 1
FAILED_AGAIN = 4
"""Failures in a row that make a test one that always fails: one that fails 1 time in 4 does that in 0.4 % of cases."""
PASSED_AGAIN = 17
"""Passes in a row that make a test one that always passes: one that fails 1 time in 4 does that in 0.8 % of cases."""
SIDE_BY_SIDE = 4


@dataclass(frozen=True, slots=True)
class Rerun:
    """What a second run of the failing tests showed.

    `flaky`: those that do not fail again. `steady`: those that failed again. `absent`: those that cannot be run by
    themselves, such as a class that cannot be collected. `freedom`: the sandbox's step that they
    need (see Ask). `trace`: the lines that each executes; `followed`: some in Python programs that the tests start.
    """

    flaky: frozenset[str] = frozenset()
    steady: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    freedom: Freedom = Freedom()
    trace: Coverage = field(default_factory=dict)
    followed: bool = False


def rerun_failing(views: Views, critic: Critic, baseline: Check, ask: Ask) -> Rerun:
    """Run the failing tests of `baseline` once more: alone, confined, with another hash seed, watched line by line.

    Those that pass there are run again until it is known what they do. Of one that always passes alone, a second full
    run decides: a test that fails only in company is order-dependent (a real failure), not flaky. Tests that hung are
    believed here (see runner/suspect.py).
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
    """Select those of `suspects`, tests that passed alone, that fail there too or pass in a second full run."""
    seen = _outcomes(views, critic, suspects, replace(ask, seed=OTHER_SEED, freedom=freedom))
    mixed = frozenset(id_ for id_ in suspects if seen[id_, False])
    rest = frozenset(suspects) - mixed
    if rest:
        (full,) = critique(views, (critic,), Patch(), ask)
        mixed |= rest & _passing(suspects, full)
    return mixed


def _fitting(views: Views, critic: Critic, baseline: Check, ask: Ask) -> tuple[Check, Freedom]:
    """The check of `ask` on the untouched tree at the tightest step where tests fail as they do outside, and the step.

    A test that hits the sandbox before it comes to the fault would be red however right the patch. When it is
    another way at the loosest step too, the sandbox is not to blame. Raises CriticError when pytest gives no verdict
    at all.
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
    """What `ask` may be granted on the untouched tree, from `first` on, ever more.

    After the first step the tests are run as free as at the baseline, and watched: the next one grants what they did.
    """
    yield first
    needs = first.needs | _needed(views, critic, ask)
    start = max(first.step, TOUCHED) if needs != first.needs else first.step + 1
    for step in range(start, LOOSEST + 1):
        if step != TOUCHED or needs:
            yield Freedom(step, needs)


def _needed(views: Views, critic: Critic, ask: Ask) -> Needs:
    """What the tests of `ask` touch outside of the untouched tree."""
    try:
        (check,) = critique(views, (critic,), Patch(), replace(ask, freedom=None, record=True, coverage=False))
    except CriticError:
        return Needs()
    return check.needs


def _odd(baseline: Check, check: Check, names: Sequence[str]) -> bool:
    """Whether some test of `names` did not run, or failed in another way than at the baseline."""
    if any(name not in check.cases for name in names):
        return True
    both = ((baseline.cases[name].failure, check.cases[name].failure) for name in names)
    return any(before and after and before.exception != after.exception for before, after in both)


def broken_by_chance(views: Views, critic: Critic, ids: Sequence[str], ask: Ask, patch: Patch) -> frozenset[str]:
    """Those of `ids`, tests that failed on baseline + `patch` and passed before, that say nothing against the patch.

    They both pass and fail when they are run alone again, or fail on the untouched baseline too, under the hash seed of
    `ask`: alone and in company, for a test that needs another before it fails alone on any tree. That tree is the
    user's own, and is not confined: a test that only misses what the sandbox withholds is not excused.
    """
    own = replace(ask, freedom=None, changed=None)
    seen = _outcomes(views, critic, ids, ask, patch=patch)
    flaky = frozenset(id_ for id_ in ids if seen[id_, True] and seen[id_, False])
    rest = tuple(id_ for id_ in ids if id_ not in flaky)
    red = tuple(id_ for id_ in rest if seen[id_, False])
    alone = _run(views, critic, Patch(), replace(own, tests=red)) if red else Check(critic.name)
    open_ = frozenset(rest) - (frozenset(red) & _passing(red, alone))
    if not open_:
        return flaky
    (full,) = critique(views, (critic,), Patch(), replace(own, tests=None))
    return flaky | (open_ & frozenset(full.failing))


def unsteady(views: Views, critic: Critic, ids: Sequence[str], ask: Ask, *, failed: int = 0) -> frozenset[str]:
    """Those of `ids` that both pass and fail on the untouched baseline when they are run alone again and again.

    `failed`: how often each has failed already.
    """
    if not ids:
        return frozenset()
    before = Counter({(id_, False): failed for id_ in ids})
    seen = _outcomes(views, critic, ids, replace(ask, rich=False), before=before)
    return frozenset(id_ for id_ in ids if seen[id_, True] and seen[id_, False])


def is_hung(case: Case) -> bool:
    """Whether a test was ended because it did not end by itself."""
    return case.failure is not None and case.failure.exception == HANG


def _outcomes(
    views: Views,
    critic: Critic,
    ids: Sequence[str],
    ask: Ask,
    *,
    before: Counter[tuple[str, bool]] | None = None,
    patch: Patch = Patch(),
) -> Counter[tuple[str, bool]]:
    """How often each of `ids` passed (True) and failed, until it is known what it does; `before`: so far."""
    seen = Counter(before or {})
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for _ in range(PASSED_AGAIN):
            open_ = [id_ for id_ in ids if _is_open(seen, id_)]
            if not open_:
                break
            wanted = max(_missing(seen, id_) for id_ in open_)
            asks = [replace(ask, tests=tuple(open_)) for _ in range(min(SIDE_BY_SIDE, wanted))]
            for check in pool.map(lambda one: _run(views, critic, patch, one), asks):
                _count(seen, open_, check)
    return seen


def _run(views: Views, critic: Critic, patch: Patch, ask: Ask) -> Check:
    """A run without any verdict says nothing of any test."""
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
    """Runs that are missing until a test that has done one thing only is taken to do it always."""
    return (PASSED_AGAIN if seen[id_, True] else FAILED_AGAIN) - seen[id_, True] - seen[id_, False]


def _passing(ids: Sequence[str], again: Check) -> frozenset[str]:
    return frozenset(id_ for id_ in ids if id_ in again.cases and not again.cases[id_].status.bad)
