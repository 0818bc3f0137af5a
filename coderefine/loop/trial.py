"""Try one patch: check whether it is admissible, apply it in a private view, run the critics, judge the result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from coderefine import judge
from coderefine.core import KEEPING, PLAUSIBLE, Ask, Attempt, Case, Check, Cost, Critic, Patch, Verdict
from coderefine.errors import CriticError
from coderefine.loop.advice import with_advice
from coderefine.loop.behaviour import CHANGES, Behaviour
from coderefine.loop.confinement import confined
from coderefine.loop.critique import critique
from coderefine.loop.flaky import run_quietly
from coderefine.loop.proof import examined, excuse
from coderefine.loop.special_cases import KNOWS
from coderefine.loop.state import LINTERS, SEED, Ahead, State, advice_on, failing
from coderefine.runner.suspect import KILLED
from coderefine.runner.test_selection import nearest, within

STATIC = ("ruff", "radon")
"""Critics that run no code of the project; patches of the origins LINTERS and KEEPING repair their findings."""
SHARE = 0.25
"""Maximum share of the suite's time for the tests that reach an edit, with the start of their process."""


def tried(state: State, patch: Patch) -> Attempt:
    """Judge `patch` as the next attempt; its verdict is positive if it is better than the best attempt so far."""
    number = len(state.attempts)
    admitted = _admitted(state, patch)
    if not admitted:
        return Attempt(number, patch, verdict=admitted)
    try:
        return (
            _refused_unrun(state, number, patch)
            or _refused_early(state, number, patch)
            or _kept(state, _general(state, _judged(state, number, patch)))
        )
    except CriticError as error:
        return Attempt(number, patch, verdict=Verdict(ok=False, reason=str(error)), cost=Cost(test_runs=1))


def _admitted(state: State, patch: Patch) -> Verdict:
    """Return a negative verdict if the judge's rules refuse `patch`, or the task refuses one of its changes."""
    admitted = state.admit(patch, frozenset(state.seen), state.situation.findings, _sources(state))
    refuses = state.parts.task.refuses
    reasons = (refuses(path, state.parts.original(path), data) for path, data in patch.files.items()) if refuses else ()
    reason = next(filter(None, reasons), "") if admitted else ""
    return Verdict(ok=False, reason=reason) if reason else admitted


def _general(state: State, attempt: Attempt) -> Attempt:
    """Refuse `attempt` if it repairs tests by special-casing their inputs; otherwise return it unchanged.

    It is refused, too, if the file of a test does not parse, because then nothing shows whether it copies answers.
    """
    guard = state.parts.special
    repaired = failing(state.best) - failing(attempt) if attempt.verdict else frozenset()
    cases = {name: case for name, case in state.baseline.cases.items() if name in repaired}
    if why := _unreadable(state, cases.values()):
        return attempt.refused(why)
    if guard is None or not repaired:
        return attempt
    if known := state.earlier(attempt.patch):
        return attempt.refused(known.verdict.reason) if known.verdict.reason.startswith(KNOWS) else attempt
    verdict = guard(state.parts.views, attempt.patch, state.originals(attempt.patch), cases)
    return attempt if verdict else attempt.refused(verdict.reason)


def _unreadable(state: State, cases: Iterable[Case]) -> str:
    paths = sorted({case.path for case in cases})
    return next(filter(None, (judge.unreadable(path, state.parts.original(path)) for path in paths)), "")


def _kept(state: State, attempt: Attempt) -> Attempt:
    """Refuse `attempt` if it is accepted so far, but changes behaviour; otherwise return it unchanged."""
    if attempt.patch.origin in KEEPING and attempt.verdict:
        return _equal(state, attempt)
    behaviour = state.parts.behaviour
    if behaviour is None or not attempt.verdict:
        return attempt
    state.notify("stage", "behaviour")
    verdict = _preserved(state, attempt.patch, behaviour)
    state.held[attempt.number] = verdict.reason
    return attempt if verdict else attempt.refused(verdict.reason)


def _preserved(state: State, patch: Patch, behaviour: Behaviour) -> Verdict:
    """Return whether `patch` preserves behaviour; a resumed or replayed run decides as the recorded run did."""
    known = state.earlier(patch)
    if known and known.verdict.reason.startswith(CHANGES):
        return known.verdict
    now = behaviour.check(state.parts.views, patch, state.baseline.cases)
    preserved = known and (known.verdict or known.verdict.reason.startswith(PLAUSIBLE))
    return Verdict(ok=True, reason=now.reason if now else "") if preserved else now


def _equal(state: State, attempt: Attempt) -> Attempt:
    """Refuse `attempt` if an edited function behaves differently, or if this is unknown; otherwise return it unchanged.

    A patch that will only be offered to the user is not refused because of unknown behaviour.
    """
    equivalence, patch = state.parts.equivalence, attempt.patch
    if equivalence is None:
        return attempt
    state.notify("stage", "behaviour")
    originals = {**state.originals(patch), **state.best.patch.files}
    best = state.best
    left = state.seconds_to_judge
    found = equivalence.compare(state.parts.views, best.patch, patch, best.cases, originals, within=left)
    offered = any(search.proposed is patch and search.offer for search in state.searches())
    if found.different or (found.unknown and not offered):
        return attempt.refused(found.reason)
    state.held[attempt.number] = found.reason
    return attempt


def _sources(state: State) -> tuple[str, ...]:
    """Return the texts of the files with failing tests, from which a patch must not copy expected values."""
    cases = (case for case in state.baseline.cases.values() if case.status.bad)
    paths = dict.fromkeys(case.path for case in cases if case.path)
    return tuple((state.parts.original(path) or b"").decode("utf-8", "replace") for path in paths)


def _refused_unrun(state: State, number: int, patch: Patch) -> Attempt | None:
    """Return a refused attempt if this lint fix or refactoring can be refused without running tests, else None.

    It is refused if the patch does not reduce the findings, or if it adds a finding: then neither this patch nor any
    patch based on it could be published.
    """
    if patch.origin not in LINTERS | KEEPING:
        return None
    critics = [critic for critic in state.parts.critics if critic.name in STATIC]
    ask = Ask(state.parts.scope, frozenset(patch.files), timeout=state.patience)
    fresh = critique(state.parts.views, critics, patch, ask, before=state.baseline.checks)
    attempt = Attempt(number, patch, _updated(state.best.checks, fresh))
    attempt = replace(attempt, verdict=_weighed(state, attempt) and state.may_publish(attempt))
    return None if attempt.verdict else attempt


def _updated(checks: Sequence[Check], fresh: Iterable[Check]) -> tuple[Check, ...]:
    """Return `checks`, those of the same critics as in `fresh` replaced by them."""
    found = {check.critic: check for check in fresh}
    return tuple(found.get(check.critic, check) for check in checks)


def _refused_early(state: State, number: int, patch: Patch) -> Attempt | None:
    """Run some tests of a slow suite; return the refused attempt if it is no better than the best one, else None.

    The failing tests and the tests that earlier attempts broke run first, then tests that are known to reach the edit.
    If other machines can run tests, all tests run there instead of the latter, so that the proof, which runs on this
    machine, is needed only for patches that pass.
    """
    asked = _likely_failing(state)
    if not asked:
        return None
    start = Attempt(number, patch, tuple(check for check in state.best.checks if check.gate))
    state.notify("stage", "running the failing tests")
    attempt = _judged_by(state, state.parts.critics, start, asked)
    if attempt.verdict and state.parts.spread is not None:
        state.notify("stage", "running all tests on other machines")
        attempt = _judged_by(state, state.parts.critics, attempt, None)
    elif attempt.verdict and (near := _reaching(state, attempt, asked)):
        state.notify("stage", "running the tests that reach the edit")
        attempt = _judged_by(state, [state.test_runner()], attempt, near)
    return None if attempt.verdict else attempt


def _reaching(state: State, attempt: Attempt, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the tests that are known to reach the edit, the nearest to the tests `asked` first; see SHARE.

    Return none if the search proposed the edit, because it has run these tests. `attempt` has the checks of `asked`.
    """
    suite, now = state.best.suite, attempt.suite
    if suite is None or now is None or any(search.proposed is attempt.patch for search in state.searches()):
        return ()
    start = now.seconds - sum(now.cases[name].seconds for name in asked if name in now.cases)
    passing = (name for name in _known_to_run(state, attempt.patch) if not suite.cases[name].status.bad)
    return tuple(within(nearest(asked, passing), suite.durations, SHARE * suite.seconds - start))


def _known_to_run(state: State, patch: Patch) -> list[str]:
    """Return the tests, without flaky ones, that are known to run a function which `patch` changes, in their order."""
    before = {**state.originals(patch), **state.best.patch.files}
    found = {name for known in state.known_coverage() for name in judge.reaching(known, before, patch.files)}
    return [name for name in state.best.cases if name in found - state.flaky]


def begin_ahead(state: State, patches: Iterable[Patch]) -> None:
    """Start all tests of `patches`, which may be tried next, on other machines; `_judged_by` uses their results."""
    submit = state.parts.spread
    if submit is None or not _likely_failing(state):
        return
    known = [*(one.patch for one in state.ahead), *(one.patch for one in state.attempts)]
    for patch in patches:
        if patch not in known and _admitted(state, patch):
            ask = replace(_question(state, patch, None), freedom=state.freedom)
            run = partial(critique, state.parts.views, state.parts.critics, patch, ask, before=state.best.checks)
            state.ahead.append(Ahead(patch, replace(ask, timeout=0.0), state.best.number, submit(run)))


def _question(state: State, patch: Patch, asked: tuple[str, ...] | None) -> Ask:
    return Ask(state.parts.scope, frozenset(patch.files), asked, seed=SEED, timeout=state.patience, computing=KILLED)


def _judged_by(state: State, critics: Sequence[Critic], before: Attempt, asked: tuple[str, ...] | None) -> Attempt:
    """Return `before` with the checks of `critics` on the tests `asked` (None: all), and a verdict on it.

    Tests that do not run are assumed to end as in the checks of `before`; tests lost by chance are excused.
    """
    patch = before.patch
    ask = _question(state, patch, asked)

    def run(ask: Ask) -> Attempt:
        wanted = (patch, replace(ask, timeout=0.0), state.best.number)  # the time limits may differ
        if ahead := next((one for one in state.ahead if (one.patch, one.ask, one.best) == wanted), None):
            state.ahead.remove(ahead)
            checks = ahead.checks.result()
        else:
            checks = critique(state.parts.views, critics, patch, ask, before=before.checks)
        return replace(before, checks=_updated(before.checks, checks), cost=Cost(test_runs=1))

    attempt = confined(state, ask, run)
    attempt = replace(attempt, verdict=_weighed(state, attempt))
    if not attempt.verdict:
        attempt = attempt if asked is None else _without_needy(state, before, attempt, ask)
        excuse(state, attempt, replace(ask, rich=False, freedom=state.freedom, tests=None))
        attempt = replace(attempt, verdict=_weighed(state, attempt))
    return attempt


def _without_needy(state: State, before: Attempt, attempt: Attempt, ask: Ask) -> Attempt:
    """Return `attempt` with the results in `before` of lost tests that fail on the best tree, too, if only they run.

    Such a test needs other tests to run before it; only a run of all tests judges it.
    """
    lost, suite = judge.lost(attempt, state.baseline, state.flaky), attempt.suite
    alone = replace(ask, tests=lost, rich=False, freedom=state.freedom)
    found = run_quietly(state.parts.views, state.test_runner(), state.best.patch, alone).failing
    needy = before.cases.keys() & set(lost).intersection(found)
    if suite is None or not needy:
        return attempt
    cases = {**suite.cases, **{name: before.cases[name] for name in needy}}
    findings = tuple(finding for finding in suite.findings if finding.symbol not in needy)
    return replace(attempt, checks=_updated(attempt.checks, [replace(suite, cases=cases, findings=findings)]))


def _likely_failing(state: State) -> tuple[str, ...]:
    """Return the tests to run first, which most probably fail; none if the suite is fast or the names are unknown.

    A module that cannot be collected hides the names of its tests.
    """
    suite = state.best.suite
    if suite is None or not suite.slow or any("::" not in name for name in suite.failing):
        return ()
    broken = (judge.lost(attempt, state.baseline, state.flaky) for attempt in state.attempts[1:])
    wanted = dict.fromkeys((*suite.failing, *chain.from_iterable(broken)))
    return tuple(name for name in wanted if name not in state.absent)


def _judged(state: State, number: int, patch: Patch) -> Attempt:
    """Run all critics as the final proof does, then the advisers if they have checked the best attempt."""
    attempt = examined(state, Attempt(number, patch, cost=Cost(test_runs=1)))
    attempt = replace(attempt, verdict=_weighed(state, attempt))
    if not advice_on(state.best):
        return attempt
    attempt = with_advice(state, attempt)
    return replace(attempt, verdict=_weighed(state, attempt)) if advice_on(attempt) else attempt


def _weighed(state: State, attempt: Attempt) -> Verdict:
    originals = {**state.originals(attempt.patch), **state.originals(state.best.patch)}
    return judge.weigh(attempt, state.best, state.baseline, state.parts.scope, state.flaky, originals=originals)
