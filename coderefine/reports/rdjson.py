"""Reviewdog's diagnostic format (rdjson).

Columns count UTF-8 bytes from 1; the end of a range is exclusive.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from coderefine.core import Check, Finding
from coderefine.judge import Hunk, hunks
from coderefine.reports.formats import RunReport, blocking, found, last, line, rule, severe, words

Json = dict[str, object]


def checks(gates: Sequence[Check]) -> str:
    """Return one diagnostic per hard finding."""
    return _dumped([_diagnostic(finding) for finding in found(gates)])


def outcome(report: RunReport) -> str:
    """Return the remaining findings, then one diagnostic with a suggestion for each hunk of the patch.

    The user should apply all suggestions or none, because only the whole patch is proved.
    """
    left = [_diagnostic(finding) for finding in blocking(report.end.remaining)]
    pieces = [
        _suggestion(report, hunk)
        for path, after in sorted(report.end.best.patch.files.items())
        for hunk in hunks(path, report.before.get(path), after)
        if hunk.textual
    ]
    return _dumped(left + pieces)


def _dumped(diagnostics: list[Json]) -> str:
    source = {"name": "coderefine", "url": "https://pypi.org/project/coderefine/"}
    return json.dumps({"source": source, "diagnostics": diagnostics}, indent=2) + "\n"


def _diagnostic(finding: Finding) -> Json:
    span = {"start": {"line": line(finding)}, "end": {"line": last(finding)}}
    return {
        "message": words(finding),
        "location": {"path": finding.path, **({"range": span} if finding.span else {})},
        "severity": "ERROR" if severe(finding) else "WARNING",
        "code": {"value": rule(finding)},
    }


def _suggestion(report: RunReport, hunk: Hunk) -> Json:
    # The range ends in column 1 of the next line; if the last line has no line end, after its last character.
    last = hunk.old[-1] if hunk.old else b"\n"
    end = _at(hunk.last + 1, 1) if last.endswith(b"\n") else _at(hunk.last, len(last) + 1)
    span = {"start": _at(hunk.first, 1), "end": end}
    return {
        "message": f"{report.end.evidence.claim}: {report.end.best.patch.summary or 'part of the patch'}",
        "location": {"path": hunk.path, "range": span},
        "severity": "INFO",
        "code": {"value": "coderefine/patch"},
        "suggestions": [{"range": span, "text": b"".join(hunk.new).decode("utf-8")}],
    }


def _at(row: int, column: int) -> Json:
    return {"line": row, "column": column}
