"""Run the advisers (critics that do not gate), once all gates pass; advice never overrides a gate."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from coderefine import judge
from coderefine.core import Ask, Attempt, Check, Comparer, Verdict, View
from coderefine.errors import CriticError
from coderefine.loop.state import State, advice_on, advised


def content(state: State) -> bool:
    """Return whether the best attempt leaves nothing to do.

    If all its gates are clean, and the advisers have not checked it yet, run the advisers on it first.
    """
    if not state.clean(state.best):
        return False
    if state.parts.advice and not advice_on(state.best):
        state.notify("stage", "review")
        try:
            with state.parts.views.open(state.best.patch) as view:
                ask = _ask(state, state.best)
                checks = tuple(critic.check(view, ask) for critic in state.parts.advice)
        except CriticError as error:
            state.notify("note", str(error))
            checks = tuple(Check(critic.name, gate=False, notes=(str(error),)) for critic in state.parts.advice)
        state.best = replace(state.best, checks=(*state.best.checks, *checks))
        state.attempts[state.best.number] = state.best
        state.parts.record(state.best)
    return not advised(state.best) or state.parts.task.is_refinement_sufficient(state.best)


def with_advice(state: State, attempt: Attempt) -> Attempt:
    """Return `attempt` with the advisers' checks, if the best attempt has such checks to compare with.

    An attempt with findings of gates or lost tests is refused without running the advisers; an attempt that an adviser
    rejects is refused too. Raises CriticError, and the errors of the model's client.
    """
    if not advice_on(state.best):
        return attempt
    if state.left(attempt) or judge.lost(attempt, state.baseline, state.flaky):
        return attempt.refused(attempt.verdict.reason or "its gates are not clean")
    results = _compared(state, attempt)
    refused = [one for one in results if isinstance(one, Verdict)]
    if refused:
        return replace(attempt, verdict=refused[0])
    return replace(attempt, checks=(*attempt.checks, *(one for one in results if isinstance(one, Check))))


def _compared(state: State, attempt: Attempt) -> tuple[Check | Verdict, ...]:
    """Return, for each adviser, its check of `attempt`, or the verdict by which it rejects `attempt`.

    Advisers that compare (Comparer) also get views of the first attempt that has advice, and of the best attempt.
    """
    ask = _ask(state, attempt)
    first = next(one for one in state.attempts if advice_on(one))
    rivals = (first,) if first.number == state.best.number else (first, state.best)
    results: list[Check | Verdict] = []
    with ExitStack() as stack:
        view = stack.enter_context(state.parts.views.open(attempt.patch))
        rival_views: list[View] = []
        for critic in state.parts.advice:
            if not isinstance(critic, Comparer):
                results.append(critic.check(view, ask))
                continue
            rival_views = rival_views or [stack.enter_context(state.parts.views.open(rival.patch)) for rival in rivals]
            checks = (rival.check(critic.name) or Check(critic.name) for rival in rivals)
            results.append(critic.compare(view, ask, list(zip(rival_views, checks, strict=True))))
    return tuple(results)


def _ask(state: State, attempt: Attempt) -> Ask:
    return Ask(state.parts.scope, frozenset(attempt.patch.files), timeout=state.patience)
