"""Run failing tests again: which are flaky (neither fixed nor broken by any patch), and what the others execute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coderefine.core import Ask, Check, Coverage, Critic, Patch, Views
from coderefine.loop.confinement import fitting
from coderefine.loop.critique import critique
from coderefine.loop.hangs import is_hung
from coderefine.runner.nearness import one_of_each

OTHER_SEED = 1
WATCHED = 40
"""Failing tests whose lines are watched: more say little more."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What a second run of the failing tests showed.

    `flaky`: those that do not fail again. `freedom`: the sandbox's step that they need (see Ask). `trace`: the lines
    that each executes; `followed`: some in Python programs that the tests start.
    """

    flaky: frozenset[str] = frozenset()
    freedom: int = 0
    trace: Coverage = field(default_factory=dict)
    followed: bool = False


def rerun_failing(views: Views, critic: Critic, baseline: Check, ask: Ask) -> Rerun:
    """Run the failing tests of `baseline` once more: alone, confined, with another hash seed, watched line by line.

    Those that pass there get a second full run, because a test that fails only in company is order-dependent (a
    real failure), not flaky. Tests that hung are believed.
    """
    ids = tuple(id_ for id_ in baseline.failing if not is_hung(baseline.cases[id_]))
    if not ids:
        return Rerun()
    watched = frozenset(one_of_each(ids)[:WATCHED])
    again, needed = fitting(
        views,
        critic,
        baseline,
        replace(ask, tests=ids, seed=OTHER_SEED, rich=False, coverage=True, watched=watched, follow=True),
    )
    suspects = _passing(ids, again)
    full = again
    if suspects:
        (full,) = critique(views, (critic,), Patch(), replace(ask, rich=False))
    return Rerun(suspects & _passing(ids, full), needed, again.coverage or {}, again.followed)


def fails_anyway(views: Views, critic: Critic, ids: Sequence[str], ask: Ask) -> frozenset[str]:
    """Those of `ids` that fail on the untouched baseline too, under the hash seed of `ask`.

    They run alone first. All tests run where one fails alone: it may need another before it on any tree, and would
    be excused for nothing.
    """
    (alone,) = critique(views, (critic,), Patch(), replace(ask, tests=tuple(ids), changed=None))
    if not frozenset(alone.failing) & frozenset(ids):
        return frozenset()
    (check,) = critique(views, (critic,), Patch(), replace(ask, tests=None, changed=None))
    return frozenset(check.failing) & frozenset(ids)


def _passing(ids: Sequence[str], again: Check) -> frozenset[str]:
    return frozenset(id_ for id_ in ids if id_ in again.cases and not again.cases[id_].status.bad)
