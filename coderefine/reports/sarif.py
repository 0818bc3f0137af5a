"""SARIF 2.1.0 (OASIS), for GitHub code scanning and editors; a proved repair is in `fixes`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from urllib.parse import quote

from coderefine import __version__
from coderefine.core import Check, Finding
from coderefine.judge import Hunk, hunks
from coderefine.reports.formats import (
    RunReport,
    blocking,
    cleared,
    fingerprints,
    found,
    judged,
    last,
    line,
    rule,
    severe,
    words,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
Json = dict[str, object]


def checks(gates: Sequence[Check]) -> str:
    """Return the hard findings as one run; if a gate did not finish, the run counts as unsuccessful."""
    return _dumped([_result(finding, mark, []) for finding, mark in fingerprints(found(gates))], gates)


def outcome(report: RunReport) -> str:
    """Return the remaining findings, and the findings that the patch repairs.

    Each repaired finding has the whole patch as its fix, because only the whole patch is proved.
    """
    fix = _fix(report)
    gone = {id(finding) for finding in cleared(report.end)}
    both = (*cleared(report.end), *blocking(report.end.remaining))
    results = [_result(item, mark, fix if id(item) in gone else []) for item, mark in fingerprints(both)]
    return _dumped(results, judged(report.end))


def _dumped(results: list[Json], gates: Sequence[Check]) -> str:
    rules = sorted({str(result["ruleId"]) for result in results})
    for result in results:
        result["ruleIndex"] = rules.index(str(result["ruleId"]))
    driver = {
        "name": "coderefine",
        "semanticVersion": __version__,
        "informationUri": "https://pypi.org/project/coderefine/",
        "rules": [_rule(name) for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The top of the git repository."}}},
        "invocations": [{"executionSuccessful": bool(gates) and all(check.complete for check in gates)}],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(name: str) -> Json:
    critic, _, code = name.partition("/")
    text = {"text": f"{critic} reports {code}."}
    pascal = "".join(part[:1].upper() + part[1:] for part in re.split("[-/_]", name))
    return {"id": name, "name": pascal, "shortDescription": text, "fullDescription": text, "help": text}


def _result(finding: Finding, mark: str, fix: list[Json]) -> Json:
    region = {"startLine": line(finding), "endLine": last(finding)} if finding.span else {"startLine": 1}
    place: Json = {"physicalLocation": {"artifactLocation": _artifact(finding.path), "region": region}}
    if finding.symbol:
        place["logicalLocations"] = [{"fullyQualifiedName": finding.symbol}]
    result: Json = {
        "ruleId": rule(finding),
        "level": "error" if severe(finding) else "warning",
        "message": {"text": words(finding)},
        "locations": [place],
        "partialFingerprints": {"coderefine/v1": mark},
    }
    return {**result, "fixes": fix} if fix else result


def _artifact(path: str) -> Json:
    return {"uri": quote(path, errors="surrogateescape"), "uriBaseId": "SRCROOT"}


def _fix(report: RunReport) -> list[Json]:
    """Return the whole patch as one fix; no fix if part of it is not lines of text (a new file, a binary file)."""
    changes = []
    for path, after in sorted(report.end.best.patch.files.items()):
        before = report.before.get(path)
        if before == after:
            continue
        pieces = hunks(path, before, after)
        if not pieces or not all(hunk.textual for hunk in pieces):
            return []
        changes.append({"artifactLocation": _artifact(path), "replacements": [_replacement(hunk) for hunk in pieces]})
    text = f"{report.end.evidence.claim}: {report.end.best.patch.summary or 'the patch'}"
    return [{"description": {"text": text}, "artifactChanges": changes}] if changes else []


def _replacement(hunk: Hunk) -> Json:
    """Return an edit of whole lines, as a `replacement` object of SARIF.

    The range ends in column 1 of the line after its last line; if the last line has no line end, after its last
    character.
    """
    end = {"endLine": hunk.last + 1, "endColumn": 1}
    if hunk.old and not hunk.old[-1].endswith(b"\n"):
        end = {"endLine": hunk.last, "endColumn": len(hunk.old[-1].decode("utf-8")) + 1}
    region = {"startLine": hunk.first, "startColumn": 1, **end}
    return {"deletedRegion": region, "insertedContent": {"text": b"".join(hunk.new).decode("utf-8")}}
