"""Is this attempt a better step than the best so far? A step may trade; publication may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from coderefine.core import EMPTY, Attempt, Case, Verdict
from coderefine.judge.score import Score, lost, score, silent

UNFOUND = ("ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "NotImplementedError")
"""Exceptions that say that something is not there yet."""
BEFORE = ("silent", "lost", "asked", "blocked", "bad")
"""Fields of the score that decide before how far a test came."""

WORDS = {
    "asked": "parts of what is asked for still missing",
    "blocked": "test modules that cannot be collected",
    "bad": "failing tests",
    "command": "findings of command gates",
    "ruff": "ruff findings",
    "radon": "complexity above the limit",
    "remarks": "remarks of the advisers",
    "size": "changed lines",
}


def weigh(
    candidate: Attempt,
    best: Attempt,
    baseline: Attempt,
    scope: Sequence[str] = (".",),
    flaky: frozenset[str] = frozenset(),
    *,
    originals: Mapping[str, bytes | None] = EMPTY,
) -> Verdict:
    """Whether `candidate` beats `best`, by the first field of their scores that differs.

    A test that passed in the baseline is never traded, whatever else improves. A run of some tests only is
    weighed by these; `publishable` wants them all. `originals`: baseline content of the files of both patches.
    """
    unsaid = silent(candidate, baseline)
    if unsaid:
        return Verdict(ok=False, reason=f"{', '.join(unsaid)} gave no result for it")
    broken = lost(candidate, baseline, flaky)
    if broken:
        return Verdict(ok=False, reason=f"breaks {listed(broken)}")
    new, old = (score(item, baseline, scope=scope, flaky=flaky, originals=originals) for item in (candidate, best))
    moved = _moved(new, old, candidate, best)
    return _compared(new, old, candidate, best) if moved is None else moved


def _moved(new: Score, old: Score, candidate: Attempt, best: Attempt) -> Verdict | None:
    """The verdict where the same tests fail as in `best`, and some fail later (or earlier), none the other way."""
    if not _level(new, old):
        return None
    now, was = _depths(candidate), _depths(best)
    if now.keys() != was.keys():
        return None
    later = tuple(id for id in now if now[id] > was[id])
    earlier = tuple(id for id in now if now[id] < was[id])
    if bool(later) == bool(earlier):
        return None
    said = "the failure has moved on" if later else "fails earlier"
    return Verdict(ok=bool(later), reason=f"{said}: {listed(later or earlier)}")


def _level(new: Score, old: Score) -> bool:
    """Tell whether no field differs that decides before how far a test came."""
    return all(getattr(new, name) == getattr(old, name) for name in BEFORE)


def _depths(attempt: Attempt) -> dict[str, tuple[int, bool]]:
    """Tell of each failing test how far it came."""
    return {id: _depth(case) for id, case in attempt.cases.items() if case.status.bad}


def _depth(case: Case) -> tuple[int, bool]:
    """How far a failing test came: its line that failed, and whether that found what it calls."""
    failure = case.failure
    frames = failure.frames if failure else ()
    lines = [frame.line for frame in frames if frame.path == case.path]
    unfound = failure is not None and failure.exception.rpartition(".")[2] in UNFOUND
    return (lines[0] if lines else 0, not unfound)


def _compared(new: Score, old: Score, candidate: Attempt, best: Attempt) -> Verdict:
    against = "the start" if best.number == 0 else f"attempt {best.number}"
    for item in fields(Score):
        now, was = getattr(new, item.name), getattr(old, item.name)
        if now != was:
            word = WORDS.get(item.name, item.name)
            change = _advised(candidate, best) if item.name == "review" else f"{word} {was:g} → {now:g}"
            return Verdict(ok=now < was, reason=change if now < was else f"no better than {against}: {change}")
    return Verdict(ok=False, reason=f"no better than {against}")


def _advised(candidate: Attempt, best: Attempt) -> str:
    """What each adviser gave before and gives now, in its own measure, where that differs."""
    before = {check.critic: check.total for check in best.checks}
    pairs = ((check.critic, before.get(check.critic), check.total) for check in candidate.checks if not check.gate)
    told = (f"{name} {_given(was)} → {_given(now)}" for name, was, now in pairs if was != now)
    return ", ".join(told) or "fewer remarks of the advisers"


def _given(total: float | None) -> str:
    return "no score" if total is None else f"{total:g}"


def listed(ids: tuple[str, ...], most: int = 3) -> str:
    """The first few of `ids`, and how many more there are."""
    more = len(ids) - most
    return ", ".join(ids[:most]) + (f" and {more} more" if more > 0 else "")
