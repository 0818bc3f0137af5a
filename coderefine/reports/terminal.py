"""Text reports for a terminal or a log: the same text, with or without colour."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from coderefine.core import EMPTY, Check, Finding, Outcome, Severity
from coderefine.reports.proofs import proof_rows
from coderefine.reports.rows import Row, advice, checks_row, headline, notes, outcome_rows

SHOWN = 50
"""Number of findings listed in full; more are counted."""
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
    report = _drawn(list(rows), coloured=coloured, width=width)
    return _diff(diff, coloured=coloured, width=width) + report


def _findings(gates: Sequence[Check]) -> Iterator[str | Row]:
    for check in gates:
        hard = [finding for finding in check.findings if finding.severity is Severity.HARD]
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


def _diff(diff: str, *, coloured: bool, width: int) -> str:
    if not diff or not coloured:
        return diff
    from coderefine.reports.paint import paint_diff

    return paint_diff(diff, width)


def columns(environ: Mapping[str, str]) -> int:
    """Return the width of the text: COLUMNS, else that of the terminal, at most 120."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return min(int(given), 120)
    try:
        return min(os.get_terminal_size().columns or 100, 120)
    except OSError:
        return 100


def plain(line: str | Row, width: int, *, cut: bool = False) -> str:
    """Lay out a row: `label` in ten columns, the text, then verdict and seconds at the right edge.

    With `cut`, text that is too long is shortened.
    """
    if isinstance(line, str):
        return line.rstrip()
    start = f"{line.label:<10}{line.text}" if line.label else line.text
    end = " ".join(part for part in (line.verdict, seconds(line)) if part)
    if cut and end and len(start) + 1 + len(end) > width > 40:
        start = start[: width - len(end) - 2] + "…"
    room = max(1, width - len(start) - len(end)) if end else 0
    return f"{start}{' ' * room}{end}".rstrip()


def seconds(row: Row) -> str:
    return "" if row.seconds is None else f"{row.seconds:5.1f} s"
