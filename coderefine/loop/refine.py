"""refine(): baseline, ladder of proposers, judge, final proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coderefine import judge
from coderefine.core import (
    Ask,
    Attempt,
    Check,
    Cost,
    Critic,
    Event,
    Evidence,
    Finding,
    Limits,
    Listen,
    Outcome,
    Patch,
    Proposer,
    Severity,
    Situation,
    Stop,
    Verdict,
    Views,
)
from coderefine.errors import BudgetError, CriticError, ModelError
from coderefine.loop.critique import critique
from coderefine.loop.flaky import fails_anyway, find_flaky
from coderefine.loop.ladder import Ladder

PROOF_SEED = 2
SLOW_SUITE = 5.0
"""Seconds of baseline tests above which a candidate must first flip one of the failing tests."""


def _quiet(_event: Event) -> None:
    """The listener of those who do not listen."""


def _forget(_attempt: Attempt) -> None:
    """The recorder of those who keep no journal."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is made of. `original` gives a path's bytes in the user's tree at the snapshot (None: no file).

    `reason` says why a path may not be written (None: it may). `record` keeps each attempt, refused ones too.
    """

    views: Views
    critics: Sequence[Critic]
    proposers: Sequence[Proposer]
    original: Callable[[str], bytes | None]
    reason: Callable[[str], str | None]
    scope: tuple[str, ...] = (".",)
    limits: Limits = Limits()
    listen: Listen = _quiet
    record: Callable[[Attempt], None] = _forget


def refine(parts: Parts) -> Outcome:
    """Refine until the gates are clean or a limit is hit. Never raises for what a candidate did.

    Raises CriticError when the *baseline* cannot be judged. Ctrl-C ends the run with Stop.INTERRUPTED and the
    best attempt that passed every check so far.
    """
    return _Run(parts).outcome()


@dataclass(slots=True)
class _Run:
    """One run's state; lives no longer than `refine`."""

    parts: Parts
    began: float = field(default_factory=time.monotonic)
    attempts: list[Attempt] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    flaky: frozenset[str] = frozenset()
    evidence: Evidence = Evidence()
    baseline: Attempt = Attempt(0, Patch())
    best: Attempt = Attempt(0, Patch())

    def outcome(self) -> Outcome:
        self._baseline()
        stop, why = self._climb()
        if stop is Stop.INTERRUPTED:
            return self._closed(self._publishable_best(), stop, why)
        try:
            proved = self._prove()
        except KeyboardInterrupt:
            return self._closed(self._publishable_best(), Stop.INTERRUPTED, "interrupted during the final proof")
        return self._closed(proved, *self._reason(proved, stop, why))

    # -- baseline

    def _baseline(self) -> None:
        self._say("stage", "checks")
        ask = Ask(self.parts.scope, seed=0)
        checks = critique(self.parts.views, self.parts.critics, Patch(), ask)
        self.baseline = self.best = Attempt(0, Patch(), checks, cost=Cost(test_runs=1))
        self._say("verdict", "baseline")
        tests = self._tests(self.baseline)
        if tests and tests.failing and self.parts.proposers:
            self._say("stage", "flaky")
            self.flaky = find_flaky(self.parts.views, self._pytest(), tests, ask)
        self._keep(self.baseline)

    def _tests(self, attempt: Attempt) -> Check | None:
        return next((check for check in attempt.checks if check.cases), None)

    def _pytest(self) -> Critic:
        check = self._tests(self.baseline)
        return next(critic for critic in self.parts.critics if check and critic.name == check.critic)

    # -- the ladder

    def _climb(self) -> tuple[Stop, str]:
        ladder = Ladder(self.parts.proposers, self.parts.views)
        try:
            while not self._clean(self.best):
                if limit := self._limit():
                    return limit
                self._say("spent", cost=ladder.spent)
                patch = ladder.next(self._situation())
                if patch is None:
                    return self._gave_up(ladder)
                self._try(patch, ladder)
        except BudgetError as error:
            return Stop.BUDGET, f"{error.which}: {error}"
        except ModelError as error:
            return Stop.ENVIRONMENT, str(error)
        except KeyboardInterrupt:
            return Stop.INTERRUPTED, "interrupted"
        return Stop.CLEAN, ""

    def _situation(self) -> Situation:
        return Situation(
            best=self.best,
            baseline=self.baseline,
            attempts=tuple(self.attempts),
            findings=self._left(self.best),
            scope=self.parts.scope,
            flaky=self.flaky,
            seconds_left=self._seconds_left(),
        )

    def _try(self, patch: Patch, ladder: Ladder) -> None:
        """Judge one patch; it becomes the best when it is a better step."""
        number = len(self.attempts)
        self._say("attempt", f"{patch.origin}: {patch.summary}", done=number)
        began, cost = time.monotonic(), ladder.last_cost
        attempt = self._refused(number, patch) or self._evaluated(number, patch)
        attempt = replace(attempt, cost=attempt.cost + replace(cost, seconds=time.monotonic() - began))
        self._keep(attempt)
        self._say("verdict", attempt.verdict.reason, done=number)
        if attempt.verdict:
            self.best = attempt
            ladder.climbed()

    def _refused(self, number: int, patch: Patch) -> Attempt | None:
        originals = self._originals(patch)
        print_ = judge.digest(patch, originals)
        verdict = judge.admit(
            patch,
            originals,
            reason=self.parts.reason,
            seen=frozenset(self.seen),
            scope=self.parts.scope,
            findings=self._left(self.best),
        )
        self.seen.add(print_)
        return None if verdict else Attempt(number, patch, verdict=verdict)

    def _evaluated(self, number: int, patch: Patch) -> Attempt:
        try:
            return self._quick_no(number, patch) or self._full(number, patch)
        except CriticError as error:
            return Attempt(number, patch, verdict=Verdict(ok=False, reason=str(error)), cost=Cost(test_runs=1))

    def _quick_no(self, number: int, patch: Patch) -> Attempt | None:
        """On a slow suite: the failing tests alone; an attempt that is no better there is refused at once."""
        tests = self._tests(self.best)
        if tests is None or tests.seconds < SLOW_SUITE or not tests.failing:
            return None
        checks = self._critique(patch, replace(self._ask(patch), tests=tests.failing))
        partial = Attempt(number, patch, checks, cost=Cost(test_runs=1))
        verdict = self._weigh(partial)
        return None if verdict else replace(partial, verdict=verdict)

    def _full(self, number: int, patch: Patch) -> Attempt:
        attempt = Attempt(number, patch, self._critique(patch, self._ask(patch)), cost=Cost(test_runs=1))
        return replace(attempt, verdict=self._weigh(attempt))

    def _ask(self, patch: Patch) -> Ask:
        tests = self._tests(self.best)
        return Ask(self.parts.scope, frozenset(patch.files), first=tests.failing if tests else (), seed=0)

    def _critique(self, patch: Patch, ask: Ask) -> tuple[Check, ...]:
        return critique(self.parts.views, self.parts.critics, patch, ask, before=self.baseline.checks)

    def _weigh(self, attempt: Attempt) -> Verdict:
        return judge.weigh(
            attempt, self.best, self.baseline, flaky=self.flaky, originals=self._originals(attempt.patch)
        )

    # -- the end

    def _prove(self) -> Attempt:
        """The best publishable attempt that passes once more, cold, in a clean tree; else the baseline."""
        for attempt in self._publishable():
            self._say("stage", "proof")
            proved = self._proved(attempt)
            if proved.verdict:
                return proved
            self.attempts[attempt.number] = proved
        return self.baseline

    def _proved(self, attempt: Attempt) -> Attempt:
        ask = Ask(
            self.parts.scope, frozenset(attempt.patch.files), first=(), coverage=True, rich=False, seed=PROOF_SEED
        )
        try:
            checks = critique(self.parts.views, self.parts.critics, attempt.patch, replace(ask, changed=None))
        except CriticError as error:
            return replace(attempt, verdict=Verdict(ok=False, reason=f"final proof: {error}"))
        again = replace(attempt, checks=checks)
        self._excuse(again, ask)
        verdict = self._may_publish(again)
        self.evidence = self._evidence(again)
        return replace(again, verdict=verdict if not verdict else attempt.verdict)

    def _excuse(self, attempt: Attempt, ask: Ask) -> None:
        """Tests lost in the proof that fail on the baseline too under this seed are flaky."""
        lost = tuple(
            id_
            for id_, case in self.baseline.cases.items()
            if not case.status.bad and id_ in attempt.cases and attempt.cases[id_].status.bad
        )
        if lost:
            self.flaky |= fails_anyway(self.parts.views, self._pytest(), lost, ask)

    def _evidence(self, attempt: Attempt) -> Evidence:
        return judge.evidence(attempt, self.baseline, flaky=self.flaky, originals=self._originals(attempt.patch))

    def _publishable(self) -> list[Attempt]:
        """Publishable attempts, best first (a later best is a better one)."""
        return [a for a in reversed(self.attempts) if a.number and a.verdict and self._may_publish(a)]

    def _publishable_best(self) -> Attempt:
        best = next(iter(self._publishable()), self.baseline)
        if best.number:
            self.evidence = self._evidence(best)
        return best

    def _may_publish(self, attempt: Attempt) -> Verdict:
        return judge.publishable(attempt, self.baseline, flaky=self.flaky, scope=self.parts.scope)

    def _closed(self, best: Attempt, stop: Stop, why: str) -> Outcome:
        return Outcome(
            best=best,
            baseline=self.baseline,
            stop=stop,
            why=why,
            evidence=self.evidence,
            remaining=self._left(best),
            attempts=tuple(self.attempts),
            cost=replace(sum((a.cost for a in self.attempts), Cost()), seconds=time.monotonic() - self.began),
        )

    def _reason(self, proved: Attempt, stop: Stop, why: str) -> tuple[Stop, str]:
        if self._clean(proved):
            return Stop.CLEAN, ""
        if stop is Stop.CLEAN:
            return Stop.NO_PROGRESS, "the final proof did not confirm what the attempts showed"
        return stop, why

    # -- small questions

    def _clean(self, attempt: Attempt) -> bool:
        publishable = not attempt.number or bool(self._may_publish(attempt))
        return publishable and not self._left(attempt)

    def _left(self, attempt: Attempt) -> tuple[Finding, ...]:
        return tuple(
            finding
            for finding in attempt.findings
            if finding.severity is Severity.HARD and finding.symbol not in self.flaky
        )

    def _limit(self) -> tuple[Stop, str] | None:
        rounds = sum(1 for attempt in self.attempts if attempt.cost.requests)
        if self.parts.limits.iterations is not None and rounds >= self.parts.limits.iterations:
            return Stop.ITERATIONS, f"{rounds} iterations used"
        left = self._seconds_left()
        if left is not None and left <= 0:
            return Stop.BUDGET, f"seconds: {self.parts.limits.seconds:.0f} s used"
        runs = self.parts.limits.test_runs
        if runs is not None and sum(a.cost.test_runs for a in self.attempts) >= runs:
            return Stop.BUDGET, f"test runs: {runs} used"
        return None

    def _gave_up(self, ladder: Ladder) -> tuple[Stop, str]:
        if len(self.attempts) == 1:
            return Stop.UNFIXABLE, "no proposer had an idea"
        if any("seen before" in attempt.verdict.reason for attempt in self.attempts[-2:]):
            return Stop.CYCLE, "the proposals repeat themselves"
        return Stop.NO_PROGRESS, f"no further proposal from {', '.join(ladder.names)}"

    def _seconds_left(self) -> float | None:
        seconds = self.parts.limits.seconds
        return None if seconds is None else seconds - (time.monotonic() - self.began)

    def _originals(self, patch: Patch) -> Mapping[str, bytes | None]:
        return {path: self.parts.original(path) for path in patch.files}

    def _keep(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        self.parts.record(attempt)

    def _say(self, kind: str, text: str = "", *, done: int = 0, cost: Cost | None = None) -> None:
        self.parts.listen(Event(kind, text, done, self.parts.limits.iterations, time.monotonic() - self.began, cost))
