"""Text reports for a terminal or a log: the same words, coloured or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from coderefine.core import EMPTY, Check, Finding, Outcome, Severity
from coderefine.reports.layout import plain
from coderefine.reports.rows import Row, advice, checks_row, headline, notes, outcome_rows

SHOWN = 50
"""Number of findings listed in full; more are counted."""
EVIDENCE = 8
"""Maximum number of lines of a finding's evidence."""


def colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether `stream` takes colour: a terminal that is not dumb, without NO_COLOR (https://no-color.org)."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


def checks(said: Sequence[Check], *, coloured: bool = False, width: int = 100) -> str:
    """Render findings by gate, each with its evidence, then one line that sums up."""
    lines = [*_findings(said), checks_row(said)]
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
    """Render the report of a run.

    `wrote` are the publishers' lines, `diff` is a unified diff to print first, `decided` replaces the last line.
    `before`: what the patched files held at the start.
    """
    report = _drawn(list(outcome_rows(end, wrote, decided, before)), coloured=coloured, width=width)
    return _diff(diff, coloured=coloured, width=width) + report


def _findings(said: Sequence[Check]) -> Iterator[str | Row]:
    for check in said:
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
    """Return the width to write for: COLUMNS, else the terminal's, at most 120."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return min(int(given), 120)
    try:
        return min(os.get_terminal_size().columns or 100, 120)
    except OSError:
        return 100
