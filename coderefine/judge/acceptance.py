"""Whether the acceptance tests of a task have judged an attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coderefine.core import Attempt, Case, Status
from coderefine.core.plurals import listed
from coderefine.core.views import inside

PASSED = (Status.PASSED, Status.XPASSED)


def not_judged(attempt: Attempt, judged: Sequence[str]) -> str:
    """Return why the acceptance tests (those in the files or folders `judged`) prove nothing; "" if one of them passes.

    A test that fails as expected still fails, and a skipped test has not run.
    """
    cases = [case for case in attempt.cases.values() if inside(case.path, judged)]
    if any(case.status in PASSED for case in cases):
        return ""
    return still_failing(_ids(case for case in cases if case.status is not Status.SKIPPED)) or (
        f"the tests that judge it did not run: {listed(_ids(cases) or tuple(judged))}"
    )


def still_failing(tests: Sequence[str]) -> str:
    """Return the reason that the acceptance tests `tests` fail; "" if there are none."""
    return f"the tests that judge it still fail: {listed(tests)}" if tests else ""


def _ids(cases: Iterable[Case]) -> tuple[str, ...]:
    return tuple(case.id for case in cases)
