"""May this attempt be handed to the user? Strictly better than the start somewhere, no worse anywhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from coderefine.core import Attempt, Case, Finding, Identity, Severity, Status, Verdict
from coderefine.judge.paths import within
from coderefine.judge.score import COMPLEXITY, TESTS, collected, flipped, gone, lost, remarks, unheard
from coderefine.judge.weigh import listed

NOTHING: Mapping[str, str] = MappingProxyType({})


def publishable(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str] = frozenset(),
    scope: Sequence[str] = (".",),
    *,
    protected_before: Mapping[str, str] = NOTHING,
    protected_after: Mapping[str, str] = NOTHING,
) -> Verdict:
    """The final word, with the first reason against it.

    `protected_*` are digests by path of the files that may not change, before and after the proof.
    Tests in `flaky` can neither be fixed nor broken, but they may not vanish either.
    """
    against = next(_objections(candidate, baseline, flaky, protected_before, protected_after), None)
    if against:
        return Verdict(ok=False, reason=against)
    fixed = flipped(candidate, baseline, flaky)
    cleared = _cleared(candidate, baseline, scope)
    praised = _praised(candidate, baseline)
    if not fixed and not cleared and not praised:
        return Verdict(ok=False, reason="nothing that was asked for is better than at the start")
    return Verdict(ok=True, reason=_praise(len(fixed), len(cleared), praised))


def _praise(tests: int, findings: int, review: str) -> str:
    parts = [(tests, "test", "repaired"), (findings, "finding", "cleared")]
    told = [f"{count} {noun}{'s' if count > 1 else ''} {verb}" for count, noun, verb in parts if count]
    return ", ".join([*told, review] if review else told)


def _praised(candidate: Attempt, baseline: Attempt) -> str:
    """By how much a review of both likes the candidate better; empty when it does not."""
    for check in candidate.checks:
        was = baseline.check(check.critic) if not check.gate else None
        if was is None or was.total is None or check.total is None:
            continue
        if (check.total, -len(check.findings)) > (was.total, -len(was.findings)):
            remarks = f"{len(was.findings)} → {len(check.findings)} remarks"
            return f"{check.critic} {was.total:.1f} → {check.total:.1f}, {remarks}"
    return ""


def _objections(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
) -> Iterator[str]:
    if not candidate.patch:
        yield "the patch is empty"
    for critic in unheard(baseline, baseline):
        yield f"{critic} gave no complete answer at the start, so there is nothing to compare with"
    for critic in unheard(candidate, baseline):
        yield f"{critic} gave no complete answer"
    touched = tuple(sorted(path for path in {*before, *after} if before.get(path) != after.get(path)))
    if touched:
        yield f"protected files changed during the run: {listed(touched)}"
    yield from _test_objections(candidate, baseline, flaky)
    yield from _finding_objections(candidate, baseline)


def _test_objections(candidate: Attempt, baseline: Attempt, flaky: frozenset[str]) -> Iterator[str]:
    vanished = gone(candidate, baseline)
    if vanished:
        yield f"tests are no longer collected: {listed(vanished)}"
    broken = lost(candidate, baseline, flaky)
    if broken:
        yield f"breaks {listed(broken)}"
    now = candidate.cases
    for id, case in baseline.cases.items():
        if id in now and id not in flaky and _dodged(case.status, now[id].status):
            yield f"{id} was {case.status.value} and is {now[id].status.value}"
    fresh = tuple(id for id in now if _fails_anew(id, now, baseline.cases))
    if fresh:
        yield f"brings failing tests: {listed(fresh)}"


def _dodged(was: Status, now: Status) -> bool:
    """A failure that ends otherwise than by passing, or a skipped test that fails."""
    if was is Status.FAILED:
        return now not in (Status.FAILED, Status.PASSED)
    if was is Status.ERROR:
        return now not in (Status.ERROR, Status.FAILED, Status.PASSED)
    return was is Status.SKIPPED and now.bad


def _fails_anew(id: str, now: Mapping[str, Case], was: Mapping[str, Case]) -> bool:
    """A failing test that was not there before, unless its module could not even be collected."""
    if id in was or not now[id].status.bad:
        return False
    return not any(old.status is Status.ERROR and collected(id, key) for key, old in was.items())


def _finding_objections(candidate: Attempt, baseline: Attempt) -> Iterator[str]:
    new = _counted(candidate, baseline) - _counted(baseline, baseline)
    for critic, path, rule, symbol in sorted(new):
        yield f"new {critic} finding {rule} in {path}{f' ({symbol})' if symbol else ''}"
    yield from _grown(candidate, baseline)
    yield from _uncollected(candidate, baseline)


def _counted(attempt: Attempt, baseline: Attempt) -> Counter[Identity]:
    gates = {check.critic for check in baseline.checks if check.gate}
    return Counter(finding.identity for finding in remarks(attempt) if finding.critic in gates)


def _grown(candidate: Attempt, baseline: Attempt) -> Iterator[str]:
    """Functions over the limit whose complexity went up. A file's index may drift with every honest line."""
    was, now = _weights(baseline), _weights(candidate)
    for identity, weights in sorted(now.items()):
        for old, new in zip(was.get(identity, []), weights, strict=False):
            if new > old:
                _, path, rule, symbol = identity
                yield f"{symbol} in {path} grows: {rule} {old:g} → {new:g}"


def _weights(attempt: Attempt) -> Mapping[Identity, list[float]]:
    """Complexities by function, worst first."""
    found: dict[Identity, list[float]] = defaultdict(list)
    for finding in remarks(attempt):
        if finding.critic == COMPLEXITY and finding.symbol:
            found[finding.identity].append(finding.weight)
    return {identity: sorted(weights, reverse=True) for identity, weights in found.items()}


def _uncollected(candidate: Attempt, baseline: Attempt) -> Iterator[str]:
    """Findings of the test gate that belong to no test, such as a module that cannot be collected."""
    old = Counter(finding.identity for finding in _loose(baseline))
    new = Counter(finding.identity for finding in _loose(candidate)) - old
    for _, path, rule, symbol in sorted(new):
        yield f"new {TESTS} finding {rule} in {symbol or path}"


def _loose(attempt: Attempt) -> Iterator[Finding]:
    check = attempt.check(TESTS)
    for finding in check.findings if check else ():
        if finding.symbol not in attempt.cases:
            yield finding


def _cleared(candidate: Attempt, baseline: Attempt, scope: Sequence[str]) -> Counter[Identity]:
    asked = (item for item in remarks(baseline) if item.severity is Severity.HARD and within(item.path, scope))
    was = Counter(finding.identity for finding in asked)
    now = Counter(finding.identity for finding in remarks(candidate))
    return was - now
