"""Components (Parts) and state (State) of a run."""

from __future__ import annotations

import posixpath
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from coderefine import judge
from coderefine.core import (
    FIX,
    KEEPING,
    PICKED,
    PLAUSIBLE,
    Ask,
    Attempt,
    Check,
    Cost,
    Coverage,
    Critic,
    Event,
    Evidence,
    Finding,
    Freedom,
    Limits,
    Listen,
    Offer,
    Outcome,
    Patch,
    Proposer,
    Searcher,
    Severity,
    Situation,
    Stop,
    Task,
    TestRunner,
    Verdict,
    View,
    Views,
    unmatched,
)
from coderefine.judge.weakened_tests import Helpers, no_helpers
from coderefine.loop.behaviour import Behaviour
from coderefine.loop.fast_proof import WHOLE, ChosenTests, Selector
from coderefine.loop.flaky import Confirmation
from coderefine.loop.special_cases import Guard
from coderefine.loop.strength import Strength
from coderefine.runner.equivalence import Equivalence

ENDLESS, SHORTEST = 86_400.0, 60.0
MEASURING, RESERVED = 5.0, 0.25
"""Seconds reserved for measuring after the final proof; maximum share of the run's time limit that is reserved."""
SEED = 0
"""Hash seed of the baseline."""
MANY, MANY_FUNCTIONS = 20, 3
"""A default gate with more findings than this (radon: MANY_FUNCTIONS) is set aside while tests fail: to judge so many
patches takes many runs of the tests."""
LINTERS = frozenset({"autofix", "rewrite"})
"""Origins of patches that only fix lint and repair no test."""
STYLE = frozenset({"ruff", "radon"})
"""Gates whose new findings do not mean that a patch does something wrong."""


def forget(_attempt: Attempt) -> None:
    """Do not record the attempt: there is no journal, or the journal must stay as it is."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Components of a run. `original` returns the bytes of a path in the user's tree at the snapshot (None: no file).

    `reason` returns why a path may not be written (None: it may). `record` stores each attempt, refused ones too.
    `strength` measures how many mutants of a proved patch the tests kill (None: not measured).
    `behaviour` refuses patches that change behaviour (None: only the tests check this).
    `equivalence` compares the functions that patches of an origin in KEEPING edit (None: there are no such patches).
    `special` refuses patches that special-case the tests' inputs (None: not checked).
    `outside`: whether a path leads through symbolic links out of the repository; views and patches do not contain it.
    `edited`: returns the files of the user's tree that were written since a time (`time.time_ns`).
    `advice`: critics that run once all gates pass; the loop tries to clear their findings, which do not block a patch.
    `helpers`: returns the functions in a file's bytes that assert on behalf of tests; no patch may change them.
    `is_product`: whether a file exists and is no test.
    `modules`: top-level names importable in the project's environment, which no new file may shadow.
    `task`: decides when an attempt is good enough although advisers have findings left, and what may not be changed.
    `accept_plausible`: whether to apply the first plausible repair; otherwise it is only offered.
    `fast`: selects the tests of a proof (None: all of them). `default`: gates that run by default, without a request of
    the user.
    `given`: whether the first patch comes from the user. Such a patch is tried even if nothing is left to repair, and
    later patches build on it.
    `spread`: starts a critique in a thread and lets other machines run its tests (None: there are no other machines, or
    they also run the tests of proofs).
    `earlier`: attempts of the run that is resumed or replayed. Their verdicts on behaviour are used again for the same
    patches, because timing may change the result of a new comparison.
    """

    views: Views
    critics: Sequence[Critic]
    proposers: Sequence[Proposer]
    original: Callable[[str], bytes | None]
    reason: Callable[[str], str | None]
    scope: tuple[str, ...] = (".",)
    roots: tuple[str, ...] = (".", "src")
    limits: Limits = Limits()
    modules: frozenset[str] = frozenset()
    helpers: Helpers = no_helpers
    is_product: Callable[[str], bool] = lambda _path: False
    strength: Strength | None = None
    behaviour: Behaviour | None = None
    special: Guard | None = None
    equivalence: Equivalence | None = None
    listen: Listen = lambda _: None
    record: Callable[[Attempt], None] = forget
    outside: Callable[[str], bool] = lambda _: False
    edited: Callable[[int], tuple[str, ...]] = lambda _: ()
    advice: Sequence[Critic] = ()
    task: Task = FIX
    accept_plausible: bool = False
    fast: Selector | None = None
    default: frozenset[str] = frozenset()
    given: bool = False
    spread: Callable[[Callable[[], tuple[Check, ...]]], Future[tuple[Check, ...]]] | None = None
    earlier: Sequence[Attempt] = ()


@dataclass(frozen=True, slots=True)
class Ahead:
    """Checks of a patch that began before the patch's turn. `best`: number of the attempt that was the best then."""

    patch: Patch
    ask: Ask
    best: int
    checks: Future[tuple[Check, ...]]


@dataclass(slots=True)
class State:
    """State of one run, which exists only during `refine`. `attempts[n]` is attempt number n, 0 the baseline.

    By attempt number: `held`: the result of comparing the attempt's behaviour with the baseline's. `rivals`: an offer
    with the attempt's patch and the other repairs that the search found. `doubts`: why an accepted attempt may be
    wrong. `changed`: (number of calls whose result the attempt changes, number of compared calls), among the tests'
    calls and variants of them. `examined`: digests of the test files after the attempt's tests. `selected`: the test
    files chosen for its proof.

    `looked`: when the checks of the baseline began (`time.time_ns`). `loose`: cost that belongs to no attempt.
    `freedom`: permissions of the attempts' tests, see Ask; `bears`: tests that were run on the unchanged tree to find
    the permissions that they need.
    `confirmation`: reruns of failing tests; `steady`: failing tests that must still be rerun; `absent`: failing tests
    that cannot be run by themselves.
    `trace`: lines that failing tests execute on the unchanged tree; `follow`: whether programs that tests start execute
    some of them.
    `offers`: plausible patches that were not applied. `ahead`: checks of patches that began before it was their turn.
    """

    parts: Parts
    began: float = field(default_factory=time.monotonic)
    looked: int = field(default_factory=time.time_ns)
    attempts: list[Attempt] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    flaky: frozenset[str] = frozenset()
    evidence: Evidence = Evidence()
    isolation: str = ""
    freedom: Freedom = Freedom()
    held: dict[int, str] = field(default_factory=dict)
    bears: set[str] = field(default_factory=set)
    confirmation: Confirmation = field(default_factory=Confirmation)
    steady: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    trace: Coverage = field(default_factory=dict)
    follow: bool = False
    examined: dict[int, dict[str, str]] = field(default_factory=dict)
    selected: dict[int, ChosenTests] = field(default_factory=dict)
    offers: list[Offer] = field(default_factory=list)
    rivals: dict[int, Offer] = field(default_factory=dict)
    doubts: dict[int, str] = field(default_factory=dict)
    changed: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    ahead: list[Ahead] = field(default_factory=list)
    loose: Cost = Cost()
    best: Attempt = Attempt(0, Patch())

    @property
    def baseline(self) -> Attempt:
        return self.attempts[0]

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the folders on the import path; pytest adds the folders of tests that are in no package."""
        folders = dict.fromkeys(posixpath.dirname(case.path) for case in self.baseline.cases.values() if case.path)
        bare = (name for name in folders if self.parts.original(posixpath.join(name, "__init__.py")) is None)
        return (*self.parts.roots, *bare)

    @property
    def spent(self) -> Cost:
        return sum((attempt.cost for attempt in self.attempts), self.loose)

    @property
    def ends(self) -> float | None:
        seconds = self.parts.limits.seconds
        return None if seconds is None else self.began + seconds

    @property
    def seconds_left(self) -> float | None:
        return None if self.ends is None else self.ends - time.monotonic()

    @property
    def proposing_ends(self) -> float | None:
        """Return when proposers should end (monotonic), so that their patches can be judged and proved in time."""
        return self._before(2)

    @property
    def seconds_to_judge(self) -> float | None:
        """Return the seconds that are left for judging an attempt, so that the final proof ends in time, too."""
        ends = self._before(1)
        return None if ends is None else ends - time.monotonic()

    def _before(self, runs: int) -> float | None:
        """Return the monotonic time at which `runs` runs of all checks must begin, to end in time."""
        if self.ends is None:
            return None
        needed = runs * sum(check.seconds for check in self.baseline.checks) + MEASURING
        return self.ends - min(needed, RESERVED * (self.parts.limits.seconds or 0.0))

    @property
    def patience(self) -> float:
        """Return the seconds that one check may take: the rest of the run's time, at least SHORTEST.

        Without a time limit, it is ENDLESS.
        """
        left = self.seconds_left
        return ENDLESS if left is None else max(left, SHORTEST)

    @property
    def situation(self) -> Situation:
        return Situation(
            best=self.best,
            baseline=self.baseline,
            attempts=tuple(self.attempts),
            findings=self.wanted or advised(self.best),
            scope=self.parts.scope,
            flaky=self.flaky,
            ends=self.proposing_ends,
            freedom=self.freedom,
            trace={} if self.best.number else self.trace,
            absent=self.absent,
            offers=tuple(self.offers),
        )

    def test_runner(self) -> Critic:
        """Return the critic that ran the tests of the baseline; only called if tests ran."""
        suite = self.baseline.suite
        return next(critic for critic in self.parts.critics if suite and critic.name == suite.critic)

    def name_view(self, view: View, checks: Sequence[Check]) -> None:
        """Store how the tests are isolated from the user's tree, for the report."""
        confined = next((check.confined for check in checks if check.confined), ())
        self.isolation = ", ".join(dict.fromkeys((*view.isolation.split(", "), *confined)))

    def earlier(self, patch: Patch) -> Attempt | None:
        """Return the attempt of the resumed or replayed run whose patch has the same files; None if there is none."""
        return next((one for one in self.parts.earlier if dict(one.patch.files) == dict(patch.files)), None)

    def originals(self, patch: Patch) -> Mapping[str, bytes | None]:
        return {path: self.parts.original(path) for path in patch.files}

    def admit(
        self,
        patch: Patch,
        seen: frozenset[str] = frozenset(),
        findings: Sequence[Finding] = (),
        tests: Sequence[str] = (),
    ) -> Verdict:
        """Return whether `patch` may be tested; see `judge.admit`."""
        return judge.admit(
            patch,
            self.originals(patch),
            self.parts.reason,
            seen,
            self.parts.scope,
            findings=findings,
            tests=tests,
            modules=self.parts.modules,
            roots=self.roots,
            helpers=self.parts.helpers,
            is_product=self.parts.is_product,
        )

    def left(self, attempt: Attempt) -> tuple[Finding, ...]:
        """Return the hard findings of `attempt` in the critics' order, without flaky tests."""
        return tuple(
            finding
            for finding in attempt.findings
            if finding.severity is Severity.HARD and finding.symbol not in self.flaky
        )

    @property
    def wanted(self) -> tuple[Finding, ...]:
        """Return the findings of the best attempt that are to be repaired.

        From the gates in `aside`, only the findings that the baseline does not have are to be repaired.
        """
        aside, left = self.aside, self.left(self.best)
        caused = tuple(unmatched(left, self.left(self.baseline)))
        return tuple(finding for finding in left if finding.critic not in aside or finding in caused)

    @property
    def aside(self) -> frozenset[str]:
        """Return the gates whose findings are reported, but not repaired; none if no test fails.

        These are the gates that the user did not ask for and that have many findings: the project does not enforce
        them, even if it configures them. The repair of tests should not be mixed with changes all over the project.
        """
        if not failing(self.baseline):
            return frozenset()
        counts = Counter(finding.critic for finding in self.left(self.baseline))
        return frozenset(
            name for name in self.parts.default if counts[name] > (MANY_FUNCTIONS if name == "radon" else MANY)
        )

    def clean(self, attempt: Attempt) -> bool:
        """Return whether nothing is left to do; an attempt that may not be published is never clean."""
        return not self.left(attempt) and (not attempt.number or bool(self.may_publish(attempt)))

    def may_publish(self, attempt: Attempt, tolerated: Collection[str] = ()) -> Verdict:
        """Return the verdict on publishing `attempt`. `tolerated`: gates whose new findings do not count."""
        tolerated = tolerated or self.tolerated(attempt)
        verdict = judge.publishable(attempt, self.baseline, self.flaky, self.parts.scope, tolerated=tolerated)
        return verdict and self.judges_pass(attempt)

    def tolerated(self, attempt: Attempt) -> frozenset[str]:
        """Return the gates whose new findings do not prevent publication: STYLE for a patch that the user chose."""
        return STYLE if attempt.patch.origin == PICKED else frozenset()

    def judges_pass(self, attempt: Attempt) -> Verdict:
        """Return a negative verdict if an acceptance test of the task fails, or does not judge `attempt`.

        See `judge.not_judged`.
        """
        task, check = self.parts.task, attempt.suite or attempt.check(judge.TESTS)
        if not task.judged or check is None:
            return Verdict(ok=True)
        failing = tuple(item.symbol or item.path for item in self.left(attempt) if item.critic == check.critic)
        originals = self.originals(attempt.patch)
        reason = judge.still_failing(failing) or judge.not_judged(attempt, self.baseline, task, originals)
        return Verdict(ok=not reason, reason=reason)

    def publishable(self) -> list[Attempt]:
        """Return the attempts that may be published, best first: each accepted attempt is better than earlier ones."""
        accepted = [attempt for attempt in self.attempts[1:] if attempt.verdict and self.may_publish(attempt)]
        return accepted[::-1]

    def repair(self, attempt: Attempt) -> Attempt:
        """Return `attempt` or, if it only fixes lint or refactors, the last accepted attempt before it that does more.

        If there is no such attempt, return `attempt`.
        """
        steps = [one for one in self.attempts[1 : attempt.number] if one.verdict]
        repairs = (one for one in (attempt, *reversed(steps)) if one.patch.origin not in LINTERS | KEEPING)
        return next(repairs, attempt)

    def has_repair_alone(self, attempt: Attempt) -> bool:
        """Return whether an earlier attempt that may be published has the same repair, without the later lint fixes."""
        repair = self.repair(attempt).number
        return any(self.repair(one).number == repair for one in self.publishable() if one.number < attempt.number)

    def show(self, attempt: Attempt) -> Evidence:
        """Return the evidence for the patch of `attempt`."""
        found = judge.evidence(attempt, self.baseline, self.flaky, originals=self.originals(attempt.patch))
        steps = [one.number for one in self.attempts[: attempt.number + 1] if one.verdict]
        doubts = tuple(self.doubts[number] for number in steps if number in self.doubts)
        why = self.selected.get(attempt.number, WHOLE).why
        return replace(
            found,
            isolation=self.isolation,
            alternatives=tuple(self._rivals(attempt)),
            notes=(f"all tests ran despite --fast-proof: {why}",) if why else (),
            doubts=doubts,
            changed=self._all_changed(steps),
        )

    def _rivals(self, attempt: Attempt) -> Iterator[Patch]:
        """Yield the other plausible patches of the searches whose last proposal was accepted."""
        accepted = {id(one.patch) for one in self.attempts if one.verdict}
        for search in self.searches():
            if id(search.proposed) in accepted:
                yield from (other for other in search.alternatives if other.files != attempt.patch.files)

    def _all_changed(self, steps: Sequence[int]) -> tuple[int, int] | None:
        """Return the sums of the pairs in `changed` over `steps` (attempt numbers); None if no calls were compared."""
        counts = [count for number in steps if (count := self.changed.get(number))]
        return (sum(one for one, _ in counts), sum(all_ for _, all_ in counts)) if counts else None

    def keep(self, attempt: Attempt) -> None:
        """Store `attempt` here and in the journal; patches that are only offered may be proposed again."""
        self.attempts.append(attempt)
        if not attempt.verdict.reason.startswith(PLAUSIBLE):
            self.seen |= judge.digests(attempt.patch, self.originals(attempt.patch))
        self.parts.record(attempt)

    def closed(self, best: Attempt, stop: Stop, why: str, offers: tuple[Offer, ...] = ()) -> Outcome:
        return Outcome(
            best=best,
            baseline=self.baseline,
            stop=stop,
            why=why,
            evidence=replace(
                self.evidence, flaky=tuple(sorted(self.flaky)), isolation=self.evidence.isolation or self.isolation
            ),
            remaining=self.left(best) or advised(best),
            attempts=tuple(self.attempts),
            cost=replace(self.spent, seconds=time.monotonic() - self.began),
            looked=self.looked,
            suite_runs=self._suite_runs(),
            first_candidate=next((one.first_candidate for one in self.searches() if one.first_candidate), None),
            offers=offers,
        )

    def _suite_runs(self) -> float | None:
        """Return the time of all test runs in fresh processes, in units of the baseline's run; None without tests."""
        suite = self.baseline.suite
        spent = sum(critic.spent for critic in self.parts.critics if isinstance(critic, TestRunner))
        return spent / suite.seconds if suite and suite.seconds and spent else None

    def searches(self) -> Iterator[Searcher]:
        """Return the proposers that search, and judge candidates themselves."""
        return (one for one in self.parts.proposers if isinstance(one, Searcher))

    def known_coverage(self) -> Iterator[Coverage]:
        """Yield what is known about the lines that tests execute on the best tree, as far as proposers traced it."""
        yield self.best.coverage or {}
        for one in self.parts.proposers:
            yield from (lines for patch, lines in getattr(one, "traces", ()) if patch.files == self.best.patch.files)

    def notify(self, kind: str, text: str, *, done: int = 0, cost: Cost | None = None) -> None:
        limits, seconds = self.parts.limits, time.monotonic() - self.began
        self.parts.listen(Event(kind, text, done, limits.iterations, seconds, cost, limits.seconds))


def failing(attempt: Attempt) -> frozenset[str]:
    """Return the ids of the tests that fail in `attempt`."""
    suite = attempt.suite
    return frozenset(suite.failing) if suite else frozenset()


def advised(attempt: Attempt) -> tuple[Finding, ...]:
    """Return the advisers' findings on `attempt`."""
    return tuple(finding for check in attempt.checks if not check.gate for finding in check.findings)


def advice_on(attempt: Attempt) -> tuple[Check, ...]:
    """Return the advisers' checks of `attempt`; model requests were paid for them, so they are reused."""
    return tuple(check for check in attempt.checks if not check.gate)
