"""How tightly the tests of an attempt are confined: as tightly as the project's own tests bear.

The baseline runs as free as the user's own code may; attempts run confined, and only when that may be what hurts
them is the untouched tree asked: it runs once more, watched, and attempts may then do what it did; only where that is
not enough the sandbox is loosened step by step (sandbox/permissions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from coderefine.core import Ask, Attempt, Critic, Patch
from coderefine.errors import CriticError
from coderefine.loop.critique import critique
from coderefine.loop.flaky import ladder
from coderefine.loop.state import State, tests

MOST = 20
"""Tests that are asked whether the sandbox is to blame: what one project's tests need is mostly alike."""


def confined(state: State, ask: Ask, run: Callable[[Ask], Attempt]) -> Attempt:
    """What `run` makes of `ask` in the sandbox; once more, when tests were lost to the sandbox and it is loosened."""
    try:
        attempt = run(replace(ask, freedom=state.freedom))
    except CriticError:
        # Whether pytest can start at all shows on any test.
        if not _loosened(state, _fine(state)[:MOST], ask):
            raise
        return run(replace(ask, freedom=state.freedom))
    if _loosened(state, _missed(state, attempt, ask), ask):
        return run(replace(ask, freedom=state.freedom))
    return attempt


def _missed(state: State, attempt: Attempt, ask: Ask) -> Sequence[str]:
    """Tests that passed at the baseline and were asked for, and do not pass now, or could not be collected."""
    before, now = state.baseline.cases, attempt.cases
    if any(case.status.bad and name not in before for name, case in now.items()):
        return _fine(state)[:MOST]
    asked = before if ask.tests is None else frozenset(ask.tests)
    return [name for name in _fine(state) if name in asked and (name not in now or now[name].status.bad)]


def _fine(state: State) -> Sequence[str]:
    """Tests that pass at the baseline."""
    cases = state.baseline.cases.values()
    return [case.id for case in cases if not case.status.bad and case.id not in state.flaky]


def _loosened(state: State, names: Sequence[str], ask: Ask) -> bool:
    """Whether the sandbox had to be loosened for `names` to pass on the untouched tree."""
    asked = tuple(name for name in names if name not in state.bears)[:MOST]
    if not asked:
        return False
    state.bears |= set(asked)
    ask = Ask(ask.scope, tests=asked, rich=False, seed=ask.seed, timeout=ask.timeout)
    suite = tests(state.baseline)
    critic = next(critic for critic in state.parts.critics if suite and critic.name == suite.critic)
    for freedom in ladder(state.parts.views, critic, ask, state.freedom):
        if _pass(state, critic, replace(ask, freedom=freedom)):
            before, state.freedom = state.freedom, freedom
            return freedom != before
    return False


def _pass(state: State, critic: Critic, ask: Ask) -> bool:
    """Whether the tests of `ask` are fine on the untouched tree."""
    try:
        (check,) = critique(state.parts.views, (critic,), Patch(), ask)
    except CriticError:
        return False
    return not check.failing and all(name in check.cases for name in ask.tests or ())
