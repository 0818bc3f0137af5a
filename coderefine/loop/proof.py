"""The proof of an attempt: all critics run once more, in fresh processes and a clean tree, with another hash seed."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from itertools import takewhile

from coderefine import judge
from coderefine.core import Ask, Attempt, Check, Evidence, Mutation, Patch, Verdict, View
from coderefine.core.plurals import listed
from coderefine.core.views import inside
from coderefine.errors import CriticError
from coderefine.loop.confinement import confined
from coderefine.loop.critique import critique
from coderefine.loop.fast_proof import WHOLE, ChosenTests, carry
from coderefine.loop.flaky import broken_by_chance, functions_kept, renamed, rerun_failing, run_quietly
from coderefine.loop.offered import offer_despite_findings, offer_whole, weak
from coderefine.loop.state import SEED, State, advice_on
from coderefine.loop.strength import Measured
from coderefine.runner.suspect import KILLED
from coderefine.runner.test_selection import nearest, to_watch, within

PROOF_SEED = 2
FURTHER_SEEDS = (3, 4, 5, 6)
"""Hash seeds with which repaired tests run once more, alone, if the result of the patched code may vary."""
AGAIN = 20.0
"""Seconds after which no further run of the repaired tests is started."""
WATCHED, SHARE = 0.2, 0.02
"""Where tracing is slow (see Ask.watched), only tests of WATCHED seconds in total are traced besides failing tests.

If SHARE of the suite's time is more, that is the limit. On Python 3.11 a traced test may take ten times as long.
"""
STRENGTH, GIVEN_STRENGTH = (2.0, 5.0, 0.1), (10.0, 30.0, 0.3)
"""Time for measuring the strength: (minimum seconds, maximum seconds, share of the run's time).

GIVEN_STRENGTH is for a given patch, STRENGTH for any other patch.
"""


def prove(state: State) -> Attempt:
    """Return the best attempt that is proved, or the baseline if there is none. Its evidence is stored in `state`."""
    for attempt in state.publishable():
        proved, found = _measured(state, _proved(state, attempt))
        if proved.verdict and (edited := state.parts.edited(state.looked)):
            proved, found = _measured(state, _proved_anew(state, attempt, edited))
        state.attempts[attempt.number] = proved
        if proved.verdict:
            why = weak(state, proved, found)
            if why and not state.parts.accept_plausible:
                offer_whole(state, proved, why, shown=not state.has_repair_alone(proved))
                continue
            state.evidence = replace(found, doubts=found.doubts or ((why,) if why else ()))
            return proved
        state.notify("verdict", proved.verdict.reason, done=attempt.number)
    offer_despite_findings(state)
    return state.baseline


def _measured(state: State, proved: Attempt) -> tuple[Attempt, Evidence]:
    return proved, measured_evidence(state, proved) if proved.verdict else Evidence()


def _moved(mutation: Mutation, before: Patch, after: Patch) -> Mutation:
    """Convert the line number of `mutation` from the tree with the patch `before` to the tree with `after`."""
    texts = (patch.files.get(mutation.path) for patch in (before, after))
    return replace(mutation, line=judge.line_after(mutation.line, *texts))


def measured_evidence(state: State, proved: Attempt) -> Evidence:
    """Return the evidence of a proved attempt, with the strength of its proof."""
    found = state.show(proved)
    held = filter(None, (state.held.get(proved.number),))
    repair = state.repair(proved)
    measured = _strength(state, repair, found)
    return replace(
        found,
        strength=measured.noticed,
        weakest=measured.weakest,
        changed=found.changed or measured.changed,
        notes=(*found.notes, *held, *_unasked(state, proved), *filter(None, (measured.why,))),
        survived=tuple(_moved(one, repair.patch, proved.patch) for one in measured.survived),
    )


def _unasked(state: State, attempt: Attempt) -> tuple[str, ...]:
    """Return a note on changes of the patch that no finding and no repaired test required, if there are any."""
    findings = [item for one in state.attempts[: attempt.number] if one.verdict for item in one.findings]
    found = judge.unrequested_changes(attempt, state.baseline, findings, state.originals(attempt.patch))
    return (f"changed besides what was asked, look at it: {listed(found)}",) if found else ()


def _proved_anew(state: State, attempt: Attempt, edited: tuple[str, ...]) -> Attempt:
    """Check the baseline and the patch again, because the user has edited files meanwhile.

    The effect of these edits must not count for the patch, nor make a test flaky that passed before them.
    """
    state.notify("note", f"{listed(edited)} changed meanwhile: start and patch are checked once more")
    state.looked = time.time_ns()
    try:
        ask = Ask(state.parts.scope, seed=SEED, timeout=state.patience)
        checks = critique(state.parts.views, state.parts.critics, Patch(), ask)
        suite = next((check for check in checks if check.failing), None)
        again = suite and rerun_failing(state.parts.views, state.test_runner(), suite, ask)
    except CriticError as error:
        return attempt.refused(f"the tree changed meanwhile: {error}")
    state.flaky = again.flaky if again else frozenset()
    state.attempts[0] = replace(state.baseline, checks=(*checks, *advice_on(state.baseline)))
    state.parts.record(state.baseline)
    proved = proved_once(state, attempt)
    if proved.verdict and (more := state.parts.edited(state.looked)):
        return proved.refused(f"{listed(more)} keeps changing: run again")
    return proved


def _strength(state: State, attempt: Attempt, found: Evidence) -> Measured:
    measure = state.parts.strength
    if measure is None:
        return Measured()
    state.notify("stage", "strength")
    least, most, share = GIVEN_STRENGTH if state.parts.given else STRENGTH
    seconds = min(most, max(least, share * (time.monotonic() - state.began)))
    return measure.measure(
        state.parts.views,
        attempt,
        state.originals(attempt.patch),
        seconds=seconds,
        freedom=state.freedom,
        repaired=found.flipped,
    )


def examined(state: State, attempt: Attempt) -> Attempt:
    """Return `attempt` with the checks of all critics on its tree. Raises CriticError.

    As far as it is cheap, tests are traced to see which of them run the patched lines. The digests of the test files
    after the run are stored in `state.examined`.
    """
    state.notify("stage", "proof")
    suite = state.baseline.suite
    selection = _selection(state, attempt.patch)
    state.selected[attempt.number] = selection
    ask = Ask(
        state.parts.scope,
        files=selection.files,
        cover=frozenset(attempt.patch.files),
        coverage=True,
        watched=_near(state),
        follow=state.follow,
        seed=PROOF_SEED,
        timeout=state.patience,
        computing=KILLED,
        proof=True,
    )

    def look(view: View, checks: list[Check]) -> None:
        # After the tests ran, because code under test may have rewritten its test files.
        paths = {case.path for check in checks for case in check.cases.values() if case.path}
        digests = {path: _digest(view.read(path)) for path in paths} | _rewritten(state, attempt, checks)
        state.examined.setdefault(attempt.number, {}).update(digests)
        state.name_view(view, checks)

    def run(ask: Ask) -> Attempt:
        state.examined.pop(attempt.number, None)
        checks = critique(state.parts.views, state.parts.critics, attempt.patch, ask, look=look)
        if suite:
            checks = tuple(carry(one, suite, selection) if one.critic == suite.critic else one for one in checks)
        return replace(attempt, checks=(*checks, *advice_on(attempt)))

    _begin_confirming(state, ask)
    found = confined(state, ask, run)
    state.flaky |= state.confirmation.flaky()
    excuse(state, found, replace(ask, rich=False, freedom=state.freedom))
    return found


def _rewritten(state: State, attempt: Attempt, checks: list[Check]) -> dict[str, str]:
    """Return the protected files that were compiled with other content than they had when the proof began.

    The values are digests of the compiled content.
    """
    found = {}
    compiled = ((path, digests) for check in checks for path, digests in check.compiled.items())
    for path, digests in compiled:
        before = _given(state, attempt, path) if state.parts.reason(path) else None
        if before is not None and (others := digests - {_digest(before)}):
            found[path] = min(others)
    return found


def _selection(state: State, patch: Patch) -> ChosenTests:
    """Select the tests that prove `patch`: all of them without --fast-proof."""
    suite, fast = state.baseline.suite, state.parts.fast
    if suite is None or fast is None:
        return WHOLE
    return fast(patch, suite.cases, state.parts.task.judged)


def _begin_confirming(state: State, ask: Ask) -> None:
    """Start to confirm, in parallel with the first proof, that the failing tests always fail at the baseline."""
    suite = state.baseline.suite
    if suite and state.steady:
        critic = state.test_runner()
        alone = Ask(ask.scope, rich=False, timeout=ask.timeout, freedom=state.freedom, computing=KILLED)
        seen = frozenset[str]().union(*(search.failed_again for search in state.searches()))
        state.confirmation.begin(state.parts.views, critic, state.steady, alone, seen)
        state.steady = ()


def _near(state: State) -> frozenset[str]:
    """Return the failing tests of the baseline and the tests nearest to them, as many as can be traced cheaply.

    A test file that could not be imported, whose tests have no ids yet, is returned in any case; so are the acceptance
    tests of the task, because those that do not run the new code do not judge it.
    """
    suite = state.baseline.suite
    if suite is None:
        return frozenset()
    failing = suite.failing
    found = {*to_watch(failing, suite.durations), *(name for name in failing if "::" not in name)}
    found.update(within(nearest(failing, suite.cases), suite.durations, max(WATCHED, SHARE * suite.seconds)))
    judged = state.parts.task.judged
    return frozenset(found).union(judged, (name for name, case in suite.cases.items() if inside(case.path, judged)))


def _proved(state: State, attempt: Attempt) -> Attempt:
    """Return the examined `attempt`; if it may not be published, its verdict says that it is refused, and why."""
    after = state.examined.get(attempt.number, {})
    before = {path: _digest(_given(state, attempt, path)) for path in after}
    verdict = judge.publishable(
        attempt,
        state.baseline,
        state.flaky,
        state.parts.scope,
        tolerated=state.tolerated(attempt),
        protected_before=before,
        protected_after=after,
    )
    verdict = verdict and state.judges_pass(attempt) and _passes_again(state, attempt)
    return attempt if verdict else attempt.refused(verdict.reason)


def _passes_again(state: State, attempt: Attempt) -> Verdict:
    """Return a negative verdict if a repaired test fails in further runs, by chance or with another hash seed.

    Only tests of code whose result may vary run again. A test that fails alone with the proof's seed needs other tests,
    and is left out.
    """
    repaired = judge.flipped(attempt, state.baseline, state.flaky)
    if not repaired or not judge.may_vary(attempt.patch, state.originals(attempt.patch)):
        return Verdict(ok=True)
    ask = Ask(state.parts.scope, rich=False, timeout=state.patience, freedom=state.freedom, computing=KILLED)
    ends = time.monotonic() + AGAIN
    needy = _failing(state, attempt, replace(ask, tests=repaired, seed=PROOF_SEED))
    alone = tuple(one for one in repaired if one not in needy)
    for seed in takewhile(lambda _: time.monotonic() < ends, FURTHER_SEEDS):
        if failing := _failing(state, attempt, replace(ask, tests=alone, seed=seed)):
            names = listed(failing)
            return Verdict(ok=False, reason=f"{names}: repaired, but failed when it ran again (PYTHONHASHSEED={seed})")
    return Verdict(ok=True)


def _failing(state: State, attempt: Attempt, ask: Ask) -> tuple[str, ...]:
    return run_quietly(state.parts.views, state.test_runner(), attempt.patch, ask).failing


def proved_once(state: State, attempt: Attempt) -> Attempt:
    """Examine and prove an attempt: a piece of a patch, or an attempt to be proved again because the tree changed."""
    try:
        return _proved(state, examined(state, attempt))
    except CriticError as error:
        return attempt.refused(f"the final proof failed: {error}")


def _given(state: State, attempt: Attempt, path: str) -> bytes | None:
    """Return the content of `path` in the view when the proof began.

    This may be the patched content even for a test file, if it is a module with doctests. None for a file that is
    reached through a symbolic link out of the repository, because views do not contain it.
    """
    files = attempt.patch.files
    if state.parts.outside(path):
        return None
    return files[path] if path in files else state.parts.original(path)


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def excuse(state: State, attempt: Attempt, ask: Ask) -> None:
    """Mark as flaky the lost tests of `attempt` that fail by chance, or also fail at the baseline with this hash seed.

    Lost tests that another run of the baseline does not collect are marked too: their names change from run to run.
    """
    suite = state.baseline.suite
    if suite is None or not (lost := judge.lost(attempt, state.baseline, state.flaky)):
        return
    state.notify("stage", f"running the broken tests again ({len(lost)})")
    critic = state.test_runner()
    if gone := judge.gone(attempt, state.baseline):
        kept = functions_kept(state.baseline, attempt)
        found = renamed(state.parts.views, critic, gone, replace(ask, coverage=False), kept)
        checks = (replace(one, renamed=one.renamed | found) if one is suite else one for one in state.baseline.checks)
        state.attempts[0] = replace(state.baseline, checks=tuple(checks))
        state.flaky |= found
        lost = judge.lost(attempt, state.baseline, state.flaky)
    if lost:
        state.flaky |= broken_by_chance(state.parts.views, critic, lost, ask, attempt.patch)
