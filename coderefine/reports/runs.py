"""What `coderefine show` prints: a run's attempts, how it ended, and where to look further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine.core import Attempt, Outcome, Severity
from coderefine.reports import offers
from coderefine.reports.rows import cost


def render(run: str, attempts: Sequence[Attempt], outcome: Outcome | None, wrote: str) -> str:
    """Plain text, a line per attempt; `outcome` is None for a run that was killed."""
    return "\n".join(_lines(run, attempts, outcome, wrote))


def _lines(run: str, attempts: Sequence[Attempt], outcome: Outcome | None, wrote: str) -> Iterator[str]:
    yield f"run {run}"
    best = outcome.best.number if outcome else None
    for attempt in attempts:
        yield _attempt(attempt, best=attempt.number == best and attempt.number > 0)
    if outcome is None:
        yield "ended     killed: `coderefine resume` goes on without paying twice"
    else:
        yield from _ending(outcome)
        if wrote:
            yield f"{wrote}; undo: coderefine undo {run}"
    if outcome and outcome.offers:
        yield from (f"{label:<10}{text}" if label else text for label, text in offers.lines(outcome))
        yield f"pick      coderefine pick {run} N"
    if best:
        yield f"look      coderefine show {run} --diff"


def _ending(outcome: Outcome) -> Iterator[str]:
    yield f"ended     {outcome.stop.value}" + (f": {outcome.why}" if outcome.why else "")
    yield f"spent     {cost(outcome.cost)} · {outcome.cost.seconds:.1f} s"
    if outcome.suite_runs is not None:
        yield f"tests     {outcome.suite_runs:.1f} x the time of the whole suite, besides the search"
    if outcome.evidence.flipped:
        yield f"flipped   {', '.join(outcome.evidence.flipped)}"
    for finding in outcome.remaining:
        label = "left" if finding.severity is Severity.HARD else "advice"
        yield f"{label:<10}{finding.where} {finding.rule} {finding.message}"


def _attempt(attempt: Attempt, *, best: bool) -> str:
    if attempt.number == 0:
        failing = sum(1 for case in attempt.cases.values() if case.status.bad)
        return f"   0      start: {len(attempt.cases)} tests, {failing} failing, {len(attempt.findings)} findings"
    mark = "*" if best else " "
    answer = "better" if attempt.verdict else "refused"
    reason = f" ({attempt.verdict.reason})" if attempt.verdict.reason else ""
    return f"{mark}{attempt.number:>4}      {attempt.patch.origin}: {attempt.patch.summary} · {answer}{reason}"
