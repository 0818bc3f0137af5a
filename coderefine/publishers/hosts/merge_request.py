"""Post a bundle on a GitLab merge request: one discussion per suggestion and one summary note."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Bundle, Suggestion
from coderefine.publishers.hosts.comment_plan import CommentPlan, MovedError, Posted, inline, plan
from coderefine.publishers.hosts.comments import MARK, SUMMARY, remark, settled, summary
from coderefine.publishers.hosts.regions import Region, fits, regions, unchanged

REACH = 100
"""Number of lines above its own that a suggestion may replace."""
ROUNDS = 4
"""Number of tries when GitLab is down; each first reads what was posted already. python-gitlab handles 429 itself."""


def connect(token: str, url: str, project: str) -> Any:
    """Return the project as python-gitlab has it, without sending a request.

    Raises PublishError without python-gitlab.
    """
    try:
        import gitlab
    except ImportError:
        raise PublishError("python-gitlab is not installed: pip install 'coderefine[gitlab]'") from None
    client = gitlab.Gitlab(url, private_token=token, timeout=30, retry_transient_errors=False, per_page=100)
    return client.projects.get(project, lazy=True)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file: its old name, the lines that can carry a comment, and the unchanged lines (new -> old)."""

    old_path: str = ""
    regions: tuple[Region, ...] = ()
    unchanged: Mapping[int, int] = field(default_factory=dict)


NOWHERE = ChangedFile()


@dataclass(slots=True)
class GitLab:
    """Post on a merge request: `project` is python-gitlab's, `number` the merge request's iid."""

    project: Any
    number: int
    distrust: bool = False
    style: bool = False
    sleep: Callable[[float], None] = time.sleep
    said: list[str] = field(default_factory=list)
    name: str = "gitlab"

    def publish(self, bundle: Bundle) -> str:
        """Post, and return one line that says what was posted.

        Raises PublishError when GitLab refused.
        """
        import gitlab
        import requests

        for tried in range(1, ROUNDS + 1):
            self.said = []
            try:
                self._once(bundle)
                return f"!{self.number}: {'; '.join(self.said) or 'nothing to change'}"
            except MovedError as moved:
                return f"!{self.number}: {moved}"
            except (gitlab.GitlabError, requests.RequestException) as error:
                if tried == ROUNDS or (getattr(error, "response_code", None) or 500) < 500:
                    raise PublishError(f"GitLab refused: {error}; what is missing comes with the next run") from error
                self.sleep(2.0**tried)
        raise AssertionError("the last round returns or raises")

    def _once(self, bundle: Bundle) -> None:
        request = self._still(bundle)
        me = self.project.manager.gitlab.http_get("/user")["username"]
        note = _summary(request, me)
        if note is not None and settled(note.body, bundle, distrust=self.distrust):
            return
        talks = {talk.id: talk for talk in request.discussions.list(iterator=True)}
        places = _places(request) if bundle.speaks(style=self.style) and bundle.suggestions else {}
        wanted = [one for one in bundle.suggestions if _can_stand(one, places.get(one.path, NOWHERE))]
        todo = plan(wanted, _posted(talks, me, bundle.head))
        if todo:
            self._still(bundle)
        self._tidy(todo, talks)
        refused = self._suggest(request, todo, places)
        self._sticky(request, note, self._words(bundle, inline(wanted) - refused))

    def _still(self, bundle: Bundle) -> Any:
        """Return the merge request.

        Raises MovedError when its head is no longer the commit that was proved.
        """
        request = self.project.mergerequests.get(self.number)
        head = request.diff_refs["head_sha"]
        if request.state != "opened":
            raise MovedError("closed, nothing posted")
        if head != bundle.head:
            raise MovedError(f"the head moved to {head[:10]}, nothing posted")
        return request

    def _words(self, bundle: Bundle, inline: int) -> str:
        """Return the summary note; "" where there is nothing to post."""
        if not bundle.speaks(style=self.style):
            return ""
        return summary(bundle, number=self.number, inline=inline, distrust=self.distrust, host="gitlab")

    def _tidy(self, todo: CommentPlan, talks: Mapping[str, Any]) -> None:
        for stale in todo.remove:
            self._try(partial(talks[stale.thread].notes.delete, stale.id), "removal", "1 removed")
        for answered in todo.resolve:
            talk = talks[answered.thread]
            talk.resolved = True
            self._try(talk.save, "resolving", "1 answered one resolved")

    def _suggest(self, request: Any, todo: CommentPlan, places: Mapping[str, ChangedFile]) -> int:
        """Post the new suggestions; return how many GitLab refused."""
        refused = 0
        for fresh in todo.post:
            body = _discussion(fresh, places[fresh.path], request.diff_refs, distrust=self.distrust)
            refused += not self._try(partial(request.discussions.create, body), "inline suggestion", "")
        if len(todo.post) > refused:
            self.said.append(f"{len(todo.post) - refused} suggested")
        return refused

    def _sticky(self, request: Any, note: Any, words: str) -> None:
        if note is None:
            if words:
                self._try(lambda: request.notes.create({"body": words}), "summary", "summary posted")
        elif not words:
            self._try(note.delete, "summary", "summary removed")
        elif note.body != words:
            note.body = words
            self._try(note.save, "summary", "summary updated")

    def _try(self, act: Callable[[], object], what: str, done: str) -> bool:
        """Try a step; where GitLab refuses, skip it and say so.

        What is deleted already is ignored.
        """
        import gitlab

        try:
            act()
        except gitlab.GitlabError as error:
            if (error.response_code or 500) >= 500 or error.response_code == 401:
                raise
            if what != "removal" or error.response_code != 404:
                self.said.append(f"no {what} ({error})")
            return False
        if done:
            self.said.append(done)
        return True


def _summary(request: Any, me: str) -> Any:
    """Return our own summary note, or None."""
    ours = (note for note in request.notes.list(iterator=True) if SUMMARY in note.body)
    return next((note for note in ours if note.author["username"] == me), None)


def _posted(talks: Mapping[str, Any], me: str, head: str) -> Iterator[Posted]:
    """Return our own comments.

    GitLab keeps a comment's position: on an older head whose lines changed it is outdated.
    """
    for talk in talks.values():
        notes = talk.attributes["notes"]
        found = MARK.search(notes[0]["body"]) if notes else None
        if found and notes[0]["author"]["username"] == me:
            resolved = bool(notes[0].get("resolved"))
            there = (notes[0].get("position") or {}).get("head_sha", head)
            yield Posted(
                str(notes[0]["id"]), found[1], talk.id, len(notes) > 1, resolved=resolved, outdated=there != head
            )


def _places(request: Any) -> dict[str, ChangedFile]:
    """Return, by new path, the lines of each changed file that can carry a comment; none of too large a diff."""
    path = f"{request.manager.path}/{request.encoded_id}/diffs"
    found = request.manager.gitlab.http_list(path, iterator=True)
    texts = ((one, one.get("diff") or "") for one in found)
    return {one["new_path"]: ChangedFile(one["old_path"], regions(text), unchanged(text)) for one, text in texts}


def _can_stand(one: Suggestion, place: ChangedFile) -> bool:
    return one.last - one.first <= REACH and fits(one, place.regions)


def _discussion(one: Suggestion, place: ChangedFile, refs: Mapping[str, str], *, distrust: bool) -> dict[str, object]:
    """Return the position of a comment.

    An unchanged line is named by both its numbers, an added one by the new one alone.
    """
    left = place.unchanged.get(one.last)
    return {
        "body": remark(one, offset=f":-{one.last - one.first}+0", distrust=distrust),
        "position": {
            "position_type": "text",
            **{key: refs[key] for key in ("base_sha", "start_sha", "head_sha")},
            "old_path": place.old_path,
            "new_path": one.path,
            "new_line": one.last,
            **({"old_line": left} if left else {}),
        },
    }
