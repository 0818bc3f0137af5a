"""The check run of a head: a conclusion that never blocks, and remaining findings as annotations in the file view."""

from __future__ import annotations

from collections.abc import Iterable

from coderefine.core.plurals import counted
from coderefine.publishers.hosts.bundle import Bundle, Note
from coderefine.publishers.hosts.comments import span
from coderefine.publishers.hosts.github_api import Api

ANNOTATIONS = 50
"""Annotations that GitHub takes in one request; more are appended."""


def check_run(api: Api, repo: str, bundle: Bundle, *, distrust: bool = False) -> bool:
    """Write the check run unless an equal one exists; return whether it was written.

    `distrust`: the bundle was made by a run that others control.
    """
    mine = f"/repos/{repo}/commits/{bundle.head}/check-runs?check_name=coderefine"
    if any(one.get("external_id") == bundle.digest for one in api.pages(mine, "check_runs")):
        return False
    notes = bundle.notes
    body = {
        "name": "coderefine",
        "head_sha": bundle.head,
        "status": "completed",
        "conclusion": "neutral" if notes or bundle.patch or distrust else "success",
        "external_id": bundle.digest,
        "output": _output(bundle, notes[:ANNOTATIONS], distrust=distrust),
    }
    made = api.ask("POST", f"/repos/{repo}/check-runs", body)
    for start in range(ANNOTATIONS, len(notes), ANNOTATIONS):
        more = {"output": _output(bundle, notes[start : start + ANNOTATIONS], distrust=distrust)}
        api.ask("PATCH", f"/repos/{repo}/check-runs/{made['id']}", more)
    return True


def _output(bundle: Bundle, notes: Iterable[Note], *, distrust: bool) -> dict[str, object]:
    said = f"patch: {span(bundle.summary)}; {span(bundle.evidence)}" if bundle.patch else "no patch"
    left = f"{counted(len(bundle.notes), 'finding')} left"
    return {
        "title": left + (", a patch is proved" if bundle.patch else ""),
        "summary": said + "; as the pull request's own run reports, which its author controls" * distrust,
        "annotations": [_annotation(note) for note in notes],
    }


def _annotation(note: Note) -> dict[str, object]:
    return {
        "path": note.path,
        "start_line": note.first,
        "end_line": note.last,
        "annotation_level": "failure" if note.rule.startswith("pytest/") else "warning",
        "title": note.rule[:255],
        "message": note.text or note.rule or "finding",
    }
