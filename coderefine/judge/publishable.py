"""Decide whether an attempt may be published: better than the baseline in some respect, and worse in none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from coderefine.core import Attempt, Finding, Identity, Severity, Status, Verdict, identities
from coderefine.core.plurals import counted, listed
from coderefine.core.views import inside
from coderefine.judge.score import COMPLEXITY, TESTS, collected, flipped, gone, incomplete, lost, remarks

NOTHING: Mapping[str, str] = MappingProxyType({})


def publishable(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str] = frozenset(),
    scope: Sequence[str] = (".",),
    *,
    tolerated: Collection[str] = (),
    protected_before: Mapping[str, str] = NOTHING,
    protected_after: Mapping[str, str] = NOTHING,
) -> Verdict:
    """Return the final verdict, with the first reason against publication.

    `scope`: paths whose cleared findings count as an improvement. `tolerated`: gates whose new findings do not count.
    `protected_*`: digests by path of the files that must not change, before and after the proof. Tests in `flaky` count
    neither as fixed nor as broken; they must still exist.
    """
    paths = sorted({*protected_before, *protected_after})
    touched = tuple(path for path in paths if protected_before.get(path) != protected_after.get(path))
    against = next(_objections(candidate, baseline, flaky, touched, tolerated), None)
    if against:
        return Verdict(ok=False, reason=against)
    asked = (item for item in remarks(baseline) if item.severity is Severity.HARD and inside(item.path, scope))
    cleared = identities(asked) - identities(remarks(candidate))
    repaired = flipped(candidate, baseline, flaky)
    counts = ((len(repaired), "test", "repaired"), (len(cleared), "finding", "cleared"))
    better = [f"{counted(count, noun)} {verb}" for count, noun, verb in counts if count]
    better += _better_review(candidate, baseline)
    if not better:
        return Verdict(ok=False, reason="nothing that was asked for is better than at the start")
    return Verdict(ok=True, reason=", ".join(better))


def worse(candidate: Attempt, baseline: Attempt, flaky: frozenset[str] = frozenset()) -> str:
    """Return the first reason against publication other than "nothing is better"; "" if there is none."""
    return next(_objections(candidate, baseline, flaky, ()), "")


def _better_review(candidate: Attempt, baseline: Attempt) -> list[str]:
    """Return a text on the first adviser whose result improved, in a list; an empty list if there is no such adviser.

    A result has improved if its total is higher, or equal with fewer findings.
    """
    for check in candidate.checks:
        was = baseline.check(check.critic) if not check.gate else None
        if was is None or was.total is None or check.total is None:
            continue
        if (check.total, -len(check.findings)) > (was.total, -len(was.findings)):
            counts = f"{len(was.findings)} → {len(check.findings)} remarks"
            return [f"{check.critic} {was.total:.1f} → {check.total:.1f}, {counts}"]
    return []


def _objections(
    candidate: Attempt,
    baseline: Attempt,
    flaky: frozenset[str],
    touched: tuple[str, ...],
    tolerated: Collection[str] = (),
) -> Iterator[str]:
    if not candidate.patch:
        yield "the patch is empty"
    for critic in incomplete(baseline, baseline):
        yield f"{critic} gave no complete answer at the start, so there is nothing to compare with"
    for critic in incomplete(candidate, baseline):
        yield f"{critic} gave no complete answer"
    if touched:
        yield f"protected files changed during the run: {listed(touched)}"
    yield from _worse_tests(candidate, baseline, flaky)
    yield from _worse_findings(candidate, baseline, tolerated)


def _worse_tests(candidate: Attempt, baseline: Attempt, flaky: frozenset[str]) -> Iterator[str]:
    vanished = gone(candidate, baseline)
    if vanished:
        yield f"tests are no longer collected: {listed(vanished)}"
    broken = lost(candidate, baseline, flaky)
    if broken:
        yield f"breaks {listed(broken)}"
    now, was = candidate.cases, baseline.cases
    for id, case in was.items():
        if id in now and id not in flaky and _dodged(case.status, now[id].status):
            yield f"{id} was {case.status.value} and is {now[id].status.value}"
    fresh = tuple(id for id in now if _fails_anew(id, candidate, baseline))
    if fresh:
        yield f"brings failing tests: {listed(fresh)}"


def _fails_anew(id: str, candidate: Attempt, baseline: Attempt) -> bool:
    """Return whether the test is new and fails; False for tests of a module that could not be collected before."""
    if id in baseline.cases or not candidate.cases[id].status.bad:
        return False
    return not any(case.status is Status.ERROR and collected(id, key) for key, case in baseline.cases.items())


def _dodged(was: Status, now: Status) -> bool:
    """Return whether a failed test now neither fails nor passes, or a skipped test now fails.

    A failed test must not end with an error; a test with an error may fail, or keep its error.
    """
    if was is Status.FAILED:
        return now not in (Status.FAILED, Status.PASSED)
    if was is Status.ERROR:
        return now not in (Status.ERROR, Status.FAILED, Status.PASSED)
    return was is Status.SKIPPED and now.bad


def _worse_findings(candidate: Attempt, baseline: Attempt, tolerated: Collection[str]) -> Iterator[str]:
    gates = {check.critic for check in baseline.checks if check.gate}.difference(tolerated)
    for critic, path, rule, symbol in sorted(identities(remarks(candidate)) - identities(remarks(baseline))):
        if critic in gates:
            yield f"new {critic} finding {rule} in {path}{f' ({symbol})' if symbol else ''}"
    if COMPLEXITY not in tolerated:
        yield from _grown(candidate, baseline)
    for _, path, rule, symbol in sorted(_outside_tests(candidate) - _outside_tests(baseline)):
        yield f"new {TESTS} finding {rule} in {symbol or path}"


def _grown(candidate: Attempt, baseline: Attempt) -> Iterator[str]:
    """Yield functions above the limit whose complexity increased; changes of the maintainability index are ignored."""
    heavy = _complexities(baseline)
    for identity, weights in sorted(_complexities(candidate).items()):
        for old, new in zip(heavy.get(identity, []), weights, strict=False):
            if new > old:
                _, path, rule, symbol = identity
                yield f"{symbol} in {path} grows: {rule} {old:g} → {new:g}"


def _complexities(attempt: Attempt) -> Mapping[Identity, list[float]]:
    """Return the complexities by function, highest first."""
    found: dict[Identity, list[float]] = defaultdict(list)
    for finding in remarks(attempt):
        if finding.critic == COMPLEXITY and finding.symbol:
            found[finding.identity].append(finding.weight)
    return {identity: sorted(weights, reverse=True) for identity, weights in found.items()}


def _outside_tests(attempt: Attempt) -> Counter[Identity]:
    """Count findings of the test gate that belong to no test, such as a module that cannot be collected."""
    check = attempt.check(TESTS)
    findings: tuple[Finding, ...] = check.findings if check else ()
    return identities(finding for finding in findings if finding.symbol not in attempt.cases)
