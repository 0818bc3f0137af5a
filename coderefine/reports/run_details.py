"""The output of `coderefine show`: a run's attempts, how it ended, and further commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from coderefine.core import Attempt, Outcome, Severity
from coderefine.core.plurals import counted
from coderefine.reports.proofs import decision
from coderefine.reports.rows import best_try, cost, offer_lines, steps


def render(
    run: str,
    attempts: Sequence[Attempt],
    outcome: Outcome | None,
    *,
    wrote: str,
    failed: str,
    before: Mapping[str, bytes | None],
) -> Iterator[str]:
    """Yield a run as lines of plain text, one per attempt.

    `outcome`: None for a run that was killed, or that `failed` with an error. `wrote`: what it wrote, as text.
    `before`: content of the patched files when it began.
    """
    yield f"run {run}"
    best = outcome.best.number if outcome else 0
    for attempt, summary in steps(attempts, before):
        yield _attempt(attempt, summary, best=0 < attempt.number == best)
    if failed:
        yield f"ended     {failed}"
    elif outcome is None:
        yield "ended     killed: `coderefine resume` goes on without paying twice"
    if outcome is not None:
        yield from _ending(outcome)
    if wrote:
        yield f"result    {wrote}"
    if outcome:
        yield from _offers(run, outcome)
    if best or best_try(attempts):
        yield f"look      coderefine show {run} --diff"


def _offers(run: str, outcome: Outcome) -> Iterator[str]:
    for label, text in offer_lines(outcome):
        yield f"{label:<10}{text}" if label else text
    if outcome.offers:
        yield f"pick      coderefine pick {run} N"


def _ending(outcome: Outcome) -> Iterator[str]:
    yield f"ended     {outcome.stop.value}" + (f": {outcome.why}" if outcome.why else "")
    if outcome.proof:
        yield f"verdict   {decision(outcome.proof)}"
    yield f"spent     {cost(outcome.cost)} · {outcome.cost.seconds:.1f} s"
    if outcome.suite_runs is not None:
        yield f"tests     {outcome.suite_runs:.1f} x the time of the whole suite, besides the search"
    if outcome.evidence.flipped:
        yield f"flipped   {', '.join(outcome.evidence.flipped)}"
    if outcome.evidence.proved_by:
        yield f"proof     {outcome.evidence.proved_by}"
    for finding in outcome.remaining:
        label = "left" if finding.severity is Severity.HARD else "advice"
        yield f"{label:<10}{finding.where} {finding.rule} {finding.message}"


def _attempt(attempt: Attempt, summary: str, *, best: bool) -> str:
    if attempt.number == 0:
        failing = sum(1 for case in attempt.cases.values() if case.status.bad)
        ran, found = counted(len(attempt.cases), "test"), counted(len(attempt.findings), "finding")
        return f"   0      start: {ran}, {failing} failing, {found}"
    mark = "*" if best else " "
    answer = "better" if attempt.verdict else "refused"
    reason = f" ({attempt.verdict.reason})" if attempt.verdict.reason else ""
    return f"{mark}{attempt.number:>4}      {attempt.patch.origin}: {summary} · {answer}{reason}"
