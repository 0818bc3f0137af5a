"""Post a bundle on a GitHub pull request: a review, a summary comment, a check run.

Posting again changes only what differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from coderefine.core.markdown_code import span
from coderefine.core.plurals import counted
from coderefine.publishers.hosts.bundle import PROVED, VERDICT, WORSE, Bundle, Judgement, Note, Suggestion
from coderefine.publishers.hosts.comments import MARK, SUMMARY, remark
from coderefine.publishers.hosts.github_api import Api
from coderefine.publishers.hosts.host import (
    ForbiddenError,
    Host,
    InvalidError,
    MissingError,
    MovedError,
    Posted,
    fits,
    regions,
)

ACTIONS = "github-actions[bot]"
THREADS = """query($o:String!,$r:String!,$n:Int!,$after:String){repository(owner:$o,name:$r){pullRequest(number:$n){
reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor}
nodes{id isResolved comments(first:1){nodes{databaseId}}}}}}}"""
VIEWER = "query{viewer{login}}"
RESOLVE = "mutation($id:ID!){resolveReviewThread(input:{threadId:$id}){thread{isResolved}}}"
REPORTED = "as the pull request's own run reports, which its author controls"
ANNOTATIONS = 50
"""Maximum number of annotations that GitHub accepts in one request; further requests append the others."""


@dataclass(slots=True)
class GitHub(Host):
    """Posts on pull request `number` of the repository `repo` (OWNER/NAME).

    `me`: login of the token's user, once it is known. `note`: our summary comment as GitHub sent it, or None.
    """

    api: Api
    repo: str
    number: int
    me: str = ""
    note: Any = None

    @property
    def label(self) -> str:
        return f"{self.repo}#{self.number}"

    @property
    def checkout(self) -> str:
        return f"gh pr checkout {self.number}"

    @property
    def pull(self) -> str:
        return f"/repos/{self.repo}/pulls/{self.number}"

    def check_head(self) -> None:
        pull = self.api.ask("GET", self.pull)
        if pull["state"] != "open":
            raise MovedError("closed, nothing posted")
        if pull["head"]["sha"] != self.head:
            raise MovedError(f"the head moved to {pull['head']['sha'][:10]}, nothing posted")

    def judge(self, judgement: Judgement) -> None:
        """Write the check run `coderefine verdict` unless an equal one exists; it fails only for a WORSE verdict."""
        id_ = hashlib.sha256(repr((judgement, self.distrust)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        if id_ in self._written(VERDICT):
            return
        kinds = {WORSE: "failure", PROVED: "neutral" if self.distrust else "success"}
        rows = "\n".join(f"- {span(row)}" for row in judgement.rows)
        body = {
            "name": VERDICT,
            "head_sha": self.head,
            "status": "completed",
            "conclusion": kinds.get(judgement.found, "neutral"),
            "external_id": id_,
            "output": {"title": judgement.decision[:255], "summary": rows + f"\n- {REPORTED}" * self.distrust},
        }
        self.api.ask("POST", f"/repos/{self.repo}/check-runs", body)
        self.done.append(f"verdict: {judgement.found}")

    def find_summary(self) -> str:
        comments = list(self.api.pages(f"/repos/{self.repo}/issues/{self.number}/comments"))
        ours = self._own([one for one in comments if SUMMARY in (one["body"] or "")])
        self.note = ours[0] if ours else None
        return self.note["body"] if self.note else ""

    def write_summary(self, text: str) -> None:
        path = f"/repos/{self.repo}/issues"
        if not self.note:
            self.api.ask("POST", f"{path}/{self.number}/comments", {"body": text})
        elif text:
            self.api.ask("PATCH", f"{path}/comments/{self.note['id']}", {"body": text})
        else:
            self.api.ask("DELETE", f"{path}/comments/{self.note['id']}")

    def posted(self) -> Iterator[Posted]:
        comments = list(self.api.pages(f"{self.pull}/comments"))
        marked = [one for one in comments if MARK.search(one["body"] or "") and not one.get("in_reply_to_id")]
        answered = {one.get("in_reply_to_id") for one in comments}
        for one in self._own(marked):
            for mark in MARK.findall(one["body"])[:1]:
                yield Posted(str(one["id"]), mark, one.get("line") or 0, replied=one["id"] in answered)

    def _own(self, comments: list[Any]) -> list[Any]:
        """Return the comments written by the user (or app) of this token.

        GraphQL is used because GET /user does not know apps.
        """
        if comments and not self.me:
            try:
                self.me = str(self.api.graphql(VIEWER)["viewer"]["login"])
            except (ForbiddenError, MissingError):
                try:
                    self.me = str(self.api.ask("GET", "/user")["login"])
                except (ForbiddenError, MissingError):
                    self.me = ACTIONS
        return [one for one in comments if (one.get("user") or {}).get("login") == self.me]

    def fitting(self, offered: Sequence[Suggestion]) -> Sequence[Suggestion]:
        files = self.api.pages(f"{self.pull}/files")
        places = {file["filename"]: regions(file.get("patch") or "") for file in files}
        return [one for one in offered if fits(one, places.get(one.path, ()))]

    def remove(self, stale: Posted) -> None:
        self.api.ask("DELETE", f"/repos/{self.repo}/pulls/comments/{stale.id}")

    def resolve(self, answered: Sequence[Posted]) -> None:
        ids, resolved = {one.id for one in answered}, 0
        for thread in self._threads():
            first = thread["comments"]["nodes"][:1]
            if first and str(first[0]["databaseId"]) in ids and not thread["isResolved"]:
                self.api.graphql(RESOLVE, id=thread["id"])
                resolved += 1
        if resolved:
            self.done.append(f"{resolved} answered ones resolved")

    def _threads(self) -> Iterator[Any]:
        owner, _, name = self.repo.partition("/")
        after = None
        while True:
            data = self.api.graphql(THREADS, o=owner, r=name, n=self.number, after=after)
            found = data["repository"]["pullRequest"]["reviewThreads"]
            yield from found["nodes"]
            if not found["pageInfo"]["hasNextPage"]:
                return
            after = found["pageInfo"]["endCursor"]

    def suggest(self, fresh: Sequence[Suggestion]) -> int:
        """Post all suggestions as one review; return how many GitHub refused.

        If GitHub refuses the review (a single invalid comment is enough for that), post the suggestions one by one.
        """
        comments = [self._comment(one) for one in fresh]
        body = {"commit_id": self.head, "event": "COMMENT", "comments": comments}
        try:
            self.api.ask("POST", f"{self.pull}/reviews", body)
        except ForbiddenError as error:
            self.done.append(f"no inline suggestions ({error})")
            return len(comments)
        except InvalidError as error:
            self.check_head()
            refused = sum(not self._is_posted({"commit_id": self.head, **comment}) for comment in comments)
            if refused < len(comments):
                self.done.append(f"{len(comments) - refused} suggested one by one")
            if refused:
                self.done.append(f"{refused} refused ({error})")
            return refused
        self.done.append(f"{len(comments)} suggested")
        return 0

    def _is_posted(self, comment: dict[str, object]) -> bool:
        try:
            self.api.ask("POST", f"{self.pull}/comments", comment)
        except (InvalidError, ForbiddenError):
            return False
        return True

    def _comment(self, one: Suggestion) -> dict[str, object]:
        body = remark(one, distrust=self.distrust)
        place: dict[str, object] = {"path": one.path, "line": one.last, "side": "RIGHT", "body": body}
        if one.first < one.last:
            place |= {"start_line": one.first, "start_side": "RIGHT"}
        return place

    def finish(self, bundle: Bundle) -> None:
        """Write the check run, with remaining findings as annotations, unless an equal one exists.

        The check run never blocks merging.
        """
        self.attempt(lambda: self._check_run(bundle), "check run")

    def _written(self, name: str) -> dict[str, int]:
        """Return the ids of the head's check runs called `name`, by their external ids."""
        path = f"/repos/{self.repo}/commits/{self.head}/check-runs?check_name={quote(name)}"
        return {str(one.get("external_id")): one["id"] for one in self.api.pages(path, "check_runs")}

    def _check_run(self, bundle: Bundle) -> None:
        """Write the check run, or the rest of it.

        Each request adds ANNOTATIONS annotations. Until all are written, the check run's external id contains their
        number, so that a later call can continue if a request fails.
        """
        notes, written, path = bundle.notes, self._written("coderefine"), f"/repos/{self.repo}/check-runs"
        if bundle.digest in written:
            return

        def part(start: int) -> dict[str, object]:
            end = start + ANNOTATIONS
            id_ = bundle.digest if end >= len(notes) else f"{bundle.digest}:{end}"
            return {"external_id": id_, "output": self._output(bundle, notes[start:end])}

        begun = range(ANNOTATIONS, len(notes), ANNOTATIONS)
        start = next((start for start in begun if f"{bundle.digest}:{start}" in written), 0)
        if start:
            run = written[f"{bundle.digest}:{start}"]
        else:
            body = {
                "name": "coderefine",
                "head_sha": self.head,
                "status": "completed",
                "conclusion": "neutral" if notes or bundle.patch or self.distrust else "success",
                **part(0),
            }
            run, start = self.api.ask("POST", path, body)["id"], ANNOTATIONS
        for more in range(start, len(notes), ANNOTATIONS):
            self.api.ask("PATCH", f"{path}/{run}", part(more))
        self.done.append("check run written")

    def _output(self, bundle: Bundle, notes: Sequence[Note]) -> dict[str, object]:
        text = f"patch: {span(bundle.summary)}; {span(bundle.evidence)}" if bundle.patch else "no patch"
        left = f"{counted(len(bundle.notes), 'finding')} left"
        return {
            "title": left + (", a patch is proved" if bundle.patch else ""),
            "summary": text + f"; {REPORTED}" * self.distrust,
            "annotations": [
                {
                    "path": note.path,
                    "start_line": note.first,
                    "end_line": note.last,
                    "annotation_level": "failure" if note.rule.startswith("pytest/") else "warning",
                    "title": note.rule[:255],
                    "message": note.text or note.rule or "finding",
                }
                for note in notes
            ],
        }


def find_pull(api: Api, repo: str, head: str, label: str = "") -> int | None:
    """Return the number of the open pull request with the head commit `head`, or None.

    `label`: owner and name of its branch, as OWNER:BRANCH; "" if unknown.
    """
    where = f"pulls?state=open&head={quote(label, safe=':')}" if label else f"commits/{head}/pulls"
    try:
        pulls = list(api.pages(f"/repos/{repo}/{where}"))
    except (MissingError, InvalidError):
        return None
    fitting = (one for one in pulls if one["state"] == "open" and one["head"]["sha"] == head)
    return next((int(one["number"]) for one in fitting), None)
