"""The advisers' turn: once the gates are content, and never against them."""

from __future__ import annotations

from dataclasses import replace

from coderefine import judge
from coderefine.core import Ask, Attempt, Check, Verdict
from coderefine.errors import CriticError
from coderefine.loop.state import State, advice_on, advised


def content(state: State) -> bool:
    """Whether the best attempt leaves nothing to do; the advisers are asked about it if they were not yet."""
    if not state.clean(state.best):
        return False
    if state.parts.advice and not advice_on(state.best):
        _ask_about_best(state)
    return not advised(state.best) or state.parts.task.is_refinement_sufficient(state.best)


def heard(state: State, attempt: Attempt) -> Attempt:
    """`attempt` with the advisers' word when they were heard about the best: they compare like with like.

    One that the gates like less is refused without asking them. Raises CriticError, and what a model's client raises.
    """
    if not advice_on(state.best):
        return attempt
    if state.left(attempt) or judge.lost(attempt, state.baseline, state.flaky):
        return replace(attempt, verdict=Verdict(ok=False, reason=attempt.verdict.reason or "its gates are not clean"))
    return replace(attempt, checks=(*attempt.checks, *_said(state, attempt)))


def _ask_about_best(state: State) -> None:
    """An adviser that cannot be understood is not heard in this run; it blocks nothing."""
    state.say("stage", "review")
    try:
        checks = _said(state, state.best)
    except CriticError as error:
        state.say("note", str(error))
        checks = tuple(Check(critic.name, gate=False, notes=(str(error),)) for critic in state.parts.advice)
    state.best = replace(state.best, checks=(*state.best.checks, *checks))
    state.attempts[state.best.number] = state.best
    state.parts.record(state.best)


def _said(state: State, attempt: Attempt) -> tuple[Check, ...]:
    ask = Ask(state.parts.scope, frozenset(attempt.patch.files), timeout=state.patience)
    with state.parts.views.open(attempt.patch) as view:
        return tuple(critic.check(view, ask) for critic in state.parts.advice)
