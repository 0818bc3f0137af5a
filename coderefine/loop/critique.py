"""Run the critics on one tree, in parallel: pytest in one view, all other critics in another view."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import groupby

from coderefine import proc
from coderefine.core import Ask, Check, Critic, Patch, View, Views
from coderefine.errors import VoidError

RUNS_THE_PROJECT = "pytest"
"""The critic that executes project code: it gets a view of its own, so that no other critic sees what tests write."""

Look = Callable[[View, list[Check]], None]


def critique(
    views: Views,
    critics: Sequence[Critic],
    patch: Patch,
    ask: Ask,
    *,
    before: Sequence[Check] = (),
    look: Look = lambda *_: None,
) -> tuple[Check, ...]:
    """Return one Check per critic on baseline + `patch`, in the order of `critics`.

    `before`: earlier checks of the same baseline; if a critic checked only `ask.changed`, the rest of its result is
    copied from `before`. `look` is called with each view after its critics have run. Raises the error of the first
    critic that fails, after the other critics have finished; Ctrl-C kills running processes.
    """
    groups = [list(group) for _, group in groupby(sorted(critics, key=_runs_code), key=_runs_code)]
    pool = ThreadPoolExecutor(max_workers=max(1, len(groups)))
    futures = [pool.submit(_group, views, group, patch, ask, look) for group in groups]
    try:
        checks = {check.critic: check for future in as_completed(futures) for check in future.result()}
    except KeyboardInterrupt:
        with proc.stopped():
            pool.shutdown(cancel_futures=True)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    old = {check.critic: check for check in before}
    return tuple(_whole(checks[critic.name], old.get(critic.name), ask) for critic in critics)


def _runs_code(critic: Critic) -> bool:
    return critic.name == RUNS_THE_PROJECT


def _group(views: Views, group: Sequence[Critic], patch: Patch, ask: Ask, look: Look) -> list[Check]:
    """Return the checks of `group`; retry in another kind of view if the patched code did not run in the first view."""
    try:
        return _in_view(views, group, patch, ask, look)
    except VoidError as error:
        if not (error.elsewhere and views.instead(str(error))):
            raise
        return _in_view(views, group, patch, ask, look)


def _in_view(views: Views, group: Sequence[Critic], patch: Patch, ask: Ask, look: Look) -> list[Check]:
    with views.open(patch) as view:
        checks = [_timed(critic, view, ask) for critic in group]
        look(view, checks)
    return checks


def _timed(critic: Critic, view: View, ask: Ask) -> Check:
    """Return the critic's check; measure how long it took, unless the critic does that."""
    began = time.monotonic()
    check = critic.check(view, ask)
    return check if check.seconds else replace(check, seconds=time.monotonic() - began)


def _whole(check: Check, before: Check | None, ask: Ask) -> Check:
    """Add to `check` the results of `before` for tests and files that were not checked again."""
    if check.complete or before is None or ask.changed is None:
        return check
    if check.cases or before.cases:
        left = before.cases.keys() - check.cases.keys()
        findings = (finding for finding in before.findings if finding.symbol in left)
        return replace(check, findings=(*check.findings, *findings), cases={**before.cases, **check.cases})
    untouched = tuple(finding for finding in before.findings if finding.path not in ask.changed)
    return replace(check, findings=untouched + check.findings, complete=True)
