"""Text reports for a terminal or a log, the same with or without colour; and the output of `coderefine show`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from coderefine.core import EMPTY, Attempt, Check, Finding, Outcome, Severity
from coderefine.core.plurals import counted, printable
from coderefine.reports.formats import blocking
from coderefine.reports.rows import (
    Row,
    advice,
    best_try,
    checks_row,
    cost,
    headline,
    notes,
    offer_lines,
    outcome_rows,
    steps,
)
from coderefine.reports.verdict import decision, proof_rows

SHOWN = 50
"""Maximum number of a gate's findings that are listed; of the others, only the number is given."""
EVIDENCE = 8
"""Maximum number of lines of a finding's evidence."""


def colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether to write colour to `stream`: only to a terminal, without TERM=dumb and NO_COLOR.

    See https://no-color.org.
    """
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


def checks(gates: Sequence[Check], *, coloured: bool = False, width: int = 100) -> str:
    """Return the findings by gate, each with its evidence, then a line with their numbers."""
    lines = [*_findings(gates), checks_row(gates)]
    return _drawn(lines, coloured=coloured, width=width)


def outcome(
    end: Outcome,
    wrote: Sequence[str] = (),
    *,
    diff: str = "",
    decided: str = "",
    before: Mapping[str, bytes | None] = EMPTY,
    coloured: bool = False,
    width: int = 100,
) -> str:
    """Return the report of a run.

    `wrote`: the publishers' lines. `diff`: a unified diff to print first. `decided`: replaces the last line. `before`:
    content of the patched files at the start.
    """
    rows = proof_rows(end, end.proof, wrote) if end.proof else outcome_rows(end, wrote, decided, before)
    if diff and coloured:
        from coderefine.reports.paint import paint_diff

        diff = paint_diff(diff, width)
    return diff + _drawn(list(rows), coloured=coloured, width=width)


def _findings(gates: Sequence[Check]) -> Iterator[str | Row]:
    for check in gates:
        hard = blocking(check.findings)
        for finding in hard[:SHOWN]:
            yield headline(finding)
            yield from (f"    {line}" for line in _evidence(finding))
        if len(hard) > SHOWN:
            yield f"… and {len(hard) - SHOWN} more from {check.critic}"
        if not check.gate:
            yield from advice(check.findings)
        yield from notes((check,))


def _evidence(finding: Finding) -> list[str]:
    lines = finding.evidence.rstrip().splitlines()
    if len(lines) <= EVIDENCE:
        return lines
    return [*lines[: EVIDENCE - 3], f"… {len(lines) - EVIDENCE + 1} lines …", *lines[-2:]]


def _drawn(lines: Sequence[str | Row], *, coloured: bool, width: int) -> str:
    if coloured:
        from coderefine.reports.paint import paint

        return paint(lines, width)
    return "".join(f"{plain(line, width)}\n" for line in lines)


def columns(environ: Mapping[str, str]) -> int:
    """Return the width of the text: the variable COLUMNS, else the terminal's width, but at most 120."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return min(int(given), 120)
    try:
        return min(os.get_terminal_size().columns or 100, 120)
    except OSError:
        return 100


def plain(line: str | Row, width: int, *, cut: bool = False) -> str:
    """Lay out a row: `label` in ten columns, the text, then verdict and seconds at the right edge.

    With `cut`, text that is too long is shortened. Names and messages may contain characters that a terminal obeys;
    these are escaped.
    """
    if isinstance(line, str):
        return printable(line.rstrip(), "\t")
    start = printable(f"{line.label:<10}{line.text}" if line.label else line.text, "\t")
    seconds = "" if line.seconds is None else f"{line.seconds:5.1f} s"
    end = " ".join(part for part in (line.verdict, seconds) if part)
    if cut and end and len(start) + 1 + len(end) > width > 40:
        start = start[: width - len(end) - 2] + "…"
    room = max(1, width - len(start) - len(end)) if end else 0
    return f"{start}{' ' * room}{end}".rstrip()


def run_details(
    run: str,
    attempts: Sequence[Attempt],
    outcome: Outcome | None,
    *,
    wrote: str,
    failed: str,
    unfinished: str,
    before: Mapping[str, bytes | None],
) -> Iterator[str]:
    """Yield the lines of a text about a run: one for each attempt, and some about the end of the run.

    `outcome`: None if there is none. `failed`: the error that ended the run, or "". `unfinished`: why there is no
    outcome; shown if there is no error. `wrote`: what the run wrote; "" for nothing. `before`: content of the patched
    files when the run began.
    """
    yield f"run {run}"
    best = outcome.best.number if outcome else 0
    for attempt, summary in steps(attempts, before):
        yield _attempt(attempt, summary, best=0 < attempt.number == best)
    if failed:
        yield f"ended     {failed}"
    elif outcome is None:
        yield f"ended     {unfinished}"
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
    if outcome.evidence.isolation:
        yield f"view      {outcome.evidence.isolation}"
    if outcome.evidence.flipped:
        yield f"flipped   {', '.join(outcome.evidence.flipped)}"
    if outcome.evidence.proved_by:
        yield f"proof     {outcome.evidence.proved_by}"
    for finding in outcome.remaining:
        label = "left" if finding.severity is Severity.HARD else "advice"
        yield printable(f"{label:<10}{finding.where} {finding.rule} {finding.message}")


def _attempt(attempt: Attempt, summary: str, *, best: bool) -> str:
    if attempt.number == 0:
        failing = sum(1 for case in attempt.cases.values() if case.status.bad)
        ran, found = counted(len(attempt.cases), "test"), counted(len(attempt.findings), "finding")
        return f"   0      start: {ran}, {failing} failing, {found}"
    mark = "*" if best else " "
    answer = "better" if attempt.verdict else "refused"
    reason = f" ({attempt.verdict.reason})" if attempt.verdict.reason else ""
    return printable(f"{mark}{attempt.number:>4}      {attempt.patch.origin}: {summary} · {answer}{reason}")
