"""The last line of a report for a tree that is not patched, where "all checks pass" is wrong; and the exit code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from coderefine.core import Check, Outcome, Severity, Stop
from coderefine.core.plurals import counted
from coderefine.reports.rows import ending

if TYPE_CHECKING:
    from coderefine.app.run import RunResult


def failures(checks: Iterable[Check]) -> str:
    """Return how many tests and findings failed: `2 tests fail, 1 ruff finding`; "" for none."""
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
    """Return the report's last line for a refused commit: the reason, and the text `repair`.

    `commit`: "" for the staged tree.
    """
    what = f"push refused: {commit[:10]}" if commit else "commit refused"
    return "; ".join(part for part in (f"{what}: {failed or 'not everything could be checked'}", repair) if part)


def repaired(result: RunResult) -> str:
    """Return a text on where the repair of a refused commit is, and whether it repairs everything."""
    outcome = result.outcome
    if not outcome.best.number:
        found = sum(len(offer.alternatives) for offer in outcome.offers)
        return f"{counted(found, 'plausible repair')} offered, see above" if found else ""
    what = "a repair" if outcome.clean else "a repair of a part of it"
    if not result.written:
        return f"{what} is kept as a patch"
    return f"{what} was written to {', '.join(sorted(outcome.best.patch.files))}, not staged"


def with_patch(result: RunResult, *, elsewhere: bool) -> str:
    """Return the last line for a patch that is not in the working tree: it was written `elsewhere`, or refused."""
    outcome = result.outcome
    if not outcome.best.number or outcome.stop is Stop.INTERRUPTED:
        return ""
    patched = f"with the patch {ending(outcome)}" if not outcome.clean or outcome.stop is Stop.CLEAN else ""
    if result.published.refused:
        return "; ".join(filter(None, ("nothing was written", patched)))
    return patched if elsewhere else ""


def suggested(outcome: Outcome, head: str) -> str:
    """Return the last line for a pull request whose head fails and whose patch was only suggested."""
    failed = failures(outcome.baseline.checks)
    if not failed or not outcome.best.number:
        return ""
    return f"{head[:10]}: {failed}; with the patch {ending(outcome)}"


def proof_exit_code(outcome: Outcome) -> int:
    """Return 0 if a given patch is proved, 1 if not; for a run that ended early, see `exit_code`."""
    if outcome.stop in (Stop.ENVIRONMENT, Stop.INTERRUPTED):
        return exit_code(outcome)
    return 0 if outcome.proof and outcome.proof.verdict else 1


def exit_code(outcome: Outcome) -> int:
    """Return 0 if no HARD finding is left, with the best patch if there is one, else 1; for an early end, 2 or 130."""
    return {Stop.ENVIRONMENT: 2, Stop.INTERRUPTED: 130}.get(outcome.stop, 0 if outcome.clean else 1)
