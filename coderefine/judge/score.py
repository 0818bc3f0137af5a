"""The order in which attempts are compared: what runs, then tests, then the other gates, then size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coderefine.core import EMPTY, Attempt, Case, Check, Finding, Severity, Status
from coderefine.judge.paths import within
from coderefine.judge.size import diff_size

TESTS, LINT, COMPLEXITY, ASKED = "pytest", "ruff", "radon", "asked"
BEST = 5.0
"""The highest total of a review."""
PASSING = (Status.PASSED, Status.XFAILED, Status.XPASSED)


@dataclass(frozen=True, slots=True, order=True)
class Score:
    """Compared field by field, in this order; smaller is better.

    `silent`: gates of the baseline that gave no answer. `lost`: tests that passed and no longer do,
    vanished ones included. `asked`: what has yet to be written; it goes before the failing tests, because a module
    that cannot be imported fails once, and one that is half right as often as it has tests. So do test modules that
    cannot be collected (`blocked`): they hide all their tests. `bad`: tests failing or
    in error, plus failing ones that vanished. `command`, `ruff`: hard findings. `radon`: sum of the hard findings'
    weights. `review`: points lost in the advisers' totals. `remarks`: their findings. `size`: lines.
    """

    silent: int
    lost: int
    asked: int
    blocked: int
    bad: int
    command: int
    ruff: int
    radon: float
    review: float
    remarks: int
    size: int


def score(
    attempt: Attempt,
    baseline: Attempt,
    *,
    scope: Sequence[str] = (".",),
    flaky: frozenset[str] = frozenset(),
    originals: Mapping[str, bytes | None] = EMPTY,
) -> Score:
    """The score of `attempt`: hard findings in `scope`, and any that the baseline did not have.

    `originals` holds the baseline's content of the files it touches; the size is measured against them.
    """
    counted = _counted(attempt, baseline, scope)
    return Score(
        silent=len(silent(attempt, baseline)),
        lost=len(lost(attempt, baseline, flaky)),
        asked=len(_by(counted, ASKED)),
        blocked=_blocked(attempt, flaky),
        bad=len(bad(attempt, baseline, flaky)),
        command=sum(finding.critic not in (LINT, COMPLEXITY, ASKED) for finding in counted),
        ruff=len(_by(counted, LINT)),
        radon=sum(finding.weight for finding in _by(counted, COMPLEXITY)),
        review=_points_lost(attempt),
        remarks=sum(len(check.findings) for check in attempt.checks if not check.gate),
        size=diff_size(attempt.patch, originals),
    )


def _counted(attempt: Attempt, baseline: Attempt, scope: Sequence[str]) -> list[Finding]:
    known = Counter(finding.identity for finding in remarks(baseline))
    counted = []
    for finding in remarks(attempt):
        known[finding.identity] -= 1
        asked = finding.severity is Severity.HARD and within(finding.path, scope)
        if asked or known[finding.identity] < 0:
            counted.append(finding)
    return counted


def _by(findings: Sequence[Finding], critic: str) -> list[Finding]:
    """Select the findings of one critic."""
    return [finding for finding in findings if finding.critic == critic]


def _blocked(attempt: Attempt, flaky: frozenset[str]) -> int:
    """Count the test modules that cannot be collected."""
    return sum(_blocks(case) and id not in flaky for id, case in attempt.cases.items())


def _points_lost(attempt: Attempt) -> float:
    """Add up what the advisers' totals lack."""
    return sum(round(BEST - check.total, 3) for check in attempt.checks if check.total is not None)


def silent(attempt: Attempt, baseline: Attempt) -> tuple[str, ...]:
    """Gates of the baseline that said nothing about `attempt`."""
    return tuple(was.critic for was in baseline.checks if was.gate and attempt.check(was.critic) is None)


def unheard(attempt: Attempt, baseline: Attempt) -> tuple[str, ...]:
    """Gates of the baseline that have not looked at all of `attempt`."""
    return tuple(was.critic for was in baseline.checks if was.gate and not _complete(attempt.check(was.critic)))


def _complete(check: Check | None) -> bool:
    return check is not None and check.complete


def gone(attempt: Attempt, baseline: Attempt) -> tuple[str, ...]:
    """Ids of baseline tests that are no longer collected.

    A collection error ("this module does not import") may go when tests of that module have appeared.
    A run that was cut short proves nothing about what it did not reach.
    """
    check = attempt.check(TESTS)
    if check is not None and not check.complete:
        return ()
    now = attempt.cases
    return tuple(
        id
        for id, case in baseline.cases.items()
        if id not in now and not (case.status is Status.ERROR and any(collected(test, id) for test in now))
    )


def collected(test: str, collector: str) -> bool:
    """Whether the test of that id comes from `collector`, the id of a file, class or package."""
    return test.startswith((f"{collector}::", f"{collector}/"))


def lost(attempt: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Ids of tests that passed in the baseline and now fail, are skipped, or are gone."""
    now = attempt.cases
    vanished = set(gone(attempt, baseline))
    return tuple(
        id
        for id, case in baseline.cases.items()
        if case.status in PASSING
        and id not in flaky
        and (id in vanished or (id in now and _worse(case.status, now[id].status)))
    )


def _worse(was: Status, now: Status) -> bool:
    """Whether a test that was fine is less fine now; an expected failure may start to pass."""
    return now not in (PASSING if was is Status.XFAILED else (Status.PASSED, Status.XPASSED))


def bad(attempt: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Ids that fail or are in error now, and baseline failures that vanished instead of being repaired."""
    failing = {id for id, case in attempt.cases.items() if case.status.bad and id not in flaky}
    vanished = {id for id in gone(attempt, baseline) if baseline.cases[id].status.bad and id not in flaky}
    return tuple(sorted(failing | vanished))


def flipped(attempt: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Ids of tests that failed and now pass; for a collection error, a module of which some test passes now."""
    now = attempt.cases
    return tuple(
        id
        for id, case in baseline.cases.items()
        if case.status.bad and id not in flaky and (_passes(now.get(id)) or (id not in now and _passes_inside(id, now)))
    )


def _blocks(case: Case) -> bool:
    """Whether it is a module that could not be collected, not a test."""
    return case.status is Status.ERROR and case.id.endswith(".py")


def _passes(case: Case | None) -> bool:
    return case is not None and case.status is Status.PASSED


def _passes_inside(collector: str, now: Mapping[str, Case]) -> bool:
    return any(case.status is Status.PASSED for id, case in now.items() if collected(id, collector))


def remarks(attempt: Attempt) -> tuple[Finding, ...]:
    """What the gates other than the tests say; tests are judged by outcome. Soft ones count in comparisons."""
    return tuple(
        finding for check in attempt.checks if check.gate and check.critic != TESTS for finding in check.findings
    )
