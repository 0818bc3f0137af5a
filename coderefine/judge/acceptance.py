"""Whether the acceptance tests of a task have judged an attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coderefine.core import Attempt, Case, Status, Task
from coderefine.core.plurals import listed
from coderefine.core.views import inside
from coderefine.judge.evidence import executed, running
from coderefine.judge.score import PASSED, flipped


def not_judged(attempt: Attempt, baseline: Attempt, task: Task, originals: Mapping[str, bytes | None]) -> str:
    """Return why the acceptance tests of `task` prove nothing; "" if they judge `attempt`.

    At least one of them must pass. A test that fails as expected still fails, and a skipped test has not run. If the
    task has files to write, one of these tests must also have been repaired, or run a changed line (if this is known).
    `originals`: see `evidence`.
    """
    cases = [case for case in attempt.cases.values() if inside(case.path, task.judged)]
    passed = _ids(case for case in cases if case.status in PASSED)
    if not passed:
        return _idle(cases, task)
    if not task.wanted or _repaired(attempt, baseline, task):
        return ""
    unrun = _unrun(attempt, passed, originals)
    verb = "does" if len(task.judged) == 1 else "do"
    return f"{listed(task.judged)} {verb} not run {listed(unrun)}" if unrun else ""


def _idle(cases: Sequence[Case], task: Task) -> str:
    """Return why none of `cases`, the acceptance tests, passes: some ran and still fail, or none ran."""
    failing = _ids(case for case in cases if case.status is not Status.SKIPPED)
    names = _ids(cases) or task.judged
    return still_failing(failing) or f"the tests that judge it did not run: {listed(names)}"


def _repaired(attempt: Attempt, baseline: Attempt, task: Task) -> bool:
    return any(inside(baseline.cases[name].path, task.judged) for name in flipped(attempt, baseline))


def _unrun(attempt: Attempt, tests: Sequence[str], originals: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """Return the files with changed lines if `tests` ran none of these lines; () if they ran any.

    Lines that ran during an import count, because it is not known which test caused the import. Return () also if not
    all `tests` were traced.
    """
    coverage = attempt.coverage or {}
    if any(name not in coverage for name in tests):
        return ()
    found = tuple(executed(attempt, originals))
    ran = {*running(attempt, originals)}
    if any(one.imported for one in found) or not ran.isdisjoint(tests):
        return ()
    return tuple(dict.fromkeys(one.path for one in found))


def still_failing(tests: Sequence[str]) -> str:
    """Return the message that the acceptance tests `tests` still fail; "" if `tests` is empty."""
    return f"the tests that judge it still fail: {listed(tests)}" if tests else ""


def _ids(cases: Iterable[Case]) -> tuple[str, ...]:
    return tuple(case.id for case in cases)
