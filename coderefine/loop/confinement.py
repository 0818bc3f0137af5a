"""Choose the sandbox for the tests of an attempt: the tightest in which the project's own tests pass.

The baseline runs with the permissions of the user; attempts run in the sandbox. If tests of an attempt fail, perhaps
because of the sandbox, they run on the unchanged tree, and the accesses that they make there are granted to attempts.
If that is not enough, the sandbox is loosened step by step (sandbox/permissions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from coderefine.core import Ask, Attempt, Patch, without_parameters
from coderefine.errors import CriticError
from coderefine.loop.flaky import functions_kept, ladder, run_quietly
from coderefine.loop.state import State

MOST = 20
"""Maximum number of tests run to find out whether the sandbox is the cause; a project's tests have similar needs."""


def confined(state: State, ask: Ask, run: Callable[[Ask], Attempt]) -> Attempt:
    """Return the result of `run(ask)` in the sandbox; run again if the sandbox broke tests and could be loosened."""
    try:
        attempt = run(replace(ask, freedom=state.freedom))
    except CriticError:
        # Any test shows whether pytest can start at all.
        if not _loosened(state, _fine(state)[:MOST], ask):
            raise
        return run(replace(ask, freedom=state.freedom))
    if _loosened(state, _missed(state, attempt, ask), ask):
        return run(replace(ask, freedom=state.freedom))
    return attempt


def _missed(state: State, attempt: Attempt, ask: Ask) -> Sequence[str]:
    """Return the requested tests that passed at the baseline, and now fail or are missing.

    If something fails that the baseline does not have (a module that cannot be collected, for instance), return tests
    that passed at the baseline, whether they fail or not. A missing test does not count if its test function still has
    as many tests as before: the names of such tests may contain the time.
    """
    before, now = state.baseline.cases, attempt.cases
    fine = _fine(state, ask.files)
    if any(case.status.bad and name not in before for name, case in now.items()):
        return fine[:MOST]
    asked = before if ask.tests is None else frozenset(ask.tests)
    kept = functions_kept(state.baseline, attempt)

    def is_missed(name: str) -> bool:
        case = now.get(name)
        return case.status.bad if case else without_parameters(name) not in kept

    return [name for name in fine if name in asked and is_missed(name)]


def _fine(state: State, files: Sequence[str] | None = None) -> Sequence[str]:
    """Return the tests that pass at the baseline and are not flaky; only tests in `files`, if given."""
    cases = state.baseline.cases.values()
    fine = (case.id for case in cases if not case.status.bad and case.id not in state.flaky)
    return [name for name in fine if files is None or name.partition("::")[0] in files]


def _loosened(state: State, names: Sequence[str], ask: Ask) -> bool:
    """Loosen the sandbox until `names` pass on the unchanged tree; return whether it was changed."""
    asked = tuple(name for name in names if name not in state.bears)[:MOST]
    if not asked:
        return False
    state.bears |= set(asked)
    ask = Ask(ask.scope, tests=asked, rich=False, seed=ask.seed, timeout=ask.timeout)
    critic = state.test_runner()
    for freedom in ladder(state.parts.views, critic, ask, state.freedom):
        check = run_quietly(state.parts.views, critic, Patch(), replace(ask, freedom=freedom))
        if not check.failing and all(name in check.cases for name in asked):
            before, state.freedom = state.freedom, freedom
            return freedom != before
    return False
