"""Runs the search engine on one tree the way the program does: cold baseline, private views, `Search.propose`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from coderefine.config import load
from coderefine.core import Ask, Attempt, Check, Event, Patch, Proposals, Situation, Status
from coderefine.critics.pytest import Pytest
from coderefine.project import Protection, interpreter, locate
from coderefine.proposers.search import Search
from coderefine.workspace import open_views


@dataclass(frozen=True)
class Ended:
    """What one repair came to. Seconds are those of `propose` until its first patch, set-up of servers included."""

    failing: tuple[str, ...]
    patch: Patch | None
    others: tuple[Patch, ...]
    seconds: float
    tried: int
    plausible: bool
    note: str = ""


def repair(top: Path, *, seconds: float = 30.0) -> Ended:
    """Repair the project at `top` with the engine alone; at most three turns, as a loop would give it."""
    place = locate([top], top)
    config = replace(load(place.root, {}, {}), search_time=seconds)
    python = interpreter(place, config, dict(os.environ))
    said: list[Event] = []
    critic = Pytest(place, python, config, said.append)
    with open_views(place) as views:
        with views.open() as view:
            check = critic.check(view, Ask(rich=True, seed=0, timeout=60))
        base = Attempt(0, Patch(), (check,))
        if not check.failing:
            return Ended((), None, (), 0.0, 0, plausible=False, note="no failing test")
        search = Search(place, python, config, Protection.of(place, config), said.append)
        situation = Situation(base, base, (base,), check.findings, (".",))
        began = time.monotonic()
        proposals = search.propose(situation, views)
        patch = next(proposals, None)
        spent = time.monotonic() - began
        others = search.alternatives
        for turn in range(3):
            if patch is None:
                break
            with views.open(patch) as view:
                after = critic.check(view, Ask(rich=True, seed=1, timeout=60))
            if not after.failing or turn == 2:
                break
            if set(after.failing) < set(check.failing):
                best = Attempt(turn + 1, patch, (after,))
                again = time.monotonic()
                further = _send(proposals, replace(situation, best=best))
                spent += time.monotonic() - again
                if further is None:
                    break
                patch = further
            else:
                break
        good = patch is not None and not after.failing and _kept(check, after)
        proposals.close()
    notes = "; ".join(event.text for event in said if event.kind == "note")
    return Ended(check.failing, patch, others, spent, search.spent.test_runs, plausible=good, note=notes)


def _send(proposals: Proposals, situation: Situation) -> Patch | None:
    try:
        return proposals.send(situation)
    except StopIteration:
        return None


def _kept(before: Check, after: Check) -> bool:
    """No passing test is lost. A collection error is no test: it goes with the fault."""
    passing = (name for name, case in before.cases.items() if case.status is Status.PASSED)
    return all(name in after.cases and not after.cases[name].status.bad for name in passing)
