"""Report findings in protected files, which no patch may repair, before anything is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from coderefine.loop.state import State, tests

SHOWN = 3


def announce(state: State) -> None:
    """Report the protected files whose findings will remain."""
    for path, count in list(_counts(state).items())[:SHOWN]:
        left = "its finding is left" if count == 1 else f"its {count} findings are left"
        state.say("note", f"{state.parts.reason(path)}: {left}")


def hindrance(state: State) -> str:
    """Return why nothing could be tried if protection is the reason, else "".

    Protection is the reason if every remaining finding is in a protected file, and all files that failing tests run
    are protected too.
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
    """Count the remaining findings per protected file; failing tests do not count, since other files repair them."""
    suite = tests(state.best)
    found = (item for item in state.left(state.best) if suite is None or item.critic != suite.critic)
    return Counter(finding.path for finding in found if state.parts.reason(finding.path))


def _executed(state: State) -> Mapping[str, str | None]:
    """Return the files that failing tests run, except test files, with the reason for protection (None: writable)."""
    files = {path for lines in state.trace.values() for path in lines}
    suites = {case.path for case in state.best.cases.values()}
    return {path: state.parts.reason(path) for path in sorted(files - suites)}
