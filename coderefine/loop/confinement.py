"""How tightly the tests of an attempt are confined: as tightly as the project's own tests bear.

The baseline runs as free as the user's own code may; attempts run confined, and only when that may be what hurts
them is the untouched tree asked, and the sandbox loosened step by step (runner/sandbox.py).
"""

from __future__ import annotations

from dataclasses import replace

from coderefine import judge
from coderefine.core import Ask, Attempt, Check, Critic, Patch, Views
from coderefine.loop.critique import critique
from coderefine.loop.state import State, tests
from coderefine.runner.sandbox import LOOSEST

MOST = 20
"""Tests that are asked whether the sandbox is to blame: what one project's tests need is mostly alike."""


def freedom(views: Views, critic: Critic, baseline: Check, confined: Check, ask: Ask) -> int:
    """The tightest step at which the failing tests of `baseline` fail as they do outside; `confined` is step 0.

    One that hits the sandbox before it comes to the fault would be red however right the patch.
    """
    odd = _odd(baseline, confined)[:MOST]
    for step in range(1, LOOSEST + 1) if odd else ():
        (again,) = critique(views, (critic,), Patch(), replace(ask, tests=odd, freedom=step))
        if not _odd(baseline, again):
            return step
    return 0


def loosened(state: State, attempt: Attempt, ask: Ask) -> bool:
    """Whether tests that `attempt` lost are lost to the sandbox on the untouched tree too; it is loosened then."""
    suite = tests(state.baseline)
    lost = [name for name in judge.lost(attempt, state.baseline, state.flaky) if name not in state.bears][:MOST]
    if suite is None or not lost:
        return False
    critic = next(critic for critic in state.parts.critics if critic.name == suite.critic)
    ask = Ask(ask.scope, tests=tuple(lost), rich=False, seed=ask.seed, timeout=ask.timeout)
    for step in range(state.freedom, LOOSEST + 1):
        (again,) = critique(state.parts.views, (critic,), Patch(), replace(ask, freedom=step))
        if not again.failing:
            state.bears |= set(lost)
            before, state.freedom = state.freedom, step
            return step > before
    state.bears |= set(lost)
    return False


def _odd(baseline: Check, confined: Check) -> tuple[str, ...]:
    """Tests that fail in another way than at the baseline."""
    both = [(case, confined.cases[case.id]) for case in baseline.cases.values() if case.id in confined.cases]
    return tuple(
        before.id
        for before, after in both
        if before.failure and after.failure and before.failure.exception != after.failure.exception
    )
