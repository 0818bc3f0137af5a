"""Post a bundle on a GitHub pull request: a review, a summary comment, a check run.

Posting again changes only what differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Bundle, Suggestion
from coderefine.publishers.hosts.check_run import check_run
from coderefine.publishers.hosts.comment_plan import CommentPlan, MovedError, Posted, inline, plan
from coderefine.publishers.hosts.comments import MARK, SUMMARY, remark, settled, summary
from coderefine.publishers.hosts.github_api import Api, BusyError, ForbiddenError, InvalidError, MissingError
from coderefine.publishers.hosts.regions import fits, regions

ROUNDS = 4
"""Number of tries when GitHub is busy; each first reads what was posted already."""
PATIENCE = 90.0
"""Maximum seconds to wait for a rate limit, in all tries together."""
ACTIONS = "github-actions[bot]"
THREADS = """query($o:String!,$r:String!,$n:Int!,$after:String){repository(owner:$o,name:$r){pullRequest(number:$n){
reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor}
nodes{id isResolved comments(first:1){nodes{databaseId}}}}}}}"""
VIEWER = "query{viewer{login}}"
RESOLVE = "mutation($id:ID!){resolveReviewThread(input:{threadId:$id}){thread{isResolved}}}"


@dataclass(slots=True)
class GitHub:
    """Post on the repository `repo` (OWNER/NAME).

    `fetch`: command that gets a patch which is too long to show. `distrust`: say that the artifact was made by a run
    that others control.
    """

    api: Api
    repo: str
    number: int
    fetch: str = ""
    distrust: bool = False
    style: bool = False
    sleep: Callable[[float], None] = time.sleep
    said: list[str] = field(default_factory=list)
    me: str = ""
    name: str = "github"

    def publish(self, bundle: Bundle) -> str:
        """Post, and return one line that says what was posted.

        Raises PublishError when GitHub finally refused.
        """
        waited = 0.0
        for _ in range(ROUNDS):
            self.said = []
            try:
                self._once(bundle)
                return self._line("; ".join(self.said) or "nothing to change")
            except MovedError as moved:
                return self._line(str(moved))
            except BusyError as busy:
                last, waited = busy, waited + busy.wait
                if waited > PATIENCE:
                    break
                self.sleep(busy.wait)
        raise PublishError(f"{last}; gave up, run again later")

    def _line(self, text: str) -> str:
        return f"{self.repo}#{self.number}: {text}"

    def _once(self, bundle: Bundle) -> None:
        self._still(bundle)
        note = self._summary()
        if note and settled(note["body"], bundle, distrust=self.distrust):
            return
        posted = list(self._posted())
        wanted = self._fitting(bundle) if bundle.speaks(style=self.style) else ()
        todo = plan(wanted, posted)
        if todo or self._words(bundle, inline(wanted)) != (note or {}).get("body", ""):
            self._still(bundle)
        self._tidy(todo)
        refused = self._review(bundle, todo)
        self._sticky(note, self._words(bundle, inline(wanted) - refused))
        self._try(lambda: self._check_run(bundle), "check run")

    def _words(self, bundle: Bundle, inline: int) -> str:
        """Return the summary comment; "" where there is nothing to post."""
        if not bundle.speaks(style=self.style):
            return ""
        return summary(bundle, number=self.number, inline=inline, fetch=self.fetch, distrust=self.distrust)

    def _check_run(self, bundle: Bundle) -> None:
        if check_run(self.api, self.repo, bundle, distrust=self.distrust):
            self.said.append("check run written")

    def _still(self, bundle: Bundle) -> None:
        pull = self.api.ask("GET", f"/repos/{self.repo}/pulls/{self.number}")
        if pull["state"] != "open":
            raise MovedError("closed, nothing posted")
        if pull["head"]["sha"] != bundle.head:
            raise MovedError(f"the head moved to {pull['head']['sha'][:10]}, nothing posted")

    def _fitting(self, bundle: Bundle) -> tuple[Suggestion, ...]:
        if not bundle.suggestions:
            return ()
        files = self.api.pages(f"/repos/{self.repo}/pulls/{self.number}/files")
        places = {file["filename"]: regions(file.get("patch") or "") for file in files}
        return tuple(one for one in bundle.suggestions if fits(one, places.get(one.path, ())))

    def _posted(self) -> Iterator[Posted]:
        """Return our own comments: with our mark, written by a program (or by the token's owner)."""
        comments = list(self.api.pages(f"/repos/{self.repo}/pulls/{self.number}/comments"))
        ours = [one for one in comments if MARK.search(one["body"] or "") and not one.get("in_reply_to_id")]
        ours = self._own(ours)
        answered = {one.get("in_reply_to_id") for one in comments}
        for one in ours:
            found = MARK.search(one["body"])
            if found:
                outdated = one.get("line") is None
                yield Posted(str(one["id"]), found[1], replied=one["id"] in answered, outdated=outdated)

    def _own(self, comments: list[Any]) -> list[Any]:
        """Return whether this token's user (or app) wrote the comment: anybody can copy a mark."""
        if comments and not self.me:
            self.me = self._login()
        return [one for one in comments if (one.get("user") or {}).get("login") == self.me]

    def _login(self) -> str:
        """Return the token's login.

        GraphQL knows apps, too; GET /user knows people only.
        """
        try:
            return str(self.api.graphql(VIEWER)["viewer"]["login"])
        except (ForbiddenError, MissingError):
            pass
        try:
            return str(self.api.ask("GET", "/user")["login"])
        except (ForbiddenError, MissingError):
            return ACTIONS

    def _tidy(self, todo: CommentPlan) -> None:
        for stale in todo.remove:
            self._try(partial(self._delete, f"pulls/comments/{stale.id}"), "removal")
        if todo.remove:
            self.said.append(f"{len(todo.remove)} stale removed")
        if todo.resolve:
            self._try(lambda: self._resolve({one.id for one in todo.resolve}), "resolving")

    def _delete(self, what: str) -> None:
        try:
            self.api.ask("DELETE", f"/repos/{self.repo}/{what}")
        except MissingError:
            return

    def _resolve(self, ids: set[str]) -> None:
        done = 0
        for thread in self._threads():
            first = thread["comments"]["nodes"][:1]
            if first and str(first[0]["databaseId"]) in ids and not thread["isResolved"]:
                self.api.graphql(RESOLVE, id=thread["id"])
                done += 1
        if done:
            self.said.append(f"{done} answered ones resolved")

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

    def _review(self, bundle: Bundle, todo: CommentPlan) -> int:
        """Post the new suggestions as one review; return how many of them GitHub refused."""
        if not todo.post:
            return 0
        comments = [self._comment(one) for one in todo.post]
        body = {"commit_id": bundle.head, "event": "COMMENT", "comments": comments}
        try:
            self.api.ask("POST", f"/repos/{self.repo}/pulls/{self.number}/reviews", body)
        except ForbiddenError as error:
            self.said.append(f"no inline suggestions ({error})")
            return len(comments)
        except InvalidError as error:
            return self._singly(bundle, comments, error)
        self.said.append(f"{len(comments)} suggested")
        return 0

    def _singly(self, bundle: Bundle, comments: list[dict[str, object]], why: InvalidError) -> int:
        """Post suggestions one by one, because one that GitHub refuses makes it refuse the whole review."""
        self._still(bundle)
        refused = sum(not self._taken({"commit_id": bundle.head, **comment}) for comment in comments)
        if refused < len(comments):
            self.said.append(f"{len(comments) - refused} suggested one by one")
        if refused:
            self.said.append(f"{refused} refused ({why})")
        return refused

    def _taken(self, comment: dict[str, object]) -> bool:
        try:
            self.api.ask("POST", f"/repos/{self.repo}/pulls/{self.number}/comments", comment)
        except (InvalidError, ForbiddenError):
            return False
        return True

    def _comment(self, one: Suggestion) -> dict[str, object]:
        body = remark(one, distrust=self.distrust)
        place: dict[str, object] = {"path": one.path, "line": one.last, "side": "RIGHT", "body": body}
        if one.first < one.last:
            place |= {"start_line": one.first, "start_side": "RIGHT"}
        return place

    def _summary(self) -> Any:
        comments = list(self.api.pages(f"/repos/{self.repo}/issues/{self.number}/comments"))
        ours = self._own([one for one in comments if SUMMARY in (one["body"] or "")])
        return ours[0] if ours else None

    def _sticky(self, note: Any, words: str) -> None:
        if words == (note or {}).get("body", ""):
            return
        path = f"/repos/{self.repo}/issues"
        if not words:
            self._try(lambda: self._delete(f"issues/comments/{note['id']}"), "summary")
            self.said.append("summary removed")
        elif note:
            self._try(lambda: self.api.ask("PATCH", f"{path}/comments/{note['id']}", {"body": words}), "summary")
            self.said.append("summary updated")
        else:
            self._try(lambda: self.api.ask("POST", f"{path}/{self.number}/comments", {"body": words}), "summary")
            self.said.append("summary posted")

    def _try(self, act: Callable[[], object], what: str) -> None:
        """Try a step; where the token may not do it, skip it and say so."""
        try:
            act()
        except ForbiddenError as error:
            self.said.append(f"no {what} ({error})")


def find_pull(api: Api, repo: str, head: str, label: str = "") -> int | None:
    """Return the open pull request whose head is `head`; `label` is OWNER:BRANCH where the event has it."""
    where = f"pulls?state=open&head={quote(label, safe=':')}" if label else f"commits/{head}/pulls"
    try:
        pulls = list(api.pages(f"/repos/{repo}/{where}"))
    except (MissingError, InvalidError):
        return None
    fitting = (one for one in pulls if one["state"] == "open" and one["head"]["sha"] == head)
    return next((int(one["number"]) for one in fitting), None)
