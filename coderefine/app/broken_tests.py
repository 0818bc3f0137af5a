"""Find tests that a commit breaks in code that it does not change, for example because it deletes what they import."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from coderefine.app.project import Setup, critics
from coderefine.core import Ask, Check, Patch, Views


def broken(
    parts: Setup, opened: Views, checks: Sequence[Check], ask: Ask, tests: Collection[str], *, since: str
) -> list[str]:
    """Return ids of tests that fail in `checks` and did not fail in the commit `since`; `tests` are their files.

    A failure outside the scope is no finding, since it may be an old one; therefore `since` is run, too.
    """
    from coderefine.git.changes import hidden, known
    from coderefine.loop.critique import critique
    from coderefine.workspace.snapshot_views import SnapshotViews

    failing = _failing(checks)
    if not failing:
        return []
    head = hidden(parts.place.top, known(parts.place.top, since))
    if any(head.get(path, b"") is None for path in tests):
        return sorted(failing)  # among them are new ones, which that commit could not run
    gates = [critic for critic in critics(parts) if critic.name == "pytest"]
    before = critique(SnapshotViews(opened, head), gates, Patch(), replace(ask, coverage=False))
    return sorted(failing - _failing(before))


def _failing(checks: Sequence[Check]) -> set[str]:
    return {name for check in checks for name, case in check.cases.items() if case.status.bad}
