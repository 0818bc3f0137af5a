"""Name the tests whose outcome changes on the same tree: they can be neither fixed nor broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coderefine.core import Ask, Case, Check, Critic, Patch, Views
from coderefine.loop.confinement import fitting
from coderefine.loop.critique import critique
from coderefine.runner.cold import HANG

OTHER_SEED = 1


def find_flaky(views: Views, critic: Critic, baseline: Check, ask: Ask) -> tuple[frozenset[str], int]:
    """Failing tests of `baseline` that do not fail again, and the freedom (see Ask) that failing tests need.

    They are run once more alone, with another hash seed; those that pass there get a second full run, because a
    test that fails only in company is order-dependent (a real failure), not flaky. Tests that hung are believed.
    """
    ids = tuple(id_ for id_ in baseline.failing if not _hung(baseline.cases[id_]))
    if not ids:
        return frozenset(), 0
    again, needed = fitting(views, critic, baseline, replace(ask, tests=ids, seed=OTHER_SEED, rich=False))
    suspects = _passing(ids, again)
    if suspects:
        (again,) = critique(views, (critic,), Patch(), replace(ask, rich=False))
    return suspects & _passing(ids, again), needed


def fails_anyway(views: Views, critic: Critic, ids: Sequence[str], ask: Ask) -> frozenset[str]:
    """Those of `ids` that fail on the untouched baseline too, under the hash seed of `ask`.

    All tests run: one that needs another before it fails alone on any tree, and would be excused for nothing.
    """
    (check,) = critique(views, (critic,), Patch(), replace(ask, tests=None, changed=None))
    return frozenset(check.failing) & frozenset(ids)


def _hung(case: Case) -> bool:
    return case.failure is not None and case.failure.exception == HANG


def _passing(ids: Sequence[str], again: Check) -> frozenset[str]:
    return frozenset(id_ for id_ in ids if id_ in again.cases and not again.cases[id_].status.bad)
