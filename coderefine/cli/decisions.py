"""The last line of a report on a commit, a push or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coderefine.core import Check, Outcome, Severity, Stop
from coderefine.core.plurals import counted
from coderefine.reports.rows import ending


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
    """Say that a commit is refused, why, and where its `repair` is.

    `commit` is "" for what is staged.
    """
    what = f"push refused: {commit[:10]}" if commit else "commit refused"
    return "; ".join(part for part in (f"{what}: {failed or 'not everything could be checked'}", repair) if part)


def repaired(outcome: Outcome, paths: Sequence[str], *, kept: bool) -> str:
    """Say where the repair of a refused commit is, and whether it repairs everything."""
    if not outcome.best.number:
        found = sum(len(offer.alternatives) for offer in outcome.offers)
        return f"{counted(found, 'plausible repair')} offered, see above" if found else ""
    what = "a repair" if outcome.clean else "a repair of a part of it"
    return f"{what} is kept as a patch" if kept else f"{what} lies unstaged in {', '.join(sorted(paths))}"


def with_patch(outcome: Outcome) -> str:
    """Return the last line for a patch that is not in the working tree."""
    return f"with the patch {ending(outcome)}" if outcome.best.number and _counts(outcome) else ""


def unwritten(outcome: Outcome) -> str:
    """Return the last line for a patch that could not be written."""
    return f"nothing was written; with the patch {ending(outcome)}" if _counts(outcome) else "nothing was written"


def suggested(outcome: Outcome, head: str) -> str:
    """Return the last line for a pull request whose head fails and whose patch was only suggested."""
    failed = failures(outcome.baseline.checks)
    if not failed or not outcome.best.number:
        return ""
    return f"{head[:10]}: {failed}; with the patch {ending(outcome)}"


def _counts(outcome: Outcome) -> bool:
    """Return whether `ending` reports the state of the checks."""
    return not outcome.clean or outcome.stop is Stop.CLEAN
