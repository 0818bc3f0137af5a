"""Judge proposed edits in the pool: run failing tests first, then tests that reach the edit, and costly tests last."""

from __future__ import annotations

import ast
import itertools
import math
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from coderefine.core import Status, without_parameters
from coderefine.proposers.search.conventions import improvement
from coderefine.proposers.search.emit import apply, lines_of
from coderefine.proposers.search.enumeration import Proposed, shifted
from coderefine.proposers.search.failures import MOST_FIRST
from coderefine.proposers.search.normal_form import normalised
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Function
from coderefine.proposers.search.value_kinds import names_of
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.cold_pool import AnyPool
from coderefine.source import first_line

LEAST_GRACE, MOST_GRACE, GRACE_SHARE = 1.5, 3.0, 0.3
"""After a repair of tests that no earlier repair makes pass, the search continues for GRACE_SHARE of the time so far,
but for at least LEAST_GRACE and at most MOST_GRACE seconds."""
LEAST_JUDGED, LONGEST_GRACE = 40, 8.0
"""Minimum number of candidates that are judged after such a repair (see LEAST_GRACE), within LONGEST_GRACE seconds:
whether a rival is found must not depend on how busy the machine is."""
UNEXPLAINED, LONGER, MOST_FAULTS = 8, 3, 6
"""UNEXPLAINED, LONGER: factors of LEAST_JUDGED and of LONGEST_GRACE for each test function that still fails with every
known repair, because each may have a different fault. MOST_FAULTS: maximum number of test functions that count."""
DOUBT, FEW = 3.0, 0.5
"""Minimum additional seconds of the search: DOUBT if there is evidence against the best repair, FEW if few tests reach
a repair, which probably has rivals."""
MORE_JUDGED = 160
"""Minimum number of candidates that are judged in the additional time (DOUBT or FEW), within LONGEST_GRACE seconds."""
EXACT = 0.35
"""Share of the judging time for judging candidates once more, after a fresh import. This takes several times as long,
and is done for candidates that failed while only their functions were replaced."""
IMPORTED = "ran while the project was imported"
"""End of `Judged.slow` if a candidate changes a function that ran at import (see agent/code_diff.py)."""
AT_IMPORT, PASSED_OVER = 0.6, 1.0
"""A candidate that changes a function which ran at import takes a hundred times as long as another candidate. Such a
candidate is put off while candidates that the hot server cannot judge have had more than the share AT_IMPORT of the
judging time, unless the last candidate was given to the pool at least PASSED_OVER seconds ago."""
MEASURING = 0.1
"""Share of the time limit that is kept, once there is a repair, for comparing the repairs and judging mutants: a repair
whose tests are not known to notice small mistakes would only be offered."""
MOST_LEFT = 3
"""A repair is held back if other failing tests run its statement. At the end it is added nevertheless if these tests
are at most MOST_LEFT times as many as the tests that the repair makes pass: they may fail because of another fault, or
of a dependency's version."""
MOST_EVERY = 300
"""Maximum number of tests that run first on a candidate if a failing test fails only after other tests."""
ENOUGH = 20
"""Number of repairs of all failing tests after which the additional time is only LEAST_GRACE: the tests distinguish too
little."""
LATER, PORTION, LATEST = 0.5, 0.5, 10.0
"""If the costly tests (see `Pool.costly`) take more than LATER seconds together, they run only at the end of a search:
on the repairs found, best first, for at most LATEST seconds. The tests are divided into portions of PORTION seconds, so
that all workers have work."""
MOST_SEEDS, MOST_RIVALS = 40, 8
"""Maximum number of confirmed partial repairs that are kept for combining, and of repairs of the same tests that are
kept for comparing."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A proposal that makes failing tests pass, and breaks no test.

    `fixed`: the failing tests that it makes pass; `whole`: whether these are all failing tests. `files`: the new
    content of the changed files. `second`: the other proposal, if two were combined; `parts`: the tests that each of
    these two makes pass alone. `former`: the past change that it undoes, see `past.former`; "" for none. `ignores`:
    whether the changed function ignores a parameter, or returns a constant in place of a computed value. `meaning`: the
    changed function as returned by `normal_form.normalised`; "" if unknown. `ordinary`: 1 if fewer places of the
    function are odd after the repair, -1 if more are, else 0; see `conventions.improvement`.
    """

    proposed: Proposed
    fixed: frozenset[str]
    whole: bool
    files: Mapping[str, bytes] = field(default_factory=dict)
    second: Proposed | None = None
    parts: tuple[frozenset[str], ...] = ()
    former: str = ""
    ignores: bool = False
    meaning: str = ""
    ordinary: int = 0

    @property
    def edits(self) -> list[Proposed]:
        return [one for one in (self.proposed, self.second) if one is not None]


@dataclass(slots=True)
class Clock:
    """Measures the seconds since the start, and the seconds left until the time limit."""

    limit: float
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        return self.limit - self.spent


Covering = Callable[[Proposed], frozenset[str]]
"""A function that returns the failing tests which the statement of a proposal may explain."""
First = Callable[[Proposed], tuple[str, ...]]
"""A function that returns the failing tests which run first on a proposal; the other tests run only if these pass."""


class Trial:
    """Judges the proposals for one tree.

    `tried`: number of proposals that became candidates.
    """

    def __init__(
        self,
        pool: AnyPool,
        failing: Sequence[str],
        clock: Clock,
        report: Callable[[int, int], None],
        covering: Covering,
        *,
        first: First = lambda _: (),
        fastest: str = "hot",
        prefer: Callable[[Site], None] = lambda _: None,
        failed: set[int] | None = None,
    ) -> None:
        """Create a trial.

        `failing`: the tests to repair. `report`: called with the numbers of tried candidates and of repairs. `prefer`:
        called with the site of the first repair, near which its rivals are likely. `failed`: keys of proposals that are
        not judged; the keys of proposals that fail are added. `fastest`: see Plan.
        """
        self._failed = set[int]() if failed is None else failed
        self._fastest = fastest
        self._prefer = prefer
        self.pool = pool
        self._failing = tuple(failing)
        self.clock = clock
        self._report = report
        self._covering = covering
        self._first = first
        self._seeds: list[Repair] = []
        self._held: list[Repair] = []
        """Confirmed partial repairs that are held back: other failing tests that run their statement still fail."""
        self._elsewhere: dict[int, frozenset[str]] = {}
        """By `id()` of a partial repair, the tests that it makes pass when it is combined with another repair."""
        self._explained: frozenset[str] = frozenset()
        """Failing tests that some repair makes pass."""
        self._since = 0.0
        """Seconds on the clock when tests were last added to `_explained`."""
        self._given: dict[int, tuple[Proposed, dict[str, bytes]]] = {}
        self._waiting: list[tuple[Candidate, frozenset[str], bool]] = []
        """Candidates to be confirmed: each with the tests that it repairs, and whether all tests that reach the edit
        have run."""
        self._alone: dict[tuple[str, ...], frozenset[str]] = {}
        """For each set of tests that ran without other tests on the unchanged tree: the failing tests that passed."""
        self._dependent = False
        """Whether some failing tests pass if other tests do not run (see `_alone`): they fail because of state that
        other tests leave."""
        self._late = late_tests(pool, self._failing)
        """The passing tests that run only at the end, in portions."""
        late = frozenset(itertools.chain.from_iterable(self._late))
        self._then = tuple(name for name in (*pool.tests, *pool.broken) if name not in late) if late else None
        """The tests that candidates have to pass during the search; None for all."""
        self._passed = set[tuple[int, tuple[str, ...]]]()
        """Pairs of a repair's `id()` and a portion of `_late` that passed with the repair."""
        self._every = tuple(pool.tests[:MOST_EVERY])
        """The tests that run first on candidates if `_dependent`: all (up to MOST_EVERY), in one process, as in a cold
        run."""
        self._deferred: deque[Candidate] = deque()
        """Candidates to be judged once more, see EXACT, or later, see AT_IMPORT."""
        self._imported = set[Function | None]()
        """Functions that ran while the project was imported."""
        self._hot, self._slow, self._given_at = 0.0, 0.0, 0.0
        """Seconds of judging so far: by the hot server, and in other ways, such as after a fresh import; and seconds on
        the clock when the last new candidate was given to the pool."""
        self.repairs: list[Repair] = []
        self.first_judged: float | None = None
        """Seconds on the clock when the first candidate was judged."""
        self.tried = self._before = 0
        self.frontier = math.inf
        """The lowest score of a proposal so far; later proposals may have higher scores (see `prefer`)."""
        self._shown = 0.0
        self._more, self._least, self._longest = 0.0, LEAST_JUDGED, LONGEST_GRACE

    @property
    def _begun(self) -> int:
        """Return the number of candidates that were given to the pool; `rough` ones are put off before they are judged.

        Verdicts are not counted: the pool withholds those on candidates that hang until its plan ends.
        """
        return self.tried - sum(candidate.rough for candidate in self._deferred)

    @property
    def _left(self) -> float:
        """Return the seconds left for judging candidates, see MEASURING."""
        return self.clock.left - MEASURING * self.clock.limit * bool(self.repairs)

    def extend(self, proposals: Iterator[Proposed], seconds: float) -> bool:
        """Continue for at least `seconds` and MORE_JUDGED further candidates; return whether more repairs were found.

        The candidates may take up to LONGEST_GRACE seconds.
        """
        since, known = self.clock.spent - self._since, len(self.repairs)
        self._more, self._longest = since + seconds, since + LONGEST_GRACE
        self._least = self._begun - self._before + MORE_JUDGED
        self.run(proposals)
        return len(self.repairs) > known

    def run(self, proposals: Iterator[Proposed]) -> None:
        """Judge `proposals` until they or the time run out, or the extra time after a repair is over (LEAST_GRACE).

        Then run the tests that were left out so far on the repairs, best first. If no repair passes these tests, judge
        further proposals.
        """
        self._judge(proposals)
        self._leave_rest_for_the_end()
        while self._late and self.repairs and self._drop_wrong() and not self.repairs:
            self._judge(proposals)

    def _leave_rest_for_the_end(self) -> None:
        """If there is a repair, run the tests that there was no time to trace; add those that pass to the late tests.

        Otherwise a repair that breaks such a test would be refused only by the proof, after a run of the whole suite.
        """
        if self.repairs and self.clock.left > 0:
            rest = self.pool.observe_rest(self._failing, min(LATEST, self.clock.left) / 2)
            self._late += portions(rest)
            if rest:
                tests = (*self.pool.tests, *self.pool.broken) if self._then is None else self._then
                self._then = tuple(name for name in tests if name not in rest)

    def _drop_wrong(self) -> bool:
        """Run the late tests on the repairs, best first, while there is time; drop repairs with which a test fails.

        Return whether repairs were dropped.
        """
        until = time.monotonic() + min(LATEST, self.clock.left)
        best = sorted(self.repairs, key=lambda repair: -repair.proposed.scored.score)
        # All repairs run the first portion before any runs the second: most wrong ones fail in it, and the final proof
        # runs all tests on the best one anyway.
        runs = [(repair, part) for part in self._late for repair in best if (id(repair), part) not in self._passed]
        plan, before = Plan(then=(), known=self.pool.unfit, ends=until + PORTION), len(self.repairs)
        for repair, part, passed in outcomes(self.pool, runs, plan, lambda: time.monotonic() < until):
            if passed:
                self._passed.add((id(repair), part))
            else:
                self._failed.add(repair.proposed.key)
                self.repairs = [other for other in self.repairs if other is not repair]
        self._explained = frozenset().union(*(repair.fixed for repair in self.repairs))
        return len(self.repairs) < before

    def _judge(self, proposals: Iterator[Proposed]) -> None:
        """Judge `proposals`, see `run`."""
        several = len(self._failing) > 1
        first = self._failing[:MOST_FIRST]
        plan = Plan(first, then=self._then, keep_going=several, fastest=self._fastest, many=True)
        more = True
        while more and not self._over():
            feed = _Feed(self, proposals)
            for judged in self.pool.judge(feed, plan):
                self._note(judged)
                if self._left <= 0:
                    break
            more = not feed.empty or bool(self._deferred)
            self._confirm()

    def _over(self) -> bool:
        """Return whether time is over, or enough time and candidates were spent since `_explained` last grew.

        For the limits, see LEAST_GRACE and the constants below it.
        """
        if self._left <= 0:
            return True
        if not self.repairs:
            return False
        since = self.clock.spent - self._since
        if sum(repair.whole for repair in self.repairs) >= ENOUGH:
            return since > LEAST_GRACE
        left = {without_parameters(name) for name in self._failing if name not in self._explained}
        faults = min(MOST_FAULTS, len(left))
        if self._begun - self._before < (faults * UNEXPLAINED or 1) * self._least:
            return since > max(self._more, (faults * LONGER or 1) * self._longest)
        return since > max(self._more, min(MOST_GRACE, max(LEAST_GRACE, GRACE_SHARE * self._since)))

    def candidate(self, proposed: Proposed) -> Candidate | None:
        """Convert the proposal to a candidate.

        Return None if it failed before, if the file's encoding cannot represent it, or if it is put off, see AT_IMPORT.
        """
        if proposed.key in self._failed:
            return None
        try:
            data = proposed.scored.site.module.source.encode(proposed.text)
        except UnicodeEncodeError:
            return None
        self.tried += 1
        self.frontier = min(self.frontier, proposed.scored.score)
        self._given[self.tried] = (proposed, {proposed.path: data})
        first = self._every if self._dependent else self._first(proposed)
        candidate = Candidate(self.tried, {proposed.path: data}, rough=True, first=first)
        slow = proposed.scored.site.local.function in self._imported and not self._is_time_for_slow(AT_IMPORT)
        if slow and self.clock.spent - self._given_at < PASSED_OVER:
            self._deferred.append(candidate)
            return None
        self._given_at = self.clock.spent
        return candidate

    def _is_time_for_slow(self, share: float) -> bool:
        """Return whether candidates that need a fresh import have had at most this share of the judging time."""
        return self._slow <= share * (self._slow + self._hot)

    def again(self, *, only: bool) -> Candidate | None:
        """Return the next candidate in `_deferred`; None if there is none, or if new candidates have priority.

        `only`: whether there are no new candidates.
        """
        if self._deferred and (only or self._is_time_for_slow(EXACT)):
            return self._deferred.popleft()
        return None

    def _note(self, judged: Judged) -> None:
        """Process a verdict: keep the candidate for `_confirm`, put it off for a fresh import, or reject it."""
        self._time(judged)
        number = judged.candidate.number
        fixed = self._partly(judged)
        if fixed or (judged.plausible and not self._failing):  # if nothing can be collected, no test has an id
            self._waiting.append((judged.candidate, fixed, judged.plausible))
        elif judged.rough and not judged.slow and not judged.hung:
            self._deferred.append(replace(judged.candidate, rough=False))
        elif number in self._given:
            self._failed.add(self._given.pop(number)[0].key)
        if self.clock.spent - self._shown > 0.2:
            self._shown = self.clock.spent
            self._report(self.tried, sum(repair.whole for repair in self.repairs))

    def _time(self, judged: Judged) -> None:
        """Add the candidate's seconds to one of two sums.

        `_hot` is for candidates that the hot server judged, `_slow` for candidates that needed, for example, a fresh
        import. If a candidate needed a fresh import because its function ran at import, record the function.
        """
        self.first_judged = self.clock.spent if self.first_judged is None else self.first_judged
        given = self._given.get(judged.candidate.number)
        if given and judged.slow.endswith(IMPORTED):
            self._imported.add(given[0].scored.site.local.function)
        if judged.slow:
            self._slow += judged.seconds
        else:
            self._hot += judged.seconds

    def _partly(self, judged: Judged) -> frozenset[str]:
        """Return those tests in `_failing` that the candidate makes pass; none if any other test fails.

        A test module that could not be imported has an entry in `_failing`, but no status once it can be imported. Then
        it counts as repaired.
        """
        if any(status.bad and name not in self._failing for name, status in judged.statuses.items()):
            return frozenset()
        ended = judged.plausible or judged.statuses
        imported = {name: Status.PASSED for name in self._failing if "::" not in name} if ended else {}
        found = {**imported, **judged.statuses}
        return frozenset(name for name in self._failing if found.get(name) is Status.PASSED)

    @property
    def pausing(self) -> bool:
        """Return whether to stop for now: some candidates have to be confirmed, or the search is over."""
        return bool(self._waiting) or self._over()

    def _confirm(self) -> None:
        """Store the waiting candidates that are known to pass all tests; confirm the others that `_wanted` selects.

        A test may fail only because of state that other tests leave: it passes on the unchanged tree if only the first
        tests of a candidate run. If the candidate repairs such a test, this result does not count. The candidate is
        then judged once more, and the tests `_every` run first.
        """
        waiting, self._waiting = self._waiting, []
        for candidate, fixed, reached in waiting:
            if self.clock.left > 0 and self._passing_alone(candidate.first) & fixed:
                if candidate.first != self._every:
                    self._deferred.append(replace(candidate, first=self._every, rough=False))
                continue
            proposed, files = self._given.pop(candidate.number)
            whole = len(fixed) == len(self._failing)
            repair = Repair(proposed, fixed, whole, files=files)
            complete = reached or candidate.first == self._every == tuple(self.pool.tests)
            if complete and whole:
                self._add(repair)
            elif self.clock.left > 0 and self._wanted(fixed):
                self._confirm_partial(repair, complete=complete)

    def _confirm_partial(self, repair: Repair, *, complete: bool) -> None:
        """Store a repair as partial if it passes all tests that reach it. `complete`: whether these ran already."""
        if complete:
            self._seed(repair)
            return
        fixed = repair.fixed
        plan = Plan(first=tuple(sorted(fixed)), then=self._then, known=frozenset(self._failing) - fixed)
        for judged in self.pool.judge([Candidate(0, repair.files)], plan):
            if judged.plausible:
                passed = frozenset(name for name in self._failing if judged.statuses.get(name) is Status.PASSED)
                self._seed(replace(repair, fixed=passed, whole=False))

    def _passing_alone(self, first: tuple[str, ...]) -> frozenset[str]:
        """Return the failing tests that pass on the unchanged tree if only the tests `first` run."""
        tests = first or self._failing[:MOST_FIRST]
        if tests not in self._alone:
            plan = Plan(first=tests, then=(), keep_going=True, retry=0.0, fastest=self._fastest)
            statuses = [one.statuses for one in self.pool.judge([Candidate(0, {})], plan)]
            passed = frozenset(name for found in statuses for name, one in found.items() if one is Status.PASSED)
            self._alone[tests] = passed.intersection(self._failing)
            self._dependent = self._dependent or bool(self._alone[tests])
        return self._alone[tests]

    def _wanted(self, fixed: frozenset[str]) -> bool:
        """Return whether one more partial repair of `fixed` is useful: for combining, or as a rival."""
        if any(fixed <= seed.fixed for seed in self._seeds):
            return sum(repair.fixed == fixed for repair in (*self.repairs, *self._held)) in range(1, MOST_RIVALS)
        return len(self._seeds) < MOST_SEEDS

    def _seed(self, seed: Repair) -> None:
        """Store a confirmed partial repair, and judge it together with partial repairs stored before.

        If other failing tests run the repaired statement, the repair probably passes by chance. It is then held back,
        unless these tests pass when it is combined with another repair.
        """
        new = not any(seed.fixed <= other.fixed for other in self._seeds)
        others = [*self._seeds, *(held for held in self._held if held not in self._seeds)]
        for other in others if new or not self._covering(seed.proposed) <= seed.fixed else ():
            self._compose(other, seed, new=new)
        if new:
            self._seeds.append(seed)
        self._held.append(seed)
        self._release()

    def _release(self) -> None:
        """Add held-back repairs if all failing tests that run their statement pass with them, alone or combined."""
        for held in self._held.copy():
            if self._covering(held.proposed) <= held.fixed | self._elsewhere.get(id(held), frozenset()):
                self._held = [one for one in self._held if one is not held]
                self._add(held)

    def fall_back(self) -> None:
        """Add held-back repairs of tests that no added repair makes pass, see MOST_LEFT.

        Most such repairs are only offered.
        """
        held = sorted(self._held, key=lambda repair: (-len(repair.fixed), -repair.proposed.scored.score))
        for repair in held:
            failing = self._covering(repair.proposed) - repair.fixed
            if not repair.fixed <= self._explained and len(failing) <= MOST_LEFT * len(repair.fixed):
                self._held = [one for one in self._held if one is not repair]
                self.repairs.append(repair)

    def _add(self, repair: Repair) -> None:
        """Store a repair; if it is the first that repairs all tests, prefer edits near it, which are likely rivals.

        After a partial repair, no edits are preferred: edits near it would mostly repair the same tests again, and
        delay the repairs of the other tests.
        """
        if not self.repairs or not repair.fixed <= self._explained:
            self._explained |= repair.fixed
            self._before, self._since = self._begun, self.clock.spent
        if repair.whole and not any(other.whole for other in self.repairs):
            self._prefer(repair.proposed.scored.site)
        self.repairs.append(repair)

    def _compose(self, one: Repair, two: Repair, *, new: bool) -> None:
        """Judge two partial repairs together, if each makes a test pass that the other does not.

        If the combination passes, record its tests in `_elsewhere`. Store it if it makes all failing tests pass and if
        `new` is true. `new`: whether no partial repair stored before makes all tests of `two` pass.
        """
        files = merged([*one.edits, *two.edits])
        if files is None or one.fixed <= two.fixed or two.fixed <= one.fixed:
            return
        both = one.fixed | two.fixed
        plan = Plan(first=tuple(sorted(both)), then=self._then, known=frozenset(self._failing) - both)
        for judged in self.pool.judge([Candidate(0, files)], plan):
            if not judged.plausible:
                continue
            for repair in (one, two):
                self._elsewhere[id(repair)] = self._elsewhere.get(id(repair), frozenset()) | both
            if new and both.issuperset(self._failing):
                self._add(
                    Repair(
                        one.proposed,
                        frozenset(self._failing),
                        whole=True,
                        files=files,
                        second=two.proposed,
                        parts=(one.fixed, two.fixed),
                    )
                )


def late_tests(pool: AnyPool, failing: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the costly tests, in portions, without the `failing` ones; [] if they take at most LATER seconds."""
    costly = {name: seconds for name, seconds in pool.costly.items() if name not in failing}
    return portions(costly) if sum(costly.values()) > LATER else []


def portions(tests: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Divide `tests` (name -> seconds) into portions; a portion is full as soon as it takes PORTION seconds."""
    found: list[list[str]] = []
    room = 0.0
    for name, seconds in tests.items():
        if room <= 0.0:
            found.append([])
            room = PORTION
        found[-1].append(name)
        room -= seconds
    return list(map(tuple, found))


def passing(
    pool: AnyPool, repairs: Sequence[Repair], tests: Sequence[str], clock: Clock, failing: AbstractSet[str]
) -> list[Repair]:
    """Run `tests`, then the other tests that reach the edit, on each repair; return the repairs without a failure.

    Repairs that are not judged in time are returned, too. `failing`: tests that may fail.
    """
    pool.observe((), tests)
    runs = [(repair, tuple(tests)) for repair in repairs]
    found = outcomes(pool, runs, Plan(known=pool.unfit | failing), lambda: clock.left > 0)
    wrong = {id(repair) for repair, _, passed in found if not passed}
    return [repair for repair in repairs if id(repair) not in wrong]


def outcomes(
    pool: AnyPool, runs: Sequence[tuple[Repair, tuple[str, ...]]], plan: Plan, is_time: Callable[[], bool]
) -> Iterator[tuple[Repair, tuple[str, ...], bool]]:
    """Run tests on repairs as long as `is_time()`; yield (repair, its tests, whether all tests passed).

    `runs`: repairs with the tests that run first on them; for further tests see `plan`. Once a test has failed with a
    repair, further runs of the repair are left out.
    """
    wrong = set[int]()
    candidates = (
        Candidate(at, repair.files, first=tests)
        for at, (repair, tests) in enumerate(runs)
        if id(repair) not in wrong and is_time()
    )
    for judged in pool.judge(candidates, plan):
        repair, tests = runs[judged.candidate.number]
        if not judged.plausible:
            wrong.add(id(repair))
        yield repair, tests, judged.plausible


def merged(edits: Sequence[Proposed]) -> dict[str, bytes] | None:
    """Apply all `edits` of one tree together; return the new content of the changed files by path.

    Return None if edits overlap or begin at the same offset, or if the result cannot be encoded.
    """
    by_path: dict[str, list[Proposed]] = {}
    for proposed in edits:
        by_path.setdefault(proposed.path, []).append(proposed)
    files = {}
    for path, members in by_path.items():
        module = members[0].scored.site.module
        parts = sorted((part for one in members for part in one.scored.edit.parts), key=lambda part: part.start)
        if any(left.end > right.start or left.start == right.start for left, right in itertools.pairwise(parts)):
            return None
        try:
            files[path] = module.source.encode(apply(module.text, Edit(tuple(parts))))
        except UnicodeEncodeError:
            return None
    return files


def beside(accepted: Sequence[Repair], repairs: Sequence[Repair]) -> dict[int, Repair]:
    """Return the `repairs` that can be applied after `accepted`, with the edits of `accepted` added.

    The keys are the `id()` of the given repairs.
    """
    edits = [edit for repair in accepted for edit in repair.edits]
    texts = ((repair, merged([*edits, *repair.edits])) for repair in repairs)
    return {id(repair): replace(repair, files=files) for repair, files in texts if files is not None}


def described(repair: Repair) -> Repair:
    """Return `repair` with values for its fields `ignores`, `meaning` and `ordinary`.

    The latter two keep their defaults if the repair has a second edit, or if its edit is not inside of one function.
    """
    after = _edited(repair.proposed)
    repair = replace(repair, ignores=_ignores(repair.proposed, after))
    if after is None or repair.second is not None:
        return repair
    site = repair.proposed.scored.site
    ordinary = improvement(site.local.function or site.stmt, after, site.world)
    return replace(repair, ordinary=ordinary, meaning=normalised(after))


def _ignores(proposed: Proposed, after: ast.stmt | None) -> bool:
    """Return whether the edit removes all uses of a parameter, or replaces a computed result by a constant or by None.

    A parameter whose name begins with `_` is meant to be unused, and may lose its uses.

    `after`: the function after the edit; None if it is unknown.
    """
    site = proposed.scored.site
    function = site.local.function
    if function is None or after is None:
        return False
    lost = {*names_of(function, ast.Load)} - {*names_of(after, ast.Load)}
    dropped = _computes(site.stmt) and _drops_result(function, after, site.stmt.lineno - first_line(function) + 1)
    return any(name in lost and not name.startswith("_") for name in site.local.parameters) or dropped


def _drops_result(before: ast.stmt, after: ast.stmt, line: int) -> bool:
    """Return whether an edit lost the result at this line: it left `f(x)` or `return 0` in place of `return f(x)`.

    `before`, `after`: the function before and after the edit. `line`: counted from the first line of the function.
    """
    found = [node for node in ast.walk(after) if isinstance(node, ast.Return | ast.Expr) and node.lineno == line]
    if found and isinstance(found[0], ast.Expr):
        return _returns(after) < _returns(before)
    return bool(found) and isinstance(found[0].value, ast.Constant)


def _returns(function: ast.stmt) -> int:
    return sum(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _edited(proposed: Proposed) -> ast.stmt | None:
    """Return the function that contains an edit, after the edit.

    Return None if the edit is in no function, if it changes a function's header or code outside the function, or if the
    result does not parse.
    """
    site, parts = proposed.scored.site, proposed.scored.edit.parts
    function, module = site.local.function, site.module
    if function is None or isinstance(site.stmt, Function):
        return None
    start, end = lines_of(module, function)
    if any(part.start < start or part.end > end for part in parts):
        return None
    try:
        return ast.parse(textwrap.dedent(apply(module.text[start:end], shifted(parts, start)))).body[0]
    except (SyntaxError, IndexError):
        return None


def _computes(stmt: ast.stmt) -> bool:
    """Return whether a statement is a `return` whose value contains a name or a call."""
    value = stmt.value if isinstance(stmt, ast.Return) else None
    return value is not None and any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(value))


class _Feed:
    """Passes proposals to the pool one by one, until the trial has to pause."""

    def __init__(self, trial: Trial, proposals: Iterator[Proposed]) -> None:
        self._trial, self._proposals = trial, proposals
        self.empty = False

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> Candidate:
        while not self._trial.pausing:
            if (candidate := self._trial.again(only=self.empty)) is not None:
                return candidate
            if self.empty:
                break
            proposed = next(self._proposals, None)
            if proposed is None:
                self.empty = True
            elif (candidate := self._trial.candidate(proposed)) is not None:
                return candidate
        raise StopIteration
