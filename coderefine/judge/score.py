"""Compare attempts by score: which gates ran, then tests, then the other gates, then size.

For a step of the loop, an improvement may outweigh a loss, except the loss of a passing test. For publication nothing
may get worse (publishable.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import filterfalse

from coderefine.core import EMPTY, Attempt, Case, Finding, Severity, Status, Verdict, unmatched
from coderefine.core.plurals import listed
from coderefine.core.views import inside
from coderefine.judge.diff import diff_size

TESTS, LINT, COMPLEXITY, ASKED = "pytest", "ruff", "radon", "asked"
BEST = 5.0
"""The highest possible total of a review."""
PASSED = (Status.PASSED, Status.XPASSED)
PASSING = (*PASSED, Status.XFAILED)
UNFOUND = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "NotImplementedError")
"""Exceptions that mean that something is not implemented yet."""
UNIMPORTED = re.compile(r"(?:cannot import name|No module named) '([\w.]+)'")
BEFORE = ("silent", "lost", "asked", "blocked", "bad")
"""Fields of the score with priority over the line at which a test fails."""
LABELS = {
    "asked": "requested parts still missing",
    "blocked": "test modules that cannot be collected",
    "bad": "failing tests",
    "command": "findings of command gates",
    "ruff": "ruff findings",
    "radon": "complexity above the limit",
    "remarks": "remarks of the advisers",
    "size": "changed lines",
}


@dataclass(frozen=True, slots=True, order=True)
class Score:
    """Score of an attempt, compared field by field in this order; smaller is better.

    `silent`: number of the baseline's gates without a result. `lost`: tests that passed and no longer do, including
    vanished ones. `asked`: requested functions and files that are not written yet. `blocked`: test modules that cannot
    be collected. `asked` and `blocked` precede `bad`, because a module that cannot be imported fails once, but a partly
    correct one fails once per test. `bad`: failing tests and errors, and failing tests that vanished. `command`,
    `ruff`: findings that `score` counts. `radon`: sum of the weights of such findings. `review`: points by which the
    advisers' totals are below BEST. `remarks`: the advisers' findings. `size`: lines of the diff.
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
    """Return the score of `attempt`. All its hard findings in `scope` count; other findings count only if they are new.

    `originals`: the baseline's content of the touched files, for the size of the diff.
    """
    counted = _counted(attempt, baseline, scope)
    by_critic = Counter(finding.critic for finding in counted)
    return Score(
        silent=len(silent(attempt, baseline)),
        lost=len(lost(attempt, baseline, flaky)),
        asked=by_critic[ASKED],
        blocked=sum(id.endswith(".py") for id in _having(Status.ERROR, attempt) - flaky),
        bad=len(bad(attempt, baseline, flaky)),
        command=len(counted) - by_critic[LINT] - by_critic[COMPLEXITY] - by_critic[ASKED],
        ruff=by_critic[LINT],
        radon=sum(finding.weight for finding in counted if finding.critic == COMPLEXITY),
        review=sum(round(BEST - check.total, 3) for check in attempt.checks if check.total is not None),
        remarks=sum(len(check.findings) for check in attempt.checks if not check.gate),
        size=diff_size(attempt.patch, originals),
    )


def _counted(attempt: Attempt, baseline: Attempt, scope: Sequence[str]) -> list[Finding]:
    def asked(finding: Finding) -> bool:
        return finding.severity is Severity.HARD and inside(finding.path, scope)

    now = remarks(attempt)
    return [*filter(asked, now), *filterfalse(asked, unmatched(now, remarks(baseline)))]


def weigh(
    candidate: Attempt,
    best: Attempt,
    baseline: Attempt,
    scope: Sequence[str] = (".",),
    flaky: frozenset[str] = frozenset(),
    *,
    originals: Mapping[str, bytes | None] = EMPTY,
) -> Verdict:
    """Decide whether `candidate` is a better step than `best`, by the first field of their scores that differs.

    The lines at which tests fail are compared after the fields in BEFORE, and before the other fields. The loss of a
    test that passed in the baseline is never accepted. If only some tests ran, only these are compared; `publishable`
    requires that all tests ran. `originals`: the baseline's content of the files of both patches.
    """
    missing = silent(candidate, baseline)
    if missing:
        return Verdict(ok=False, reason=f"{', '.join(missing)} gave no result for it")
    broken = lost(candidate, baseline, flaky)
    if broken:
        return Verdict(ok=False, reason=f"breaks {listed(broken)}")
    new, old = (score(item, baseline, scope=scope, flaky=flaky, originals=originals) for item in (candidate, best))
    level = all(getattr(new, name) == getattr(old, name) for name in BEFORE)
    moved = _moved(candidate, best, baseline) if level else None
    return _compared(new, old, candidate, best) if moved is None else moved


def _moved(candidate: Attempt, best: Attempt, baseline: Attempt) -> Verdict | None:
    """Return a verdict if the same tests fail as in `best`, but in other places; None if the places do not decide.

    A test that fails at a later line has made progress. The verdict is positive if some tests fail later and none
    earlier, and negative if some fail earlier and none later.
    """
    now, was = _depths(candidate, baseline), _depths(best, baseline)
    if now.keys() != was.keys():
        return None
    later = tuple(id for id in now if now[id] > was[id])
    earlier = tuple(id for id in now if now[id] < was[id])
    if later and not earlier:
        return Verdict(ok=True, reason=f"the failure has moved on: {listed(later)}")
    return Verdict(ok=False, reason=f"fails earlier: {listed(earlier)}") if earlier and not later else None


def _depths(attempt: Attempt, baseline: Attempt) -> dict[str, tuple[int, bool, bool]]:
    return {id: _depth(case, baseline.cases.get(id)) for id, case in attempt.cases.items() if case.status.bad}


def _depth(case: Case, before: Case | None) -> tuple[int, bool, bool]:
    """Return how far a failing test got: (failing line, whether all names were found, whether another import fails).

    The last value is True if a name cannot be imported, but not the one that failed at the baseline (`before`). This is
    progress, because Python looks up the names of an import statement one after the other.
    """
    failure = case.failure
    frames = failure.frames if failure else ()
    lines = [frame.line for frame in frames if frame.path == case.path]
    unfound = failure is not None and failure.exception.rpartition(".")[2] in UNFOUND
    name = _unimported(case)
    return (lines[0] if lines else 0, not unfound, bool(name) and name != _unimported(before))


def _unimported(case: Case | None) -> str:
    """Return the name or module that could not be imported; "" for any other failure."""
    found = UNIMPORTED.search(case.failure.message) if case and case.failure else None
    return found[1] if found else ""


def _compared(new: Score, old: Score, candidate: Attempt, best: Attempt) -> Verdict:
    against = "the start" if best.number == 0 else f"attempt {best.number}"
    for item in fields(Score):
        now, was = getattr(new, item.name), getattr(old, item.name)
        if now != was:
            label = LABELS.get(item.name, item.name)
            change = _totals(candidate, best) if item.name == "review" else f"{label} {was:g} → {now:g}"
            return Verdict(ok=now < was, reason=change if now < was else f"no better than {against}: {change}")
    return Verdict(ok=False, reason=f"no better than {against}")


def _totals(candidate: Attempt, best: Attempt) -> str:
    """Describe how the totals of the advisers differ between `best` and `candidate`."""
    before = {check.critic: check.total for check in best.checks}
    found = []
    for check in candidate.checks:
        totals = (before.get(check.critic), check.total)
        if not check.gate and totals[0] != totals[1]:
            shown = ["no score" if total is None else f"{total:g}" for total in totals]
            found.append(f"{check.critic} {' → '.join(shown)}")
    return ", ".join(found) or "fewer remarks of the advisers"


def silent(attempt: Attempt, baseline: Attempt) -> tuple[str, ...]:
    """Return the baseline's gates without a result for `attempt`."""
    return tuple(was.critic for was in baseline.checks if was.gate and attempt.check(was.critic) is None)


def incomplete(attempt: Attempt, baseline: Attempt) -> tuple[str, ...]:
    """Return the baseline's gates that have not checked `attempt` completely."""
    gates = (was.critic for was in baseline.checks if was.gate)
    return tuple(name for name in gates if (check := attempt.check(name)) is None or not check.complete)


def gone(attempt: Attempt, baseline: Attempt) -> tuple[str, ...]:
    """Return the ids of baseline tests that are no longer collected.

    A collection error (of a module that cannot be imported) may vanish if tests of this module have appeared.
    After an incomplete run nothing is reported. Tests that another run of the baseline did not collect either
    (`renamed`) are never reported.
    """
    check = attempt.check(TESTS)
    if check is not None and not check.complete:
        return ()
    now = attempt.cases
    return tuple(
        id
        for id, case in baseline.cases.items()
        if id not in now
        and id not in baseline.renamed
        and not (case.status is Status.ERROR and any(collected(test, id) for test in now))
    )


def collected(test: str, collector: str) -> bool:
    """Return whether `test` is in `collector`, the id of a file, class or package."""
    return test.startswith((f"{collector}::", f"{collector}/"))


def is_among(test: str, names: Iterable[str]) -> bool:
    """Return whether `test` is one of `names`, or in a file, class or package among them (not collected)."""
    return any(test == one or collected(test, one) for one in names)


def lost(attempt: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the ids of tests that passed in the baseline, or failed as expected, and now fail, are skipped or gone.

    A test that passed is also lost if it is now expected to fail. Tests in `flaky` do not count.
    """
    now, found = attempt.cases, []
    vanished = set(gone(attempt, baseline))
    for id, case in baseline.cases.items():
        if case.status in PASSING and id not in flaky:
            # An expected failure may start to pass; a passing test must not become an expected failure.
            fine = PASSING if case.status is Status.XFAILED else PASSED
            if id in vanished or (id in now and now[id].status not in fine):
                found.append(id)
    return tuple(found)


def bad(attempt: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the ids of failing tests and errors, and baseline failures that vanished instead of being repaired."""
    failing = {id for id, case in attempt.cases.items() if case.status.bad and id not in flaky}
    vanished = {id for id in gone(attempt, baseline) if baseline.cases[id].status.bad and id not in flaky}
    return tuple(sorted(failing | vanished))


def flipped(attempt: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the ids of repaired tests: they failed and now pass.

    A module that could not be collected counts as one repaired test if a test in it passes now.
    """
    now, failed = attempt.cases, [id for id, case in baseline.cases.items() if case.status.bad and id not in flaky]
    passing = _having(Status.PASSED, attempt)
    return tuple(
        id for id in failed if id in passing or (id not in now and any(collected(test, id) for test in passing))
    )


def _having(status: Status, attempt: Attempt) -> set[str]:
    return {id for id, case in attempt.cases.items() if case.status is status}


def remarks(attempt: Attempt) -> tuple[Finding, ...]:
    """Return the findings, including soft ones, of all gates except the tests, which are compared by outcome."""
    return tuple(
        finding for check in attempt.checks if check.gate and check.critic != TESTS for finding in check.findings
    )
