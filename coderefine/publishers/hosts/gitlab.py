"""A bundle on a GitLab merge request: a discussion per suggestion and one sticky note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Bundle, Suggestion
from coderefine.publishers.hosts.plan import Posted, plan
from coderefine.publishers.hosts.regions import fits, regions
from coderefine.publishers.hosts.words import MARK, SUMMARY, remark, summary

REACH = 100
"""Lines above its own that a suggestion may replace."""


def connect(token: str, url: str, project: str) -> Any:
    """The project of python-gitlab. Raises PublishError without it, or when the server refuses the token."""
    try:
        import gitlab
    except ImportError:
        raise PublishError("python-gitlab is not installed: pip install 'coderefine[gitlab]'") from None
    client = gitlab.Gitlab(url, private_token=token, timeout=30, retry_transient_errors=False)
    return client.projects.get(project, lazy=True)


@dataclass(slots=True)
class GitLab:
    """`project` is a python-gitlab project, `number` the merge request's iid."""

    project: Any
    number: int
    distrust: bool = False
    style: bool = False
    name: str = "gitlab"

    def publish(self, bundle: Bundle) -> str:
        """One line that says what was posted. Raises PublishError when GitLab refused."""
        import gitlab
        import requests

        try:
            return f"!{self.number}: {self._once(bundle)}"
        except (gitlab.GitlabError, requests.RequestException) as error:
            raise PublishError(f"GitLab refused: {error}; what is missing comes with the next run") from error

    def _once(self, bundle: Bundle) -> str:
        request = self.project.mergerequests.get(self.number)
        if request.state != "opened":
            return "closed, nothing posted"
        if request.diff_refs["head_sha"] != bundle.head:
            return f"the head moved to {request.diff_refs['head_sha'][:10]}, nothing posted"
        me = self.project.manager.gitlab.http_get("/user")["username"]
        speak = bool(bundle.patch) and (bundle.behaviour or self.style)
        talks = {talk.id: talk for talk in request.discussions.list(iterator=True)}
        places = _places(request) if speak and bundle.suggestions else {}
        wanted = [one for one in bundle.suggestions if speak and fits(one, places.get(one.path, ("", ()))[1])]
        todo = plan(wanted, _posted(talks, me))
        for stale in todo.remove:
            talks[stale.thread].notes.delete(stale.id)
        for answered in todo.resolve:
            talks[answered.thread].resolved = True
            talks[answered.thread].save()
        for fresh in todo.post:
            old_path = places[fresh.path][0]
            request.discussions.create(_discussion(fresh, old_path, request.diff_refs))
        words = summary(bundle, number=self.number, distrust=self.distrust) if speak else ""
        sticky = self._sticky(request, me, words)
        parts = [f"{len(todo.post)} suggested" * bool(todo.post), f"{len(todo.remove)} removed" * bool(todo.remove)]
        return "; ".join(part for part in (*parts, sticky) if part) or "nothing to change"

    def _sticky(self, request: Any, me: str, words: str) -> str:
        ours = (note for note in request.notes.list(iterator=True) if SUMMARY in note.body)
        note = next((note for note in ours if note.author["username"] == me), None)
        if note is None:
            if words:
                request.notes.create({"body": words})
            return "summary posted" * bool(words)
        if note.body == words:
            return ""
        if not words:
            note.delete()
            return "summary removed"
        note.body = words
        note.save()
        return "summary updated"


def _posted(talks: dict[str, Any], me: str) -> Iterator[Posted]:
    for talk in talks.values():
        notes = talk.attributes["notes"]
        found = MARK.search(notes[0]["body"]) if notes else None
        if found and notes[0]["author"]["username"] == me:
            resolved = bool(notes[0].get("resolved"))
            yield Posted(str(notes[0]["id"]), found[1], talk.id, replied=len(notes) > 1, resolved=resolved)


def _places(request: Any) -> dict[str, tuple[str, Any]]:
    """New path -> (old path, regions that can carry a remark)."""
    found = request.changes()["changes"]
    return {one["new_path"]: (one["old_path"], regions(one.get("diff") or "")) for one in found}


def _discussion(one: Suggestion, old_path: str, refs: dict[str, str]) -> dict[str, object]:
    above = min(REACH, one.last - one.first)
    return {
        "body": remark(one, offset=f":-{above}+0"),
        "position": {
            "position_type": "text",
            **{key: refs[key] for key in ("base_sha", "start_sha", "head_sha")},
            "old_path": old_path,
            "new_path": one.path,
            "new_line": one.last,
        },
    }
