"""Judge a given patch, made outside coderefine: its code separately from its tests and configuration.

Four trees are compared: without the patch; with its tests only (tests that fail there and pass with the whole patch are
evidence for its code); with its code only (the old tests must still pass); and with the whole patch. The code is judged
by every rule for coderefine's own patches, on the tree with the patch's tests. The patch's tests always run in the
sandbox, unlike the user's own tests at the baseline.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from coderefine import judge
from coderefine.core import (
    EMPTY,
    PLAUSIBLE,
    PROVE,
    Ask,
    Attempt,
    Check,
    Evidence,
    Finding,
    Freedom,
    Outcome,
    Patch,
    Proof,
    Status,
    Stop,
    TestRunner,
    Verdict,
    View,
    WrappedTests,
    unmatched,
)
from coderefine.core.plurals import counted, listed
from coderefine.errors import CriticError
from coderefine.loop.confinement import confined
from coderefine.loop.critique import critique
from coderefine.loop.fast_proof import ChosenTests
from coderefine.loop.minimal import smallest
from coderefine.loop.proof import examined, measured_evidence
from coderefine.loop.refine import begin, judge_start, run_loop
from coderefine.loop.state import SEED, Parts, State, failing, forget
from coderefine.runner.suspect import KILLED
from coderefine.runner.test_selection import files_of
from coderefine.workspace.private_views import SnapshotViews

NO_HELP = "nothing gets worse, but nothing shows that it helps: no failing test passes with it, no finding is cleared"


@dataclass(frozen=True, slots=True)
class GivenParts:
    """A patch, divided by how its files are judged.

    `code`: judged like coderefine's own patches. `tests`: new content of tests and configuration (None: no such file).
    `settings`: the paths in `tests` that are configuration. `files`: the test modules in `tests`, named as in test ids;
    None if other tests may depend on `tests`. `beside`: files that no gate reads; they belong to the patch, but are not
    judged. `unjudged`: what cannot be judged, and why. `against`: reasons that exclude the patch in any case.
    """

    code: Patch
    tests: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    settings: frozenset[str] = frozenset()
    files: tuple[str, ...] | None = None
    beside: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    unjudged: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @property
    def whole(self) -> Patch:
        return replace(self.code, files={**self.code.files, **self.tests, **self.beside})


def judge_given(given: GivenParts, parts: Parts, *, minimise: bool) -> Outcome:
    """Judge `given`, which the first proposer of `parts` proposes; the outcome's `proof` contains the verdict.

    If `given` is not proved, the other proposers try to repair it. `minimise`: whether to find the smallest part that
    is proved. Raises CriticError if the tree without the patch cannot be judged.
    """
    before = {path: parts.original(path) for path in given.whole.files}
    start = judge_start(replace(parts, given=True))
    state = _with_tests(start, given) if given.tests else start
    end = run_loop(state)
    if end.best.number:
        given = replace(given, code=_repaired(given.code, end.best))
    end = replace(end, attempts=tuple(_whole(one, given) for one in end.attempts), best=_whole(end.best, given))
    if end.stop is Stop.INTERRUPTED:
        return end
    _complete(state, end)
    conclusion = _Conclusion(given, start, state, end, before)
    proof = conclusion.proof()
    if not proof.verdict:
        return _refused(end, proof)
    if minimise and given.code:
        end, proof = conclusion.minimised(proof)
    stop, why = (Stop.CLEAN, "") if end.clean else (Stop.NO_PROGRESS, proof.verdict.reason)
    return replace(end, stop=stop, why=why, proof=proof, offers=())


def _complete(state: State, end: Outcome) -> None:
    """Run all tests on the given patch if the loop refused it after running only the tests that failed before."""
    for attempt in () if end.best.number else state.attempts[1:2]:
        if attempt.checks and judge.incomplete(attempt, state.baseline):
            state.steady = ()  # the thread that would rerun these tests has ended with the loop
            with contextlib.suppress(CriticError):
                state.attempts[1] = examined(state, attempt)


def _refused(end: Outcome, proof: Proof) -> Outcome:
    """Return the outcome for a patch that is not proved: nothing may be written, and the verdict becomes a finding."""
    verdict = f"the patch is not proved: {proof.verdict.reason}"
    finding = Finding(PROVE, "not-proved", min(proof.patch.files, default=""), verdict)
    return replace(
        end,
        best=end.baseline,
        stop=end.stop if end.stop is Stop.ENVIRONMENT else Stop.NO_PROGRESS,
        why=proof.verdict.reason,
        evidence=Evidence(isolation=end.evidence.isolation, flaky=end.evidence.flaky),
        remaining=(finding, *proof.findings),
        proof=proof,
        offers=(),
    )


def _repaired(code: Patch, best: Attempt) -> Patch:
    """Return the patch of `best` with the summary of the given code, followed by the repair's summary, if any."""
    summary = code.summary if best.number == 1 else f"{code.summary}, and {best.patch.summary}"
    return replace(best.patch, summary=summary)


def _whole(attempt: Attempt, given: GivenParts) -> Attempt:
    """Return `attempt` with the whole patch, so that tests and configuration are recorded and published too."""
    if not attempt.number:
        return attempt
    files = {**attempt.patch.files, **given.tests, **given.beside}
    return replace(attempt, patch=replace(attempt.patch, files=files))


@dataclass(frozen=True)
class _Bound(WrappedTests):
    """Runs the patch's tests with no more permissions than the user's own tests need."""

    freedom: Freedom

    def check(self, view: View, ask: Ask) -> Check:
        return self.critic.check(view, replace(ask, freedom=self.freedom, record=False))


def _with_tests(start: State, given: GivenParts) -> State:
    """Return the state of a run that begins with the patch's tests, but without its code."""
    parts, suite = start.parts, start.baseline.suite
    ask = Ask(parts.scope, files=given.files or None, seed=SEED, timeout=start.patience, computing=KILLED)

    def run(ask: Ask) -> Attempt:
        start.notify("stage", "the patch's tests without its code")
        checks = critique(parts.views, parts.critics, Patch(given.tests, programs=given.code.programs), ask)
        return Attempt(0, Patch(), tuple(_completed(one, suite, given) for one in checks))

    tested = confined(start, ask, run) if suite else run(replace(ask, freedom=start.freedom))
    free = start.freedom
    state = State(
        replace(
            parts,
            views=SnapshotViews(parts.views, given.tests, given.code.programs),
            critics=tuple(_Bound(one, free) if isinstance(one, TestRunner) else one for one in parts.critics),
            original=lambda path: given.tests[path] if path in given.tests else parts.original(path),
            record=lambda attempt: parts.record(_whole(attempt, given)),
        ),
        began=start.began,
        looked=start.looked,
        flaky=start.flaky,
        isolation=start.isolation,
        freedom=free,
    )
    begin(state, tested.checks, Ask(parts.scope, seed=SEED, timeout=state.patience, computing=KILLED))
    return state


def _completed(check: Check, suite: Check | None, given: GivenParts) -> Check:
    """Add to `check` the results from `suite` for tests that did not run, because the patch does not affect them."""
    if suite is None or check.critic != suite.critic or not given.files:
        return check
    cases = {name: case for name, case in suite.cases.items() if case.path not in given.tests}
    findings = (finding for finding in suite.findings if finding.symbol in cases)
    return replace(check, cases={**cases, **check.cases}, findings=(*findings, *check.findings))


@dataclass(frozen=True, slots=True)
class _Conclusion:
    """Derives the proof from the results of the loop.

    `start`: the state without the patch; `state`: the state with the patch's tests; `end`: the outcome of the loop.
    `before`: content of the patched files without the patch.
    """

    given: GivenParts
    start: State
    state: State
    end: Outcome
    before: Mapping[str, bytes | None]

    def proof(self) -> Proof:
        tried, known = self._tried, self.start.baseline.cases
        weakened = tuple(dict.fromkeys(self._weakened(tried)))
        against = next(filter(None, self._reasons(tried, weakened)), "")
        evidence = self._evidence(tried, measured=not against) if tried.checks else Evidence()
        helps = judge.publishable(tried, self.state.baseline, self.state.flaky, self.state.parts.scope)
        passing = {id_ for id_, case in tried.cases.items() if case.status is Status.PASSED}
        new = unmatched(tried.findings, self.start.baseline.findings)
        return Proof(
            Verdict(not against and bool(helps), against or (helps.reason if helps else NO_HELP)),
            self.given.whole,
            evidence,
            weakened,
            rests=tuple(self._rests(tried, evidence)),
            added=tuple(sorted(passing.difference(known, evidence.flipped))),
            findings=tuple(finding for finding in new if finding.symbol not in self._flaky),
            unjudged=self.given.unjudged,
            worse=bool(against),
        )

    def _rests(self, tried: Attempt, evidence: Evidence) -> Iterator[str]:
        """Yield those repaired tests in changed test files that are new, or that did not fail without the patch.

        Repaired tests fail with the patch's tests but without its code, so they may have passed before both.
        """
        known = self.start.baseline.cases
        changed = {id_ for id_, case in tried.cases.items() if case.path in self.given.tests}
        return (id_ for id_ in evidence.flipped if id_ in changed and not (id_ in known and known[id_].status.bad))

    @property
    def _tried(self) -> Attempt:
        """Return the attempt on which the verdict is based.

        This is the best attempt, or else the one with the given code. For a patch without code, it is the baseline with
        the patch's tests.
        """
        if self.given.code and len(self.state.attempts) > 1:
            return self.state.attempts[self.end.best.number or 1]
        if self.given.code:
            return Attempt(1, self.given.code)
        return replace(self.state.baseline, number=1, patch=self.given.whole)

    def _reasons(self, tried: Attempt, weakened: tuple[str, ...]) -> Iterator[str]:
        """Yield reasons against the patch ("" where a check found none); the checks that run tests come last."""
        yield f"weakens tests: {listed(weakened)}" if weakened else ""
        yield "; ".join(self.given.against)
        yield self._refusal(tried) if self.given.code and not self.end.best.number else ""
        if tried.checks:
            yield judge.worse(replace(tried, patch=self.given.whole), self.start.baseline, self._flaky)
            yield self._by_old_tests(tried) if self.given.tests and self.given.code else ""

    @property
    def _flaky(self) -> frozenset[str]:
        return self.start.flaky | self.state.flaky

    def _refusal(self, tried: Attempt) -> str:
        """Return why the loop did not prove the code; "" if the only reason is that nothing shows that it helps."""
        if len(self.state.attempts) < 2:
            return self.end.why
        if not tried.checks:
            return tried.verdict.reason
        if why := judge.worse(tried, self.state.baseline, self.state.flaky):
            last_repair = next((one.verdict.reason for one in self.state.attempts[:1:-1]), "")
            return f"{why}; a repair of it is only {last_repair}" if last_repair.startswith(PLAUSIBLE) else why
        helps = judge.publishable(tried, self.state.baseline, self.state.flaky, self.state.parts.scope)
        return tried.verdict.reason.removeprefix(f"{PLAUSIBLE}: ") if helps else ""

    def _evidence(self, tried: Attempt, *, measured: bool) -> Evidence:
        """Return the evidence.

        In `flipped`, a test file that could not be collected without the code is replaced by its repaired tests.
        `measured`: measure how strong the tests are, unless the loop has done so.
        """
        found = self.end.evidence if self.end.best.number else self.state.show(tried)
        if measured and not self.end.best.number and self.given.code:
            found = measured_evidence(self.state, tried)
        flipped = dict.fromkeys(id_ for name in found.flipped for id_ in self._behind(name, tried))
        kept = judge.evidence(tried, self.start.baseline, self.state.flaky).kept
        return replace(found, flipped=tuple(flipped), kept=kept, flaky=tuple(sorted(self._flaky)))

    def _behind(self, name: str, tried: Attempt) -> list[str]:
        """Return the repaired tests to which `name` refers: one test, or the tests of a file that was not collected."""
        if name in tried.cases:
            return [name]
        was = self.start.baseline.cases
        repaired = (id_ for id_ in tried.cases if id_ not in was or was[id_].status.bad)
        inner = [id_ for id_ in repaired if judge.collected(id_, name)]
        return [id_ for id_ in inner if tried.cases[id_].status is Status.PASSED] or [name]

    def minimised(self, proof: Proof) -> tuple[Outcome, Proof]:
        """Return the outcome and the proof of the smallest part of the patch that is still proved."""
        best = self._tried
        small, spare = smallest(self.state, best)
        given = replace(self.given, code=small.patch)
        if not spare or (self.given.tests and replace(self, given=given)._by_old_tests(small)):
            return self.end, replace(proof, needed=self.given.whole)
        self.state.keep(small)
        found = measured_evidence(self.state, small)
        end = replace(self.end, best=_whole(small, given), attempts=(*self.end.attempts, _whole(small, given)))
        end = replace(end, evidence=found)
        evidence = replace(self, given=given, end=end)._evidence(small, measured=False)
        return end, replace(proof, evidence=evidence, needed=given.whole, spare=tuple(map(str, spare)))

    def _weakened(self, tried: Attempt) -> Iterator[str]:
        """Yield the tests that the patch deletes, skips or alters, and the findings that its configuration hides."""
        was, alone, tests = self.start.baseline, self.state.baseline, self.given.tests
        if tests and tried.checks:  # without the code, a test file that imports it cannot be collected
            yield from judge.dodged_tests(was, alone, tried, self.start.flaky)
        for path in sorted(tests.keys() - self.given.settings):
            yield from judge.changed_tests(path, self.before[path], tests[path])
        gone = unmatched(judge.remarks(was), judge.remarks(alone)) if self.given.settings else ()
        if hidden := tuple(f"{one.rule} in {one.path}" for one in gone if one.path not in tests):
            names = listed(tuple(sorted(self.given.settings)))
            yield f"{names} hides {counted(len(hidden), 'finding')}: {listed(hidden)}"

    def _by_old_tests(self, tried: Attempt) -> str:
        """Return why the patch's code fails with the tests as they were before the patch; "" if it does not."""
        was = self.start.baseline
        repaired = sorted(failing(was) - failing(tried) - self._flaky)
        fast = None  # all tests must run
        if self.given.files is not None:
            changed = (id_ for id_, case in was.cases.items() if case.path in self.given.tests)
            fast = ChosenTests(tuple(files_of((*changed, *repaired))))
            if not fast.files:
                return ""
        self.start.notify("stage", "the patch's code with the tests as they were")
        parts = replace(self.start.parts, fast=fast if fast is None else (lambda *_: fast), record=forget)
        state = State(parts, attempts=[was], flaky=self._flaky, freedom=self.start.freedom, began=self.start.began)
        try:
            old = examined(state, Attempt(1, self.given.code))
        except CriticError as error:
            return f"the tests as they were cannot judge it: {error}"
        if why := judge.worse(old, was, state.flaky):
            return f"with the tests as they were: {why}"
        still = tuple(sorted(failing(old).intersection(repaired)))
        return f"passes only with the patch's tests: {listed(still)}" if still else ""
