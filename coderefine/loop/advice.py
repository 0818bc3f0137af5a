"""The advisers' turn: once the gates are content, and never against them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from coderefine import judge
from coderefine.core import Ask, Attempt, Check, Comparer, Verdict, View
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

    One that the gates like less is refused without asking them, and so is one that an adviser says no to. Raises
    CriticError, and what a model's client raises.
    """
    if not advice_on(state.best):
        return attempt
    if state.left(attempt) or judge.lost(attempt, state.baseline, state.flaky):
        return replace(attempt, verdict=Verdict(ok=False, reason=attempt.verdict.reason or "its gates are not clean"))
    said = _compared(state, attempt)
    refused = [one for one in said if isinstance(one, Verdict)]
    if refused:
        return replace(attempt, verdict=refused[0])
    return replace(attempt, checks=(*attempt.checks, *(one for one in said if isinstance(one, Check))))


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
    with state.parts.views.open(attempt.patch) as view:
        return tuple(critic.check(view, _ask(state, attempt)) for critic in state.parts.advice)


def _compared(state: State, attempt: Attempt) -> tuple[Check | Verdict, ...]:
    """What the advisers say of `attempt`; those that compare see its rivals open beside it."""
    ask = _ask(state, attempt)
    first = next(one for one in state.attempts if advice_on(one))
    rivals = (first,) if first.number == state.best.number else (first, state.best)
    said: list[Check | Verdict] = []
    with ExitStack() as stack:
        view = stack.enter_context(state.parts.views.open(attempt.patch))
        beside: list[View] = []
        for critic in state.parts.advice:
            if not isinstance(critic, Comparer):
                said.append(critic.check(view, ask))
                continue
            beside = beside or [stack.enter_context(state.parts.views.open(rival.patch)) for rival in rivals]
            said.append(critic.compare(view, ask, _with_word(critic.name, beside, rivals)))
    return tuple(said)


def _with_word(critic: str, views: Sequence[View], rivals: Sequence[Attempt]) -> list[tuple[View, Check]]:
    """Each view with what `critic` said of it."""
    return [(view, rival.check(critic) or Check(critic)) for view, rival in zip(views, rivals, strict=True)]


def _ask(state: State, attempt: Attempt) -> Ask:
    return Ask(state.parts.scope, frozenset(attempt.patch.files), timeout=state.patience)
