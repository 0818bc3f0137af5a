"""What a run achieved, in one sentence."""

from __future__ import annotations

from coderefine.core import Outcome
from coderefine.core.plurals import counted
from coderefine.reports.formats import blocking, cleared
from coderefine.reports.proofs import decision
from coderefine.reports.rows import ending


def verdict(end: Outcome) -> str:
    """Return what a run achieved: `Proved: 3 failing tests and 2 findings are repaired; all checks pass.`"""
    if end.proof:
        text = decision(end.proof)
        return f"{text[:1].upper()}{text[1:]}."
    if end.best.number:
        return f"{end.evidence.claim.capitalize()}: {_repaired(end)}; {_rest(end)}."
    if end.offers:
        count = sum(len(offer.alternatives) for offer in end.offers)
        return f"Nothing is written: {count} plausible patch{'es' * (count != 1)} to choose from."
    untried = end.clean and len(end.attempts) < 2
    return f"Nothing {'to repair' if untried else 'is proved'}: {_rest(end)}."


def _repaired(end: Outcome) -> str:
    lint = [finding for finding in cleared(end) if finding.critic != "pytest"]
    counts = ((len(end.evidence.flipped), "failing test"), (len(lint), "finding"))
    parts = [counted(count, noun) for count, noun in counts if count]
    verb = "is" if sum(count for count, _ in counts) == 1 else "are"
    return f"{' and '.join(parts)} {verb} repaired" if parts else end.best.verdict.reason or "the patch is better"


def _rest(end: Outcome) -> str:
    """Return what is left to do, without the reason."""
    hard = len(blocking(end.remaining))
    return f"{counted(hard, 'finding')} remain{'s' * (hard == 1)}" if hard else ending(end)
