"""Markdown, for the summary of a GitHub Actions step: `coderefine fix --format markdown >> "$GITHUB_STEP_SUMMARY"`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coderefine.core import Attempt, Check, Finding
from coderefine.core.markdown_code import fence, span
from coderefine.core.plurals import counted, printable
from coderefine.reports.formats import RunReport, blocking, found, rule, words
from coderefine.reports.rows import evidence, steps, summary
from coderefine.reports.verdict import verdict

LONGEST = 200_000
"""Maximum number of characters of a patch that is shown; GitHub accepts at most 1 MiB per step."""
LISTED = 100
"""Maximum number of findings that are listed."""


def checks(gates: Sequence[Check]) -> str:
    """Return the findings of the gates."""
    left = found(gates)
    title = counted(len(left), "finding") if left else "All checks pass"
    return _text([f"### {title}", *(f"- {span(summary(check))}" for check in gates), *_findings(left)])


def outcome(report: RunReport) -> str:
    """Return the verdict, the evidence, the patch, the attempts and the remaining findings."""
    end = report.end
    proof = end.proof.evidence if end.proof else end.evidence
    lines = [f"### {span(verdict(end))}"]
    if end.best.number or end.proof:
        lines += ["", span(evidence(proof)), *(f"- no test notices {span(str(one))}" for one in proof.survived)]
    lines += [f"- {span(line)}" for line in report.wrote]
    diff = report.diff.decode("utf-8", "replace")
    if 0 < len(diff) <= LONGEST:
        lines += ["", f"{fence(diff)}diff", diff.rstrip("\n"), fence(diff)]
    if len(end.attempts) > 1:
        lines += ["", "| | attempt | seconds | verdict |", "|--:|---|--:|---|"]
        lines += [_attempt(one, text) for one, text in steps(end.attempts, report.before) if one.number]
    return _text([*lines, *_findings(blocking(end.remaining))])


def _attempt(attempt: Attempt, summary: str) -> str:
    cells = (
        str(attempt.number),
        span(f"{attempt.patch.origin}: {summary}"),
        f"{attempt.cost.seconds:.1f}",
        span(f"{'better' if attempt.verdict else 'refused'} {attempt.verdict.reason}"),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _findings(left: Sequence[Finding]) -> Iterator[str]:
    if left:
        yield "\n#### Findings left\n"
        yield from (f"- {span(f'{one.where} {rule(one)}')} {span(words(one))}" for one in left[:LISTED])
        if len(left) > LISTED:
            yield f"- and {len(left) - LISTED} more"


def _text(lines: Iterable[str]) -> str:
    return printable("\n".join(lines) + "\n", "\n\r\t")
