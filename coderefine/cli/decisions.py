"""The last line of a report that is about something else than the working tree: a commit, a push, a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coderefine.core import Check, Outcome, Severity, Stop
from coderefine.reports.rows import counted, ending


def failures(checks: Iterable[Check]) -> str:
    """Count what failed: `2 tests fail, 1 ruff finding`; empty when nothing did."""
    parts = []
    for check in checks:
        hard = [finding for finding in check.findings if finding.severity is Severity.HARD]
        failing = sum(finding.symbol in check.cases for finding in hard)
        if failing:
            parts.append(f"{counted(failing, 'test')} fail{'s' * (failing == 1)}")
        if len(hard) > failing:
            parts.append(counted(len(hard) - failing, f"{check.critic} finding"))
    return ", ".join(parts)


def refusal(commit: str, failed: str, repair: str = "") -> str:
    """Say that a commit ("": what is staged) is refused, why, and where its `repair` is."""
    what = f"push refused: {commit[:10]}" if commit else "commit refused"
    return "; ".join(part for part in (f"{what}: {failed or 'not everything could be checked'}", repair) if part)


def repaired(outcome: Outcome, paths: Sequence[str], *, kept: bool) -> str:
    """Say where the repair is that a refused commit got, and whether it is a whole one."""
    if not outcome.best.number:
        return ""
    what = "a repair" if outcome.clean else "a repair of a part of it"
    return f"{what} is kept as a patch" if kept else f"{what} lies unstaged in {', '.join(sorted(paths))}"


def with_patch(outcome: Outcome) -> str:
    """The last line where the patch is not in the working tree: what is said holds with the patch only."""
    return f"with the patch {ending(outcome)}" if outcome.best.number and _counts(outcome) else ""


def unwritten(outcome: Outcome) -> str:
    """The last line where the patch could not be written."""
    return f"nothing was written; with the patch {ending(outcome)}" if _counts(outcome) else "nothing was written"


def suggested(outcome: Outcome, head: str) -> str:
    """The last line about a pull request whose head fails and whose patch is only suggested."""
    failed = failures(outcome.baseline.checks)
    if not failed or not outcome.best.number:
        return ""
    return f"{head[:10]}: {failed}; with the patch {ending(outcome)}"


def _counts(outcome: Outcome) -> bool:
    """Whether `ending` speaks of checks."""
    return not outcome.clean or outcome.stop is Stop.CLEAN
