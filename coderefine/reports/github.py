"""GitHub Actions workflow commands: each line becomes an annotation in the file view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coderefine.core import Check, Finding
from coderefine.core.plurals import printable
from coderefine.reports.formats import RunReport, blocking, found, last, line, rule, severe, words
from coderefine.reports.rows import evidence


def checks(gates: Sequence[Check]) -> str:
    """Return one line per hard finding."""
    return "".join(_commands(found(gates)))


def outcome(report: RunReport) -> str:
    """Return the remaining findings, and a notice with the patch's summary and evidence."""
    text = "".join(_commands(blocking(report.end.remaining)))
    if report.end.best.number:
        message = f"{report.end.best.patch.summary}: {evidence(report.end.evidence)}"
        title = f"coderefine: a patch is {report.end.evidence.claim}"
        text += f"::notice title={_property(title)}::{_data(message)}\n"
    return text


def _commands(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        level = "error" if severe(finding) else "warning"
        pairs = {
            "file": finding.path,
            "line": str(line(finding)),
            "endLine": str(last(finding)),
            "title": rule(finding),
        }
        properties = ",".join(f"{key}={_property(value)}" for key, value in pairs.items())
        yield f"::{level} {properties}::{_data(words(finding))}\n"


def _data(text: str) -> str:
    """Escape a message for GitHub's workflow commands, as @actions/core does.

    Control characters that a terminal would obey are escaped, too.
    """
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
