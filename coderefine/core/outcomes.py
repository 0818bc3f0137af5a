"""The course of a run: progress events, cost, attempts, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from coderefine.core.checks import Case, Check, Coverage, Finding, Severity, Span
from coderefine.core.patches import Offer, Patch
from coderefine.core.plurals import counted


@dataclass(frozen=True, slots=True)
class Event:
    """Progress of a run. `done` and `total` are in units of the stage (tests, candidates …).

    `kind`: stage, critic, tests, search, attempt, verdict, request, spent or note. `seconds`: time since the run began
    (0: not given). `most`: seconds that the run may take, if known.
    """

    kind: str
    text: str = ""
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    cost: Cost | None = None
    most: float | None = None


Listen = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost so far. `usd` is None if the price of any part is unknown."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    test_runs: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def words(self) -> tuple[str, str, str]:
        """Return requests, tokens and price as text: `2 requests`, `3,411 tokens`, and `$0.0021` or `price unknown`."""
        price = "price unknown" if self.usd is None else f"${self.usd:.4f}"
        return counted(self.requests, "request"), counted(self.tokens, "token"), price

    def __add__(self, other: Cost) -> Cost:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Cost(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            usd,
            self.seconds + other.seconds,
            self.test_runs + other.test_runs,
        )


NOTHING = Cost()
"""The cost at the start of a run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run, each checked before it can be exceeded. None: unlimited. `seconds`: wall time."""

    iterations: int | None = 6
    requests: int | None = 12
    tokens: int | None = 200_000
    usd: float | None = 1.0
    seconds: float | None = 600.0
    test_runs: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Acceptance or refusal, with the reason."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class Attempt:
    """A patch that was tried, with its checks, verdict and cost. Number 0 is the baseline: the empty patch."""

    number: int
    patch: Patch
    checks: tuple[Check, ...] = ()
    verdict: Verdict = Verdict(ok=True)
    cost: Cost = NOTHING

    def refused(self, reason: str) -> Attempt:
        """Return this attempt with the verdict that it is refused for `reason`."""
        return replace(self, verdict=Verdict(ok=False, reason=reason))

    def check(self, critic: str) -> Check | None:
        return next((check for check in self.checks if check.critic == critic), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for check in self.checks for finding in check.findings)

    @property
    def coverage(self) -> Coverage | None:
        """Return the lines that the tests ran; None if they were not recorded."""
        return next((check.coverage for check in self.checks if check.coverage is not None), None)

    @property
    def suite(self) -> Check | None:
        """Return the check with test results, or None."""
        return next((check for check in self.checks if check.cases), None)

    @property
    def cases(self) -> Mapping[str, Case]:
        suite = self.suite
        return suite.cases if suite else {}

    @property
    def carried(self) -> frozenset[str]:
        """Return the ids among `cases` that did not run, whose outcomes are copied from the baseline."""
        return frozenset[str]().union(*(check.carried for check in self.checks))

    @property
    def renamed(self) -> frozenset[str]:
        """Return the ids among `cases` whose names change from run to run."""
        return frozenset[str]().union(*(check.renamed for check in self.checks))


class Stop(str, Enum):
    """Why a run ended."""

    CLEAN = "clean"
    ITERATIONS = "iterations"
    BUDGET = "budget"
    NO_PROGRESS = "no-progress"
    CYCLE = "cycle"
    UNFIXABLE = "unfixable"
    ENVIRONMENT = "environment"
    INTERRUPTED = "interrupted"
    OFFERED = "offered"


@dataclass(frozen=True, slots=True)
class Executed:
    """Changed lines of `path`, numbered as in the patched file, and the tests that ran them.

    `tests`: the first few of these tests; `count`: their total number. `imported`: whether the lines ran at import.
    """

    path: str
    span: Span
    tests: tuple[str, ...] = ()
    count: int = 0
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Mutation:
    """A small mistake inserted into a patch: the expression `old` on a line of the patched file becomes `new`."""

    path: str
    line: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} `{self.old}` → `{self.new}`"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for the best attempt, and what is missing in it. Tests are given by their ids.

    `flipped`: tests that failed at the baseline and pass now. `kept`: number of other tests that still pass or are
    skipped. `lost`: tests that got worse or disappeared. `flaky`: tests whose outcome changes from run to run.
    `covered`: (number of changed lines that tests ran, number of changed executable lines); None if they were not
    recorded. `strength`: (number of inserted mistakes that tests noticed, number inserted); None if not measured.
    `isolation`: how the tests were isolated, in words. `alternatives`: other plausible patches.

    `changed`: (number of calls whose result the repairs change, number of compared calls). The compared calls are those
    of the tests that are not repaired, and variants of these calls. `doubts`: why the attempt is only plausible
    although all tests pass; empty if it is proved. `ran`: (number of tests that ran in the proof, number of all tests);
    None if all ran. `executed`: which tests ran the patched lines, as far as they were traced. `survived`: small
    mistakes in the patch that no test noticed. `weakest`: as `strength`, for the function whose mistakes the tests
    notice least; None if no function has enough of them.
    """

    flipped: tuple[str, ...] = ()
    kept: int = 0
    lost: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    covered: tuple[int, int] | None = None
    strength: tuple[int, int] | None = None
    isolation: str = ""
    alternatives: tuple[Patch, ...] = ()
    notes: tuple[str, ...] = ()
    changed: tuple[int, int] | None = None
    doubts: tuple[str, ...] = ()
    ran: tuple[int, int] | None = None
    executed: tuple[Executed, ...] = ()
    survived: tuple[Mutation, ...] = ()
    weakest: tuple[int, int] | None = None

    @property
    def word(self) -> str:
        """Return `proved`, or `plausible` if there are doubts."""
        return "plausible" if self.doubts else "proved"

    @property
    def claim(self) -> str:
        """Return `proved`, or `plausible, may be wrong`, for reports that are read without the rest of the evidence."""
        return "plausible, may be wrong" if self.doubts else "proved"

    @property
    def measured(self) -> tuple[str, ...]:
        """Return the measurements as text: `3 tests flipped, 41 kept, 0 lost`, `strength 7/8`, and others."""
        tests = f"{counted(len(self.flipped), 'test')} flipped, {self.kept} kept, {len(self.lost)} lost"
        covered = "patched lines covered {}/{}".format(*self.covered) if self.covered and self.covered[1] else ""
        strength = "strength {}/{}".format(*self.strength) if self.strength else ""
        return tuple(filter(None, (tests, covered, strength, self.proved_by)))

    @property
    def proved_by(self) -> str:
        """Describe which tests ran in the proof; "" if all tests ran."""
        if self.ran is None:
            return ""
        verb = "judged" if self.doubts else "proved"
        return "{} by {:,} of {:,} tests (--fast-proof): those that can reach the patch".format(verb, *self.ran)


PROVE = "prove"
"""Origin of a given patch, and the critic of the finding "not proved"."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict on a given patch (`coderefine prove`), with its reasons.

    `patch`: the patch, including tests and configuration. `evidence`: the measurements, also if the patch is not
    proved. Here `evidence.flipped` are the tests that pass with the patch, and fail with the patch's tests but without
    its code. `weakened`: tests that the patch deletes, skips or changes (other than by additions), and how. `rests`:
    tests in `evidence.flipped` that the patch itself adds or changes, so that the proof rests on them. `added`: tests
    that the patch adds and that also pass without its code. `findings`: new findings. `unjudged`: what could not be
    judged, and why. `worse`: whether anything gets worse; False if the patch merely has no visible benefit. `needed`:
    the smallest part of the patch that is still proved (None: not requested); `spare`: the changes that are not in it.
    """

    verdict: Verdict
    patch: Patch
    evidence: Evidence = Evidence()
    weakened: tuple[str, ...] = ()
    rests: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unjudged: tuple[str, ...] = ()
    worse: bool = True
    needed: Patch | None = None
    spare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run: best attempt (the baseline if nothing was better), reason, evidence, remaining findings.

    `looked`: when the checks of the baseline began (`time.time_ns`); nothing is proved about files edited later.
    `suite_runs`: time of all cold test runs, in units of one run of the whole suite. `first_candidate`: seconds from
    the start of the offline search to its first judged candidate. `offers`: plausible patches that were not applied.
    `proof`: the verdict on a given patch; None for a run that searched for a patch.
    """

    best: Attempt
    baseline: Attempt
    stop: Stop
    why: str = ""
    evidence: Evidence = Evidence()
    remaining: tuple[Finding, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cost: Cost = NOTHING
    looked: int = 0
    suite_runs: float | None = None
    first_candidate: float | None = None
    offers: tuple[Offer, ...] = ()
    proof: Proof | None = None

    @property
    def accepted(self) -> tuple[Attempt, ...]:
        """Return the accepted attempts up to the best one, without the baseline, in order."""
        return tuple(step for step in self.attempts if step.verdict and 0 < step.number <= self.best.number)

    @property
    def clean(self) -> bool:
        return not any(finding.severity is Severity.HARD for finding in self.remaining)
