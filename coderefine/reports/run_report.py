"""Input of the report formats, and functions that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from coderefine.core import Attempt, Check, Finding, Outcome, Severity


@dataclass(frozen=True, slots=True)
class RunReport:
    """The end of a run.

    `diff` is the unified diff of the patch, `before` the patched files' content at the start.
    """

    end: Outcome
    wrote: tuple[str, ...] = ()
    run: str = ""
    diff: bytes = b""
    before: Mapping[str, bytes | None] = field(default_factory=dict)


def blocking(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the hard findings; those outside the scope are soft and not reported."""
    return tuple(finding for finding in findings if finding.severity is Severity.HARD)


def found(said: Iterable[Check]) -> tuple[Finding, ...]:
    """Return all hard findings of `said`."""
    return blocking(finding for check in said for finding in check.findings)


def cleared(end: Outcome) -> tuple[Finding, ...]:
    """Return hard findings of the start that the best attempt no longer has."""
    return gone(end.baseline, end.best) if end.best.number else ()


def gone(before: Attempt, after: Attempt) -> tuple[Finding, ...]:
    """Return hard findings of `before` that `after` no longer has.

    Findings with the same identity are counted.
    """
    left = Counter(finding.identity for finding in after.findings)
    found = []
    for finding in blocking(before.findings):
        if left[finding.identity]:
            left[finding.identity] -= 1
        else:
            found.append(finding)
    return tuple(found)


def rule(finding: Finding) -> str:
    """Return critic and rule: `ruff/F401`."""
    return f"{finding.critic}/{finding.rule}"


def words(finding: Finding) -> str:
    """Return the message on one line, for a test with its name first."""
    first = (finding.message.strip().splitlines() or [finding.rule])[0] or finding.rule
    return f"{finding.symbol.split('::', 1)[1]}: {first}" if "::" in finding.symbol else first


def line(finding: Finding) -> int:
    """Return the first line; 1 for a finding on the whole file."""
    return finding.span.first if finding.span else 1


def last(finding: Finding) -> int:
    return max(finding.span.last, finding.span.first) if finding.span else 1
