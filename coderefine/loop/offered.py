"""Plausible repairs that are not clearly better than their rivals: they are offered to the user, not applied."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from coderefine import judge
from coderefine.core import PLAUSIBLE, Alternative, Attempt, Evidence, Offer
from coderefine.core.plurals import counted, listed
from coderefine.loop.state import STYLE, State, failing
from coderefine.loop.strength import LEAST, UNMEASURED

LEAST_NOTICED = 0.34
"""Minimum share of the judged mutants that the tests have to kill."""
ENOUGH = 4
"""If no mutants could be judged: minimum number of tests that run the same patched line."""

DISTURBING = 0.3
"""A patch changes the results of a share of the compared calls. This share may be at most so much higher than that of
every offered patch."""


def held_back(state: State, attempt: Attempt) -> Attempt:
    """Return `attempt`; if the search that proposed it considers it only plausible, refuse it and record the offer.

    With `accept_plausible` the attempt stays accepted instead, and the doubt is recorded for the evidence.
    """
    search = next((one for one in state.searches() if one.proposed is attempt.patch), None)
    if not attempt.verdict or search is None:
        return attempt
    if search.offer is None:
        state.changed[attempt.number] = search.changed
        if search.rivals:
            state.rivals[attempt.number] = search.rivals
        return attempt
    if state.parts.accept_plausible:
        state.doubts[attempt.number] = search.offer.why
        state.changed[attempt.number] = search.offer.alternatives[0].changed
        return attempt
    state.offers.append(search.offer)
    return attempt.refused(f"{PLAUSIBLE}: {search.offer.why}")


def weak(state: State, attempt: Attempt, found: Evidence) -> str:
    """Return why a proved attempt is nevertheless only plausible; "" if there is no reason.

    There are five reasons:

    - A test module can be collected now, but some of its tests run the patch and fail: the new code is unfinished.
    - The tests pass because of branches that no traced test takes.
    - The tests kill too few mutants of the attempt, or of a function that it changes.
    - There was no time for mutants, and few tests run the patched lines.
    - The attempt changes the results of many more nearby calls than any patch that was offered for the same tests.
      Nearby calls are the calls that tests make, and variants of these calls.

    The third and the fourth reason do not apply to repairs of the search, which has already considered them together
    with more evidence (proposers/search/confidence.py). Always return "" if the attempt repairs no test, or if the task
    only writes certain files (`Task.wanted`).
    """
    if not found.flipped or state.parts.task.wanted:
        return ""
    if unfinished := _unfinished(state, attempt, found.flipped):
        return f"tests that run its lines still fail: {listed(unfinished)}"
    if _is_hidden(state, attempt, found.flipped):
        return "it makes the tests pass by lines that no test runs"
    if state.repair(attempt).patch.origin != "search" and (why := _unnoticed(found)):
        return why
    return _disturbing(state, found.flipped, found.changed) if found.changed else ""


def _unfinished(state: State, attempt: Attempt, repaired: Collection[str]) -> list[str]:
    """Return the failing tests that run the patch and are in modules that could not be collected at the baseline."""
    modules = [name for name in repaired if name not in attempt.cases]
    running = judge.running(attempt, state.originals(attempt.patch)) if modules else ()
    bad = failing(attempt).intersection(running)
    return sorted(test for test in bad if any(judge.collected(test, module) for module in modules))


def _is_hidden(state: State, attempt: Attempt, repaired: Collection[str]) -> bool:
    """Return whether the repaired tests are traced, and no traced test runs what the patch changes."""
    traced = attempt.coverage or {}
    return all(name in traced for name in repaired) and judge.hidden(attempt, state.originals(attempt.patch))


def _unnoticed(found: Evidence) -> str:
    """Return a reason if the tests kill too few mutants of the patch or of one function in it; else "".

    If the strength is unknown, few tests that run the patch are a reason, too."""
    for pair, what in ((found.strength, "it"), (found.weakest, "one of its functions")):
        noticed, wrong = pair or (0, 0)
        if wrong >= LEAST and noticed < LEAST_NOTICED * wrong:
            return f"the tests notice {noticed} of {wrong} small wrong versions of {what}"
    running = max((one.count for one in found.executed), default=0)
    if running >= ENOUGH or not any(note.startswith(UNMEASURED) for note in found.notes):
        return ""
    return f"only {counted(running, 'test')} ran its lines, and {UNMEASURED}"


def _disturbing(state: State, repaired: Collection[str], changed: tuple[int, int]) -> str:
    offers = (offer for offer in state.offers if not offer.tests.isdisjoint(repaired))
    usual = [_share(one.changed) for offer in offers for one in offer.alternatives if one.changed]
    if usual and _share(changed) > max(usual) + DISTURBING:
        return "it changes {} of {} nearby answers, far more than its rivals".format(*changed)
    return ""


def _share(changed: tuple[int, int]) -> float:
    return changed[0] / changed[1] if changed[1] else 0.0


def offer_whole(state: State, attempt: Attempt, why: str, *, shown: bool) -> None:
    """Refuse `attempt` because of `why`. `shown`: whether to offer its whole patch to the user.

    Further alternatives of the offer are the same patch with its last step replaced by a rival.
    """
    refused = attempt.refused(f"{PLAUSIBLE}: {why}")
    state.attempts[attempt.number] = refused
    state.parts.record(refused)
    state.notify("verdict", refused.verdict.reason, done=attempt.number)
    if not shown:
        return
    repaired = failing(state.baseline) - failing(attempt)
    rivals = state.rivals.get(attempt.number, Offer((Alternative(attempt.patch),)))
    first, *others = rivals.alternatives
    under = {**attempt.patch.files, **rivals.before}
    before = dict(state.originals(replace(attempt.patch, files=under)))
    whole = [replace(first, patch=attempt.patch)]
    for other in others:
        files = {**under, **other.patch.files}
        changed = {path: data for path, data in files.items() if data != before.get(path)}
        whole.append(replace(other, patch=replace(other.patch, files=changed)))
    state.offers.append(replace(rivals, alternatives=tuple(whole), tests=repaired, why=why, before=before))


def offer_despite_findings(state: State) -> None:
    """Offer the best attempt if it repairs tests, and only new findings of the gates STYLE prevent its publication."""
    best = state.best
    objection = state.may_publish(best)
    if not objection and failing(state.baseline) - failing(best) and state.may_publish(best, STYLE):
        offer_whole(state, best, objection.reason, shown=True)


def standing(state: State, best: Attempt) -> tuple[Offer, ...]:
    """Return the offers that are still useful.

    These are offers whose tests fail in `best` and, unless `best` is clean (see `State.clean`), offers without tests,
    which repair findings.
    """
    lint = not state.clean(best)
    return tuple(one for one in state.offers if not one.tests.isdisjoint(failing(best)) or (lint and not one.tests))
