"""What no patch may repair, said before anything is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from coderefine.loop.state import State, tests

SHOWN = 3


def announce(state: State) -> None:
    """Name the protected files whose findings will be left."""
    for path, count in list(_counts(state).items())[:SHOWN]:
        left = "its finding is left" if count == 1 else f"its {count} findings are left"
        state.say("note", f"{state.parts.reason(path)}: {left}")


def hindrance(state: State) -> str:
    """Say why nothing could be tried where protection is the reason; "" where it is not.

    That is so when every finding left is in a protected file, and all that failing tests run is protected too.
    """
    left, counts = state.left(state.best), _counts(state)
    if not left:
        return ""
    failing = any(finding.symbol in state.best.cases for finding in left)
    if any(finding.path not in counts and finding.symbol not in state.best.cases for finding in left):
        return ""
    sources = _executed(state) if failing else {}
    if failing and (not sources or not all(sources.values())):
        return ""
    reasons = [*filter(None, map(state.parts.reason, counts)), *filter(None, sources.values())]
    return "; ".join(dict.fromkeys(reasons[:SHOWN]))


def _counts(state: State) -> Mapping[str, int]:
    """Findings left in files that may not be written; a failing test is repaired elsewhere."""
    suite = tests(state.best)
    found = (item for item in state.left(state.best) if suite is None or item.critic != suite.critic)
    return Counter(finding.path for finding in found if state.parts.reason(finding.path))


def _executed(state: State) -> Mapping[str, str | None]:
    """Files that failing tests run, without the test files, each with the reason why it may not be written."""
    files = {path for lines in state.trace.values() for path in lines}
    suites = {case.path for case in state.best.cases.values()}
    return {path: state.parts.reason(path) for path in sorted(files - suites)}
