"""Is this attempt a better step than the best so far? A step may trade; publication may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from coderefine.core import EMPTY, Attempt, Verdict
from coderefine.judge.score import Score, lost, score, silent

WORDS = {
    "asked": "parts of what is asked for still missing",
    "bad": "failing tests",
    "command": "findings of command gates",
    "ruff": "ruff findings",
    "radon": "complexity above the limit",
    "review": "points lost in the review",
    "remarks": "remarks of the review",
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
        return Verdict(ok=False, reason=f"{', '.join(unsaid)} said nothing about it")
    broken = lost(candidate, baseline, flaky)
    if broken:
        return Verdict(ok=False, reason=f"breaks {listed(broken)}")
    new, old = (score(item, baseline, scope=scope, flaky=flaky, originals=originals) for item in (candidate, best))
    return _compared(new, old, best)


def _compared(new: Score, old: Score, best: Attempt) -> Verdict:
    against = "the start" if best.number == 0 else f"attempt {best.number}"
    for item in fields(Score):
        now, was = getattr(new, item.name), getattr(old, item.name)
        if now != was:
            word = WORDS.get(item.name, item.name)
            change = f"{word} {was:g} → {now:g}"
            return Verdict(ok=now < was, reason=change if now < was else f"no better than {against}: {change}")
    return Verdict(ok=False, reason=f"no better than {against}")


def listed(ids: tuple[str, ...], most: int = 3) -> str:
    """The first few of `ids`, and how many more there are."""
    more = len(ids) - most
    return ", ".join(ids[:most]) + (f" and {more} more" if more > 0 else "")
