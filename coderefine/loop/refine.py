"""refine(): judge the baseline, try patches of the proposers, run the final proof."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from coderefine.core import (
    KEEPING,
    Ask,
    Attempt,
    Check,
    Cost,
    Freedom,
    Offer,
    Outcome,
    Patch,
    Proposals,
    Proposer,
    Situation,
    Stop,
    Views,
)
from coderefine.errors import BudgetError, ModelError
from coderefine.loop.advice import content
from coderefine.loop.critique import critique
from coderefine.loop.fast_proof import announcement
from coderefine.loop.flaky import rerun_failing
from coderefine.loop.offered import held_back, standing
from coderefine.loop.proof import prove
from coderefine.loop.state import SEED, Parts, State
from coderefine.loop.trial import begin_ahead, tried
from coderefine.runner.suspect import SUSPECTED

End = tuple[Stop, str]
WITHOUT_MORE = frozenset({Stop.CLEAN, Stop.NO_PROGRESS, Stop.CYCLE, Stop.UNFIXABLE})
"""Reasons to stop that mean only that nothing better was found."""


def refine(parts: Parts) -> Outcome:
    """Refine until the gates are clean or a limit is reached. Errors of a candidate are never raised.

    Raises CriticError if the *baseline* cannot be judged. Ctrl-C ends the run with Stop.INTERRUPTED and the
    best attempt that passed every check so far.
    """
    return run_loop(judge_start(parts))


def run_loop(state: State) -> Outcome:
    """Run the loop from the judged baseline of `state`; see `refine`."""
    try:
        stop, why = _climb(state)
        if stop is not Stop.INTERRUPTED:
            try:
                best = prove(state)
                offers = standing(state, best)
                return state.closed(best, *_reason(state, best, stop, why, offers), offers=offers)
            except KeyboardInterrupt:
                why = "interrupted during the final proof"
        best = next(iter(state.publishable()), state.baseline)  # without the final proof
        if best.number:
            state.evidence = state.show(best)
        return state.closed(best, Stop.INTERRUPTED, why)
    finally:
        state.confirmation.close()


def judge_start(parts: Parts) -> State:
    """Judge the tree as it is, and return the state of a run that begins with it. Raises CriticError."""
    state = State(parts)
    state.notify("stage", "checks")
    ask = Ask(parts.scope, seed=SEED, timeout=state.patience, computing=SUSPECTED)
    checks = critique(parts.views, parts.critics, Patch(), ask, look=state.name_view)
    suite = next((check for check in checks if check.cases), None)
    if suite and (cost := announcement(suite.seconds, fast=parts.fast is not None)):
        state.notify("note", cost)
    state.freedom = Freedom(needs=suite.needs) if suite else state.freedom
    begin(state, checks, ask)
    return state


def begin(state: State, checks: tuple[Check, ...], ask: Ask) -> None:
    """Make `checks` the baseline of `state`, and rerun its failing tests."""
    state.best = Attempt(0, Patch(), checks, cost=Cost(test_runs=1))
    suite = state.best.suite
    if suite and suite.failing and (state.parts.proposers or state.parts.given):
        state.notify("stage", f"running the failing tests again, traced ({len(suite.failing)})")
        critic = next(critic for critic in state.parts.critics if critic.name == suite.critic)
        again = rerun_failing(state.parts.views, critic, suite, ask)
        state.flaky, state.freedom = state.flaky | again.flaky, again.freedom
        state.trace, state.follow = again.trace, again.followed
        state.steady, state.absent = again.steady, again.absent
        # The reruns are over, and a proposer may begin without an event.
        state.notify("stage", "choosing the next step")
    state.keep(state.best)
    if state.parts.proposers and not state.parts.given:
        announce(state)


def _climb(state: State) -> End:
    ladder = Ladder(state.parts.proposers, state.parts.views)
    try:
        while _is_given_open(state) or not content(state):
            if not _is_given_open(state) and (limit := next(_limits(state), None)):
                return limit
            began = time.monotonic()
            patch = ladder.next(state.situation)
            if patch is None:
                return _gave_up(state, ladder)
            _step(state, ladder, patch, began)
    except BudgetError as error:
        return Stop.BUDGET, f"{error.which}: {error}"
    except ModelError as error:
        return Stop.ENVIRONMENT, str(error)
    except KeyboardInterrupt:
        return Stop.INTERRUPTED, "interrupted"
    finally:
        state.loose = ladder.last_cost
        ladder.close()
    return Stop.CLEAN, ""


def _is_given_open(state: State) -> bool:
    """Return whether a given patch was not tried yet; such a patch is tried even if nothing is left to repair."""
    return state.parts.given and len(state.attempts) == 1


def _step(state: State, ladder: Ladder, patch: Patch, began: float) -> None:
    """Try one patch; it becomes the best attempt if it is better. `began`: monotonic time when it was requested.

    A patch that the user gave becomes the best attempt even if it is not better, provided that critics could check it
    and that something is left to repair.
    """
    state.notify("attempt", f"{patch.origin}: {patch.summary}", done=len(state.attempts), cost=ladder.spent)
    begin_ahead(state, ladder.coming)
    attempt = tried(state, patch)
    cost = replace(ladder.last_cost, seconds=time.monotonic() - began)
    attempt = held_back(state, replace(attempt, cost=attempt.cost + cost))
    state.keep(attempt)
    state.notify("verdict", attempt.verdict.reason, done=attempt.number, cost=ladder.spent)
    if attempt.verdict or (state.parts.given and attempt.number == 1 and attempt.checks and not state.clean(attempt)):
        state.best = attempt  # later patches are based on the given patch even if it is not better
        ladder.climbed()


def _limits(state: State) -> Iterator[End]:
    """Yield the limits that are reached, as reasons to stop; only attempts with model requests count as iterations."""
    limits, rounds = state.parts.limits, sum(attempt.cost.requests > 0 for attempt in state.attempts)
    if not state.wanted and (left := _left_aside(state)):
        yield Stop.NO_PROGRESS, left
    if rounds >= (limits.iterations or math.inf):
        yield Stop.ITERATIONS, f"{rounds} of {limits.iterations} rounds with the model are used (--max-iterations)"
    if time.monotonic() >= (state.proposing_ends or math.inf):
        yield Stop.BUDGET, f"the {limits.seconds:g} s of --timeout are used up"
    if limits.test_runs is not None and state.spent.test_runs >= limits.test_runs:
        yield Stop.BUDGET, f"test runs: {state.spent.test_runs} used"


def _left_aside(state: State) -> str:
    """Return a text on the findings of gates that were set aside (see `State.aside`); "" if there are none."""
    counts = Counter(finding.critic for finding in state.left(state.best))
    aside = [name for name in sorted(state.aside) if counts[name]]
    if not aside:
        return ""
    left = " and ".join(f"{counts[name]} of {name}" for name in aside)
    suite = state.best.suite
    gates = " ".join(f"--gate {name}" for name in (*([suite.critic] if suite else []), *aside))
    return (
        f"left because tests failed and these are many: {left}; `fix` tries them once no test fails, `fix {gates}` now"
    )


def _gave_up(state: State, ladder: Ladder) -> End:
    if ladder.reason:
        return Stop.UNFIXABLE, ladder.reason
    if len(state.attempts) == 1 and not ladder.spent.requests:
        return Stop.UNFIXABLE, _no_idea(state, ladder)
    if any("seen before" in attempt.verdict.reason for attempt in state.attempts[-2:]):
        return Stop.CYCLE, "the proposals repeat themselves"
    nothing = "; ".join(filter(None, (f"nothing further from {', '.join(ladder.names)}", _hindered(state))))
    return Stop.NO_PROGRESS, _left_aside(state) or nothing


def _hindered(state: State) -> str:
    """Return what may have kept the search from finding a repair, such as a lack of time; "" if nothing did."""
    return next((one.hindrance for one in state.searches() if one.hindrance), "")


def _no_idea(state: State, ladder: Ladder) -> str:
    """Return why there was no attempt: the search could not end, files are protected, or nothing was found."""
    hindered = _hindered(state) or hindrance(state)
    shut = [one for one in _protected_code(state) if one not in hindered][:SHOWN]
    left = f" outside of protected code that the failing tests run: {'; '.join(shut)}" if shut else ""
    if hindered:
        return f"{hindered}; no repair{left}" if left else hindered
    return f"{', '.join(ladder.names) or 'no proposer'} found no repair{left}"


def _reason(state: State, best: Attempt, stop: Stop, why: str, offers: tuple[Offer, ...]) -> End:
    if state.clean(best):
        if why and state.parts.advice:
            state.notify("note", f"the review ended early: {why}")
        return Stop.CLEAN, ""
    if offers and stop in WITHOUT_MORE:
        return Stop.OFFERED, "what may be wrong is not written"
    if stop is Stop.CLEAN:
        return Stop.NO_PROGRESS, "the final proof did not confirm what the attempts showed"
    held = state.judges_pass(state.best)
    return (stop, why) if held or best.number else (stop, f"{why}; {held.reason}")


SHOWN = 3
"""Maximum number of protected files, and of reasons, that a message names."""


def announce(state: State) -> None:
    """Report the protected files whose findings will remain."""
    for path, count in list(_counts(state).items())[:SHOWN]:
        left = "its finding is left" if count == 1 else f"its {count} findings are left"
        state.notify("note", f"{state.parts.reason(path)}: {left}")


def hindrance(state: State) -> str:
    """Return why nothing could be tried, if the reason is that files are protected; else "".

    That is the reason if every remaining finding is a failing test or in a protected file, and if all files that the
    failing tests run, apart from test files, are protected.
    """
    left, counts = state.left(state.best), _counts(state)
    if not left:
        return ""
    failing = any(finding.symbol in state.best.cases for finding in left)
    if any(finding.path not in counts and finding.symbol not in state.best.cases for finding in left):
        return ""
    sources = _executed(state) if failing else {}
    if failing and (not sources or not all(sources.values())):
        return ""
    reasons = [*filter(None, map(state.parts.reason, counts)), *filter(None, sources.values())]
    return "; ".join(dict.fromkeys(reasons[:SHOWN]))


def _counts(state: State) -> Mapping[str, int]:
    """Count the remaining findings per protected file; failing tests do not count, as changes elsewhere repair them."""
    suite = state.best.suite
    found = (item for item in state.left(state.best) if suite is None or item.critic != suite.critic)
    return Counter(finding.path for finding in found if state.parts.reason(finding.path))


def _protected_code(state: State) -> tuple[str, ...]:
    """Return, for each protected file outside the tests' folders that failing tests run, why it is protected."""
    folders = {PurePosixPath(case.path).parent for case in state.best.cases.values() if case.path}
    found = ((PurePosixPath(path), reason) for path, reason in _executed(state).items() if reason)
    return tuple(reason for path, reason in found if folders.isdisjoint(path.parents))


def _executed(state: State) -> Mapping[str, str | None]:
    """Return the files that failing tests run, except test files, with the reason for protection (None: writable)."""
    files = {path for lines in state.trace.values() for path in lines}
    suites = {case.path for case in state.best.cases.values()}
    return {path: state.parts.reason(path) for path in sorted(files - suites)}


class Ladder:
    """Gets each patch from the cheapest proposer that still has a patch.

    After an accepted patch the cheaper proposers start again on the improved tree (a model's repair may leave lint
    findings that ruff fixes at no cost), while the more expensive proposers keep their state. While tests fail, changes
    that must keep behaviour come last: they can take minutes, and the user waits for the tests to pass.
    """

    def __init__(self, proposers: Sequence[Proposer], views: Views) -> None:
        self._proposers = tuple(proposers)
        self._views = views
        self._running: dict[str, Proposals | None] = {}
        """The running generator of each proposer, by its name; None: the proposer has no further patch."""
        self._last = 0
        """Index of the proposer that was asked last."""
        self._paid = Cost()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(proposer.name for proposer in self._proposers)

    @property
    def reason(self) -> str:
        """Return why a proposer proposes nothing; "" if no proposer gives a reason."""
        return next((reason for one in self._proposers if (reason := getattr(one, "reason", ""))), "")

    @property
    def coming(self) -> Sequence[Patch]:
        """Return the patches that the last proposer will propose next, unless the situation changes."""
        return getattr(self._proposers[self._last], "coming", ())

    @property
    def spent(self) -> Cost:
        return sum((proposer.spent for proposer in self._proposers), Cost())

    @property
    def last_cost(self) -> Cost:
        """Return the cost since the last read of this property."""
        now, before = self.spent, self._paid
        self._paid = now
        usd = None if now.usd is None or before.usd is None else now.usd - before.usd
        return Cost(
            now.requests - before.requests,
            now.prompt_tokens - before.prompt_tokens,
            now.completion_tokens - before.completion_tokens,
            usd,
            test_runs=now.test_runs - before.test_runs,
        )

    def next(self, situation: Situation) -> Patch | None:
        """Return the next patch, or None if no proposer has one. Raises the errors of the proposers."""
        failing = any(finding.symbol in situation.best.cases for finding in situation.findings)
        order = sorted(enumerate(self._proposers), key=lambda item: failing and item[1].name in KEEPING)
        for index, proposer in order:
            self._last = index
            if (patch := self._ask(proposer, situation)) is not None:
                return patch
            self._running[proposer.name] = None
        return None

    def close(self) -> None:
        """Close every running proposer, with its servers, threads and files."""
        for running in self._running.values():
            if running is not None:
                running.close()

    def climbed(self) -> None:
        """Restart the cheaper proposers, because the last patch was accepted."""
        for proposer in self._proposers[: self._last]:
            if (running := self._running.pop(proposer.name, None)) is not None:
                running.close()

    def _ask(self, proposer: Proposer, situation: Situation) -> Patch | None:
        if proposer.name not in self._running:
            started = self._running[proposer.name] = proposer.propose(situation, self._views)
            return next(started, None)
        running = self._running[proposer.name]
        try:
            return running.send(situation) if running else None
        except StopIteration:
            return None
