"""Post a bundle on a GitLab merge request: one discussion per suggestion and one summary note."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import PROVED, VERDICT, WORSE, Judgement, Suggestion
from coderefine.publishers.hosts.comments import MARK, SUMMARY, remark
from coderefine.publishers.hosts.host import (
    BusyError,
    ForbiddenError,
    Host,
    MissingError,
    MovedError,
    Posted,
    Region,
    fits,
    regions,
    unchanged,
)

REACH = 100
"""Maximum number of lines that a suggestion may replace above the line of its comment."""


def client(token: str, url: str) -> Any:
    """Return a client of python-gitlab; no request is sent. Raises PublishError if python-gitlab is not installed."""
    try:
        import gitlab
    except ImportError:
        raise PublishError("python-gitlab is not installed: pip install 'coderefine[gitlab]'") from None
    return gitlab.Gitlab(url, private_token=token, timeout=30, retry_transient_errors=False, per_page=100)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Convert python-gitlab's errors to those of hosts/host.py; python-gitlab itself handles rate limits (429)."""
    import gitlab
    import requests

    try:
        yield
    except (gitlab.GitlabError, requests.RequestException) as error:
        message, status = f"GitLab refused: {error}", getattr(error, "response_code", None) or 500
        if status >= 500:
            raise BusyError(message) from error
        raise {401: PublishError, 404: MissingError}.get(status, ForbiddenError)(message) from error


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file: its old name, and the lines of its hunks, which can carry a comment.

    `unchanged`: the old number of each unchanged line in the hunks, by its new number.
    """

    old_path: str = ""
    regions: tuple[Region, ...] = ()
    unchanged: Mapping[int, int] = field(default_factory=dict)


NOWHERE = ChangedFile()


@dataclass(slots=True)
class GitLab(Host):
    """Posts on a merge request. `project`: python-gitlab's object of the project; `number`: the request's iid.

    `request`, `note` (our summary), `me` (name of the token's user), `threads` (by id) and `places` (the changed files,
    by path) are read from GitLab during the posting.
    """

    project: Any
    number: int
    request: Any = None
    note: Any = None
    me: str = ""
    threads: dict[str, Any] = field(default_factory=dict)
    places: dict[str, ChangedFile] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"!{self.number}"

    @property
    def checkout(self) -> str:
        return f"glab mr checkout {self.number}"

    def translated(self) -> contextlib.AbstractContextManager[None]:
        return translated()

    def check_head(self) -> None:
        self.request = self.project.mergerequests.get(self.number)
        head = self.request.diff_refs["head_sha"]
        if self.request.state != "opened":
            raise MovedError("closed, nothing posted")
        if head != self.head:
            raise MovedError(f"the head moved to {head[:10]}, nothing posted")

    def judge(self, judgement: Judgement) -> None:
        """Write the commit status `coderefine verdict` unless an equal one exists.

        It is `failed` for WORSE, `success` for PROVED if the artifact is trusted, else `skipped`.
        """
        states = {WORSE: "failed", PROVED: "skipped" if self.distrust else "success"}
        state, text = states.get(judgement.found, "skipped"), judgement.decision[:255]
        statuses = self.project.commits.get(self.head).statuses
        known = statuses.list(iterator=True, name=VERDICT)
        if not any((one.status, one.description) == (state, text) for one in known):
            statuses.create({"state": state, "name": VERDICT, "description": text})
            self.done.append(f"verdict: {judgement.found}")

    def find_summary(self) -> str:
        self.me = self.project.manager.gitlab.http_get("/user")["username"]
        ours = (note for note in self.request.notes.list(iterator=True) if SUMMARY in note.body)
        self.note = next((note for note in ours if note.author["username"] == self.me), None)
        return self.note.body if self.note else ""

    def write_summary(self, text: str) -> None:
        if not self.note:
            self.request.notes.create({"body": text})
        elif text:
            self.note.body = text
            self.note.save()
        else:
            self.note.delete()

    def posted(self) -> Iterator[Posted]:
        """Yield our own comments. GitLab leaves a comment at an older head if the lines changed; `line` is then 0."""
        self.threads = {thread.id: thread for thread in self.request.discussions.list(iterator=True)}
        for thread in self.threads.values():
            notes = thread.attributes["notes"]
            found = MARK.search(notes[0]["body"]) if notes else None
            if found and notes[0]["author"]["username"] == self.me:
                place = notes[0].get("position") or {}
                yield Posted(
                    str(notes[0]["id"]),
                    found[1],
                    place.get("new_line") or 0 if place.get("head_sha") == self.head else 0,
                    thread.id,
                    replied=len(notes) > 1,
                    resolved=bool(notes[0].get("resolved")),
                )

    def fitting(self, offered: Sequence[Suggestion]) -> Sequence[Suggestion]:
        path = f"{self.request.manager.path}/{self.request.encoded_id}/diffs"
        for one in self.request.manager.gitlab.http_list(path, iterator=True):
            text = one.get("diff") or ""  # GitLab sends no text for a diff that is too large
            self.places[one["new_path"]] = ChangedFile(one["old_path"], regions(text), unchanged(text))
        near = (one for one in offered if one.last - one.first <= REACH)
        return [one for one in near if fits(one, self.places.get(one.path, NOWHERE).regions)]

    def remove(self, stale: Posted) -> None:
        self.threads[stale.thread].notes.delete(stale.id)

    def resolve(self, answered: Sequence[Posted]) -> None:
        for one in answered:
            self.threads[one.thread].resolved = True
            self.threads[one.thread].save()
        self.done.append(f"{len(answered)} answered ones resolved")

    def suggest(self, fresh: Sequence[Suggestion]) -> int:
        create = self.request.discussions.create
        posted = sum(self.attempt(partial(create, self._discussion(one)), "inline suggestion") for one in fresh)
        if posted:
            self.done.append(f"{posted} suggested")
        return len(fresh) - posted

    def _discussion(self, one: Suggestion) -> dict[str, object]:
        """Return a comment with its position.

        An unchanged line has an old and a new line number, an added line only a new one.
        """
        place = self.places[one.path]
        left = place.unchanged.get(one.last)
        return {
            "body": remark(one, offset=f":-{one.last - one.first}+0", distrust=self.distrust),
            "position": {
                "position_type": "text",
                **{key: self.request.diff_refs[key] for key in ("base_sha", "start_sha", "head_sha")},
                "old_path": place.old_path,
                "new_path": one.path,
                "new_line": one.last,
                **({"old_line": left} if left else {}),
            },
        }
