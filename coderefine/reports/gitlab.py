"""GitLab code quality report: a list of issues with unique fingerprints that do not depend on line numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from coderefine.core import Check, Finding
from coderefine.reports.formats import RunReport, blocking, fingerprints, found, last, line, rule, severe, words


def checks(gates: Sequence[Check]) -> str:
    """Report the hard findings."""
    return _dumped(found(gates))


def outcome(report: RunReport) -> str:
    """Return the findings that remain after the patch."""
    return _dumped(blocking(report.end.remaining))


def _dumped(findings: Iterable[Finding]) -> str:
    issues = [
        {
            "type": "issue",
            "check_name": rule(finding),
            "description": words(finding),
            "categories": ["Bug Risk" if severe(finding) else "Style"],
            "severity": "critical" if severe(finding) else "minor",
            "fingerprint": mark,
            "location": {"path": finding.path, "lines": {"begin": line(finding), "end": last(finding)}},
        }
        for finding, mark in fingerprints(findings)
    ]
    return json.dumps(issues, indent=2) + "\n"
