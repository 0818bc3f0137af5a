"""Report formats by name: each is a module with functions `checks` and `outcome` that return the whole text.

Bytes of a patch that cannot be decoded become surrogates in the text: encode the text with `surrogateescape`.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from coderefine.core import PROVE, Attempt, Check, Finding, Outcome, Severity, unmatched

MODULES = ("json", "sarif", "rdjson", "gitlab", "junit", "github", "patch", "html", "markdown")
NAMES = ("text", *MODULES)
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow: control characters and lone surrogates."""


class Format(Protocol):
    """Interface of a format's module."""

    def checks(self, gates: Sequence[Check]) -> str: ...

    def outcome(self, report: RunReport) -> str: ...


def named(name: str) -> Format:
    """Return the format `name`, one of MODULES."""
    return cast(Format, importlib.import_module(f"coderefine.reports.{name}"))


@dataclass(frozen=True, slots=True)
class RunReport:
    """The end of a run, for a report.

    `diff`: the unified diff of the patch; `before`: the patched files' content at the start.
    """

    end: Outcome
    wrote: tuple[str, ...] = ()
    run: str = ""
    diff: bytes = b""
    before: Mapping[str, bytes | None] = field(default_factory=dict)


def blocking(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the hard findings; findings outside the scope are soft, and therefore not reported."""
    return tuple(finding for finding in findings if finding.severity is Severity.HARD)


def found(gates: Iterable[Check]) -> tuple[Finding, ...]:
    """Return all hard findings of `gates`."""
    return blocking(finding for check in gates for finding in check.findings)


def judged(end: Outcome) -> Sequence[Check]:
    """Return the checks of the tree with the patch, or of the baseline if there is no patch.

    If a given patch is not proved, add a check with the finding that says so.
    """
    if end.proof is None or end.proof.verdict:
        return end.best.checks or end.baseline.checks
    verdict = Check(PROVE, tuple(finding for finding in end.remaining if finding.critic == PROVE))
    return (*(end.attempts[-1].checks or end.baseline.checks), verdict)


def severe(finding: Finding) -> bool:
    """Return whether a finding is about the program's behaviour, and not about its style."""
    return finding.critic in ("pytest", PROVE)


def cleared(end: Outcome) -> tuple[Finding, ...]:
    """Return the hard findings of the baseline that the best attempt no longer has."""
    return gone(end.baseline, end.best) if end.best.number else ()


def gone(before: Attempt, after: Attempt) -> tuple[Finding, ...]:
    """Return hard findings of `before` that `after` no longer has."""
    return tuple(unmatched(blocking(before.findings), after.findings))


def rule(finding: Finding) -> str:
    """Return critic and rule: `ruff/F401`."""
    return f"{finding.critic}/{finding.rule}"


def words(finding: Finding) -> str:
    """Return the first line of a finding's message, preceded by the test's name if it is about a test."""
    first = (finding.message.strip().splitlines() or [finding.rule])[0] or finding.rule
    return f"{finding.symbol.split('::', 1)[1]}: {first}" if "::" in finding.symbol else first


def line(finding: Finding) -> int:
    """Return the first line of a finding; 1 if it is about the whole file."""
    return finding.span.first if finding.span else 1


def last(finding: Finding) -> int:
    return max(finding.span.last, finding.span.first) if finding.span else 1


def legal(text: str) -> str:
    """Return `text` with a replacement for each character that XML does not allow."""
    return ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)


def fingerprints(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Yield each finding with the sha256 of its identity (no line, no message); equal identities are numbered."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        seen[finding.identity] += 1
        text = "\0".join((*finding.identity, str(seen[finding.identity])))
        yield finding, hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
