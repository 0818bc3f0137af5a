"""Judge proposed edits in the pool: run failing tests first, then the tests that reach the edit, then all."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coderefine.core import Status
from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.enumeration import Proposed
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.cold_pool import AnyPool

MOST_FIRST = 3
"""Number of failing tests that run on every candidate; the others run only if these pass."""
LEAST_GRACE, MOST_GRACE, GRACE_SHARE = 1.5, 3.0, 0.3
"""After the first repair the search continues for GRACE_SHARE of the time so far, within these bounds in seconds."""
LEAST_JUDGED, LONGEST_GRACE = 40, 8.0
"""Number of candidates to judge after the first repair, also if that takes more time, but no more seconds than these:
whether a rival is found must not depend on how busy the machine is."""
PARTIAL = 2
"""Factor of both while no repair makes all failing tests pass: one of the others may complete it."""
DOUBT, FEW = 3.0, 0.5
"""Least additional seconds: to find a better repair when there is evidence against the best one, and to find rivals of
one that few tests reach."""
MORE_JUDGED = 160
"""Number of candidates that are judged in this additional time, also if it takes LONGEST_GRACE more seconds."""
EXACT = 0.35
"""Share of the judging time for candidates that failed while only what the tests call was changed: they are judged once
more after a fresh import, which takes several times as long."""
MOSTLY = 3
"""Where there is no other repair, one counts that repairs at least this many times as many tests as run its statement
and still fail: these may fail for another reason, such as the version of a dependency."""
MOST_SEEDS, MOST_RIVALS = 40, 8
"""Number of confirmed partial repairs kept for combining, and of rival repairs of the same tests kept for comparing."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A proposal that passed the tests. `fixed`: the failing tests that it makes pass; `whole`: whether these are all.

    `second`: the other proposal, if two were combined; `parts`: the tests that each of the two makes pass alone.
    `former`: the earlier state of its lines that it restores, see `past.former`; "" for none.
    """

    proposed: Proposed
    fixed: frozenset[str]
    whole: bool
    at: float
    files: Mapping[str, bytes] = field(default_factory=dict)
    second: Proposed | None = None
    parts: tuple[frozenset[str], ...] = ()
    former: str = ""


@dataclass(slots=True)
class Clock:
    """Measures the seconds since the start, and those left until the time limit."""

    limit: float
    began: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        return self.limit - self.spent


Covering = Callable[[Proposed], frozenset[str]]
"""Failing tests that the statement of a proposal may explain."""


class Trial:
    """Judges the proposals for one tree. `tried`: number of candidates given to the pool; `judged`: of answers."""

    def __init__(
        self,
        pool: AnyPool,
        failing: Sequence[str],
        clock: Clock,
        tell: Callable[[int, int], None],
        covering: Covering,
        *,
        fastest: str = "hot",
        prefer: Callable[[Site], None] = lambda _: None,
    ) -> None:
        """Create a trial. `prefer`: called with the site of the first repair, near which its rivals are likely."""
        self._fastest = fastest
        self._prefer = prefer
        self.pool = pool
        self._failing = tuple(failing)
        self.clock = clock
        self._tell = tell
        self._covering = covering
        self._seeds: list[Repair] = []
        self._given: dict[int, tuple[Proposed, dict[str, bytes]]] = {}
        self._waiting: list[tuple[int, frozenset[str], bool]] = []
        """Partial repairs: number, repaired tests, and whether all tests that reach the edit have run."""
        self._deferred: deque[Candidate] = deque()
        """Candidates to be judged once more, see EXACT."""
        self._hot, self._slow = 0.0, 0.0
        """Seconds of the judging so far: of hot servers, and of fresh imports."""
        self.repairs: list[Repair] = []
        self.first_judged: float | None = None
        """Seconds on the clock when the first candidate was judged."""
        self.tried = self.judged = self._before = 0
        self.frontier = math.inf
        """The lowest score of a proposal so far; the last one's depends on how many near the first repair are tried."""
        self._shown = 0.0
        self._more, self._least, self._longest = 0.0, LEAST_JUDGED, LONGEST_GRACE

    def go_on(self, proposals: Iterator[Proposed], seconds: float) -> None:
        """Continue the search for at least `seconds` and MORE_JUDGED candidates."""
        since = self.clock.spent - self.repairs[0].at
        self._more, self._longest = since + seconds, since + LONGEST_GRACE
        self._least = self.judged - self._before + MORE_JUDGED
        self.run(proposals)

    def run(self, proposals: Iterator[Proposed]) -> None:
        """Judge `proposals` until the extra time after the first repair is over, or time or proposals run out."""
        first, several = self._failing[:MOST_FIRST], len(self._failing) > 1
        plan = Plan(first=first, keep_going=several, fastest=self._fastest, many=True)
        more = True
        while more and not self._over():
            feed = _Feed(self, proposals)
            for judged in self.pool.judge(feed, plan):
                self._note(judged)
                if self.clock.left <= 0:
                    break
            more = not feed.empty or bool(self._deferred)
            self._confirm()

    def _over(self) -> bool:
        if self.clock.left <= 0:
            return True
        if not self.repairs:
            return False
        first = self.repairs[0].at
        since = self.clock.spent - first
        times = 1 if any(repair.whole for repair in self.repairs) else PARTIAL
        if self.judged - self._before < times * self._least:
            return since > max(self._more, times * self._longest)
        return since > max(self._more, min(MOST_GRACE, max(LEAST_GRACE, GRACE_SHARE * first)))

    def candidate(self, proposed: Proposed) -> Candidate | None:
        """Convert the proposal to a candidate; None if the file's encoding cannot represent it."""
        try:
            data = proposed.scored.site.module.source.encode(proposed.text)
        except UnicodeEncodeError:
            return None
        self.tried += 1
        self.frontier = min(self.frontier, proposed.scored.score)
        self._given[self.tried] = (proposed, {proposed.path: data})
        return Candidate(self.tried, {proposed.path: data}, rough=True)

    def again(self, *, only: bool) -> Candidate | None:
        """Return the next candidate to be judged once more, None if it is not its turn. `only`: no others are left."""
        if self._deferred and (only or self._slow <= EXACT * (self._slow + self._hot)):
            return self._deferred.popleft()
        return None

    def _note(self, judged: Judged) -> None:
        if self.first_judged is None:
            self.first_judged = self.clock.spent
        self.judged += judged.candidate.rough  # not once more
        self._slow += judged.seconds * bool(judged.slow)
        self._hot += judged.seconds * (not judged.slow)
        number = judged.candidate.number
        fixed = self._partly(judged)
        if judged.plausible and len(fixed) == len(self._failing):
            proposed, files = self._given[number]
            self._add(Repair(proposed, frozenset(self._failing), whole=True, at=self.clock.spent, files=files))
        elif fixed:
            self._waiting.append((number, fixed, judged.plausible))
        elif judged.rough and not judged.slow and not judged.hung:
            self._deferred.append(replace(judged.candidate, rough=False))
        else:
            self._given.pop(number, None)
        if self.clock.spent - self._shown > 0.2:
            self._shown = self.clock.spent
            self._tell(self.tried, sum(repair.whole for repair in self.repairs))

    def _partly(self, judged: Judged) -> frozenset[str]:
        """Return the repaired tests; empty if another test failed.

        A test module that could not be imported has no status once it can be.
        """
        if any(status.bad and name not in self._failing for name, status in judged.statuses.items()):
            return frozenset()
        ended = judged.plausible or judged.statuses
        imported = {name: Status.PASSED for name in self._failing if "::" not in name} if ended else {}
        found = {**imported, **judged.statuses}
        return frozenset(name for name in self._failing if found.get(name) is Status.PASSED)

    @property
    def pausing(self) -> bool:
        """Return whether to pause: partial repairs have to be confirmed, or the search is over."""
        return bool(self._waiting) or self._over()

    def _confirm(self) -> None:
        """Run all tests on a few rivals, and on partial repairs of tests that no confirmed repair makes pass."""
        waiting, self._waiting = self._waiting, []
        for number, fixed, confirmed in waiting:
            proposed, files = self._given.pop(number)
            if self.clock.left <= 0 or not self._wanted(fixed):
                continue
            if confirmed:
                self._seed(Repair(proposed, fixed, whole=False, at=self.clock.spent, files=files))
                continue
            plan = Plan(first=tuple(sorted(fixed)), then=None, known=frozenset(self._failing) - fixed)
            for judged in self.pool.judge([Candidate(number, files)], plan):
                if judged.plausible:
                    passed = frozenset(name for name in self._failing if judged.statuses.get(name) is Status.PASSED)
                    self._seed(Repair(proposed, passed, whole=False, at=self.clock.spent, files=files))

    def _wanted(self, fixed: frozenset[str]) -> bool:
        """Return whether another partial repair of `fixed` is useful: for combining, or as a rival of another one."""
        if any(fixed <= seed.fixed for seed in self._seeds):
            return sum(repair.fixed == fixed for repair in self.repairs) in range(1, MOST_RIVALS)
        return len(self._seeds) < MOST_SEEDS

    def _seed(self, seed: Repair) -> None:
        """Store a confirmed partial repair, and combine it with those stored before."""
        if not any(seed.fixed <= other.fixed for other in self._seeds):
            for other in self._seeds:
                self._compose(other, seed)
            self._seeds.append(seed)
        if self._covering(seed.proposed) <= seed.fixed:  # else the same place still fails otherwise: a lucky edit
            self._add(seed)

    def fall_back(self) -> None:
        """If there is no repair, accept edits that repair most of the failing tests that run their statement."""
        for seed in self._seeds if not self.repairs else ():
            if MOSTLY * len(self._covering(seed.proposed) - seed.fixed) <= len(seed.fixed):
                self.repairs.append(seed)

    def _add(self, repair: Repair) -> None:
        """Store a repair; the rivals of the first that repairs all tests are likely near it.

        Near one that repairs only some, the search would find more of the same, and later what completes it.
        """
        if not self.repairs:
            self._before = self.judged
        if repair.whole and not any(other.whole for other in self.repairs):
            self._prefer(repair.proposed.scored.site)
        self.repairs.append(repair)

    def _compose(self, one: Repair, two: Repair) -> None:
        """Combine two partial repairs, of different faults with different tests, into one candidate."""
        files = merged(one, two)
        if files is None or one.fixed <= two.fixed or two.fixed <= one.fixed:
            return
        for judged in self.pool.judge([Candidate(0, files)], Plan(first=self._failing)):
            if judged.plausible:
                self._add(
                    Repair(
                        one.proposed,
                        frozenset(self._failing),
                        whole=True,
                        at=self.clock.spent,
                        files=files,
                        second=two.proposed,
                        parts=(one.fixed, two.fixed),
                    )
                )


def passing(pool: AnyPool, repairs: Sequence[Repair], tests: Sequence[str], clock: Clock) -> list[Repair]:
    """Return those of `repairs` with which `tests` pass; those that are not judged in time are kept."""
    candidates = (Candidate(at, repair.files) for at, repair in enumerate(repairs) if clock.left > 0)
    judged = pool.judge(candidates, Plan(first=tuple(tests), known=pool.unfit))
    wrong = {one.candidate.number for one in judged if not one.plausible}
    return [repair for at, repair in enumerate(repairs) if at not in wrong]


def merged(one: Repair, two: Repair) -> dict[str, bytes] | None:
    """Return the files with both edits applied; None if these overlap."""
    first, second = one.proposed, two.proposed
    if first.path != second.path:
        return {**one.files, **two.files}
    module = first.scored.site.module
    parts = sorted((*first.scored.edit.parts, *second.scored.edit.parts), key=lambda part: part.start)
    if any(left.end > right.start or left.start == right.start for left, right in itertools.pairwise(parts)):
        return None
    try:
        return {first.path: module.source.encode(apply(module.text, Edit(tuple(parts))))}
    except UnicodeEncodeError:
        return None


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
