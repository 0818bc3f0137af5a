"""JSON report: one object, `version` 1, described by schema.json beside this file.

Paths are repo-relative with POSIX separators. Within a version keys are only added.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coderefine import __version__
from coderefine.core import Attempt, Check, Cost, Evidence, Executed, Finding, Offer, Patch, Proof, passed
from coderefine.reports.formats import RunReport

VERSION = 1


def checks(gates: Sequence[Check], root: Path | None = None) -> str:
    """Report the gates' results: `kind` "check". `root`: the folder to which paths are relative, if known."""
    where = {"root": str(root)} if root else {}
    return _dumped("check", **where, clean=passed(gates), checks=[_check(check) for check in gates])


def outcome(report: RunReport) -> str:
    """Report the end of a run: `kind` "outcome"."""
    end = report.end
    return _dumped(
        "outcome",
        clean=end.clean,
        stop=end.stop.value,
        why=end.why,
        run=report.run or None,
        baseline=_attempt(end.baseline),
        best=_attempt(end.best),
        patch=_patch(end.best.patch),
        diff=report.diff.decode("utf-8", "replace") or None,
        evidence=_evidence(end.evidence),
        offers=[_offer(offer) for offer in end.offers],
        remaining=[_fields(finding) for finding in end.remaining],
        attempts=[_attempt(attempt) for attempt in end.attempts],
        cost=_cost(end.cost),
        suite_runs=None if end.suite_runs is None else round(end.suite_runs, 2),
        first_candidate=None if end.first_candidate is None else round(end.first_candidate, 2),
        wrote=list(report.wrote),
        proof=_proof(end.proof) if end.proof else None,
    )


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of every report."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("schema.json").read_text("utf-8"))
    return loaded


def _dumped(kind: str, **parts: object) -> str:
    report = {"version": VERSION, "tool": f"coderefine {__version__}", "kind": kind, **parts}
    # Escaped to ASCII, so that surrogates in file names are kept, and every terminal can show the text.
    return json.dumps(report, indent=2) + "\n"


def _check(check: Check) -> dict[str, object]:
    return {
        "critic": check.critic,
        "tool": check.tool,
        "gate": check.gate,
        "clean": check.clean,
        "complete": check.complete,
        "seconds": round(check.seconds, 3),
        "findings": [_fields(finding) for finding in check.findings],
        "tests": [
            {"id": case.id, "status": case.status.value, "seconds": round(case.seconds, 4)}
            for case in check.cases.values()
        ],
        "notes": list(check.notes),
        **({} if check.gate else {"scores": dict(check.scores), "total": check.total}),
    }


def _fields(item: Finding | Executed) -> dict[str, object]:
    """Return the fields of `item`, with `first` and `last` in place of `span`."""
    fields = asdict(item)
    span = fields.pop("span") or {"first": None, "last": None}
    return fields | span


def _attempt(attempt: Attempt) -> dict[str, object]:
    """Summarise an attempt; its findings are in `remaining` and in the journal."""
    carried = attempt.carried
    return {
        "number": attempt.number,
        "origin": attempt.patch.origin,
        "summary": attempt.patch.summary,
        "paths": sorted(attempt.patch.files),
        "ok": attempt.verdict.ok,
        "reason": attempt.verdict.reason,
        "findings": {check.critic: len(check.findings) for check in attempt.checks},
        "tests": dict(Counter(case.status.value for id, case in attempt.cases.items() if id not in carried)),
        "cost": _cost(attempt.cost),
    }


def _patch(patch: Patch) -> list[dict[str, object]]:
    return [{"path": path, **_content(data)} for path, data in sorted(patch.files.items())]


def _content(data: bytes | None) -> dict[str, object]:
    """Return the content as `text` if it is UTF-8, else as `base64`; for a deleted file, return `deleted` instead."""
    if data is None:
        return {"deleted": True}
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _evidence(proof: Evidence) -> dict[str, object]:
    return {
        "flipped": list(proof.flipped),
        "kept": proof.kept,
        "lost": list(proof.lost),
        "flaky": list(proof.flaky),
        "covered": _fraction(proof.covered),
        "strength": _fraction(proof.strength),
        "isolation": proof.isolation,
        "alternatives": [{"summary": patch.summary, "patch": _patch(patch)} for patch in proof.alternatives],
        "notes": list(proof.notes),
        "changed": _fraction(proof.changed),
        "doubts": list(proof.doubts),
        "ran": _fraction(proof.ran),
        "executed": [_fields(one) for one in proof.executed],
        "survived": [asdict(one) for one in proof.survived],
    }


def _proof(proof: Proof) -> dict[str, object]:
    return {
        "proved": proof.verdict.ok,
        "reason": proof.verdict.reason,
        "worse": proof.worse,
        "patch": _patch(proof.patch),
        "evidence": _evidence(proof.evidence),
        "weakened": list(proof.weakened),
        "rests": list(proof.rests),
        "added": list(proof.added),
        "findings": [_fields(finding) for finding in proof.findings],
        "unjudged": list(proof.unjudged),
        "needed": None if proof.needed is None else _patch(proof.needed),
        "spare": list(proof.spare),
    }


def _offer(offer: Offer) -> dict[str, object]:
    return {
        "why": offer.why,
        "tests": sorted(offer.tests),
        "alternatives": [
            {
                "summary": one.patch.summary,
                "patch": _patch(one.patch),
                "changed": _fraction(one.changed),
                "alike": one.alike,
            }
            for one in offer.alternatives
        ],
        "questions": [asdict(one) for one in offer.questions],
    }


def _fraction(pair: tuple[int, int] | None) -> dict[str, int] | None:
    return None if pair is None else {"done": pair[0], "total": pair[1]}


def _cost(cost: Cost) -> dict[str, object]:
    return {**asdict(cost), "seconds": round(cost.seconds, 3)}
