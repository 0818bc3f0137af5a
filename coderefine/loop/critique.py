"""Run the critics on one tree, side by side, each group in a view of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

from coderefine import proc
from coderefine.core import Ask, Check, Critic, Patch, View, Views
from coderefine.errors import VoidError

RUNS_THE_PROJECT = "pytest"
"""The critic that executes project code: it gets a view alone, so that what tests write is seen by no other."""

Look = Callable[[View, list[Check]], None]


def _look_away(_view: View, _checks: list[Check]) -> None:
    """Most callers need only the checks."""


def critique(
    views: Views,
    critics: Sequence[Critic],
    patch: Patch,
    ask: Ask,
    *,
    before: Sequence[Check] = (),
    look: Look = _look_away,
) -> tuple[Check, ...]:
    """One Check per critic on baseline + `patch`, in the order of `critics`.

    `before` are earlier checks of the same baseline: a critic that looked at `ask.changed` only has the rest
    carried over from them. `look` sees each view after its critics are done. Raises what the first failing
    critic raised, once its siblings are done; Ctrl-C kills what runs.
    """
    groups = [group for group in _groups(critics) if group]
    pool = ThreadPoolExecutor(max_workers=max(1, len(groups)))
    futures = [pool.submit(_group, views, group, patch, ask, look) for group in groups]
    try:
        checks = {check.critic: check for check in _results(futures)}
    except KeyboardInterrupt:
        with proc.stopped():
            pool.shutdown(cancel_futures=True)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    old = {check.critic: check for check in before}
    return tuple(_whole(checks[critic.name], old.get(critic.name), ask) for critic in critics)


def _groups(critics: Sequence[Critic]) -> tuple[list[Critic], list[Critic]]:
    runs = [critic for critic in critics if critic.name == RUNS_THE_PROJECT]
    return runs, [critic for critic in critics if critic.name != RUNS_THE_PROJECT]


def _group(views: Views, group: Sequence[Critic], patch: Patch, ask: Ask, look: Look) -> list[Check]:
    """The checks of `group`; from a view of another kind when the first one did not run the patched code."""
    try:
        return _in_view(views, group, patch, ask, look)
    except VoidError as error:
        if not (error.elsewhere and views.instead(str(error))):
            raise
        return _in_view(views, group, patch, ask, look)


def _in_view(views: Views, group: Sequence[Critic], patch: Patch, ask: Ask, look: Look) -> list[Check]:
    with views.open(patch) as view:
        checks = [critic.check(view, ask) for critic in group]
        look(view, checks)
    return checks


def _results(futures: Sequence[Future[list[Check]]]) -> list[Check]:
    return [check for future in as_completed(futures) for check in future.result()]


def _whole(check: Check, before: Check | None, ask: Ask) -> Check:
    """`check` with what it did not look at again carried over from `before`."""
    if check.complete or before is None or ask.changed is None:
        return check
    if check.cases or before.cases:
        return replace(check, cases={**before.cases, **check.cases})
    untouched = tuple(finding for finding in before.findings if finding.path not in ask.changed)
    return replace(check, findings=untouched + check.findings, complete=True)
