"""GitHub Actions workflow commands: each line becomes an annotation in the file view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coderefine.core import Check, Finding
from coderefine.reports.rows import evidence
from coderefine.reports.run_report import RunReport, blocking, found, last, line, rule, words


def checks(said: Sequence[Check]) -> str:
    """Return one line per hard finding."""
    return "".join(_commands(found(said)))


def outcome(told: RunReport) -> str:
    """Return what is left, and a notice with the patch's summary and evidence."""
    text = "".join(_commands(blocking(told.end.remaining)))
    if told.end.best.number:
        said = f"{told.end.best.patch.summary}: {evidence(told.end.evidence)}"
        text += f"::notice title={_property('coderefine proved a patch')}::{_data(said)}\n"
    return text


def _commands(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        level = "error" if finding.critic == "pytest" else "warning"
        pairs = {
            "file": finding.path,
            "line": str(line(finding)),
            "endLine": str(last(finding)),
            "title": rule(finding),
        }
        told = ",".join(f"{key}={_property(value)}" for key, value in pairs.items())
        yield f"::{level} {told}::{_data(words(finding))}\n"


def _data(text: str) -> str:
    """Escape a message as @actions/core does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
