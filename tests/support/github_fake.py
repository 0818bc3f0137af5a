"""GitHub as far as the bot needs it: stateful, over real HTTP, with the rules its API description does not tell.

Diffs come from a real repository; accepting a suggestion edits a real tree.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.support.loopback import JsonHandler, listening
from tests.support.repo import git

BOT = "github-actions[bot]"
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
FENCE = re.compile(r"(?ms)^(`{3,})suggestion\n(.*?)^\1$")
Json = dict[str, Any]
STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


@dataclass
class Fault:
    """An answer given once instead of the real one to the first request that fits; `after`: the work is done first."""

    verb: str
    path: str
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "fault"
    after: bool = False


@dataclass
class Fake:
    """One repository `o/r` with pull request number 1; `top` is a real clone whose HEAD is the head."""

    top: Path
    base: str
    state: str = "open"
    url: str = ""
    comments: list[Json] = field(default_factory=list)
    notes: list[Json] = field(default_factory=list)
    runs: list[Json] = field(default_factory=list)
    opened: list[Json] = field(default_factory=list)
    resolved: set[int] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    log: list[tuple[str, str, int]] = field(default_factory=list)
    before: Callable[[str, str], None] | None = None
    page: int = 100
    login: str = BOT
    viewer: bool = True
    origins: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    seen: tuple[str, list[Json]] = ("", [])
    repositories: dict[str, list[str]] = field(default_factory=dict)
    """What a search finds, by its words."""
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def head(self) -> str:
        return git(self.top, "rev-parse", "HEAD")

    @property
    def writes(self) -> list[tuple[str, str, int]]:
        return [one for one in self.log if one[0] != "GET" and one[1] != "/graphql"]

    def files(self) -> list[Json]:
        """What the pull request changes, each with its diff, as GET /pulls/1/files tells it."""
        head = self.head
        if self.seen[0] != head:
            self.seen = (head, self._files())
        return self.seen[1]

    def _files(self) -> list[Json]:
        span = f"{self.base}...HEAD"
        rows = iter(git(self.top, "diff", "--name-status", "-z", "-M", span).rstrip("\0").split("\0"))
        texts = iter(re.split(r"(?m)^diff --git .*\n", git(self.top, "diff", "-M", span) + "\n")[1:])
        found = []
        for status in rows:
            old = next(rows, "")
            name = next(rows) if status[0] in "RC" else old
            start = (text := next(texts)).find("@@")
            entry = {"filename": name, "status": STATUS[status[0]], "sha": "0" * 40, "additions": 0, "deletions": 0}
            found.append({**entry, "changes": 0, **({"patch": text[start:-1]} if start >= 0 else {})})
        return found

    def lines(self, path: str) -> list[range]:
        """Right-hand lines of each hunk of `path`."""
        patch = next((one.get("patch", "") for one in self.files() if one["filename"] == path), "")
        headers = (HUNK.match(row) for row in patch.splitlines())
        return [range(int(h[1]), int(h[1]) + int(h[2] or 1)) for h in headers if h]

    def current_comments(self) -> list[Json]:
        """The review comments as they stand now: moved with their lines, `line` null where those changed."""
        for one in self.comments:
            if one["id"] in self.origins:
                first, last = self._moved(one["path"], *self.origins[one["id"]])
                one["line"] = last
                if "start_line" in one:
                    one["start_line"] = first
        return self.comments

    def _moved(self, path: str, commit: str, first: int, last: int) -> tuple[int | None, int | None]:
        if commit == self.head:
            return first, last
        old = git(self.top, "show", f"{commit}:{path}").splitlines()
        new = (self.top / path).read_text().splitlines() if (self.top / path).exists() else []
        for i, j, size in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            if i < first and last <= i + size:
                return first - i + j, last - i + j
        return None, None

    def comment(self, body: str, *, login: str, reply: int | None = None, path: str = "a.py") -> Json:
        """A review comment, as a person may write it."""
        made = {"id": next(self.ids), "body": body, "path": path, "user": {"login": login}, "line": 1}
        self.comments.append({**made, **({"in_reply_to_id": reply} if reply else {})})
        return self.comments[-1]

    def accept(self, comment: Json) -> None:
        """Click `Commit suggestion`, without the commit: its lines become the suggestion's text."""
        found = FENCE.search(comment["body"])
        assert found, "no suggestion in the remark"
        self.current_comments()
        path = self.top / comment["path"]
        lines = path.read_bytes().decode().splitlines(keepends=True)
        first = comment.get("start_line") or comment["line"]
        path.write_bytes("".join((*lines[: first - 1], found[2], *lines[comment["line"] :])).encode())

    def answer(self, verb: str, path: str, query: Json, body: Json) -> tuple[int, Any]:
        """Status and JSON of one request."""
        for pattern, act in self._routes(verb, query, body):
            if found := re.fullmatch(pattern, f"{verb} {path}"):
                return act(*found.groups())
        return 404, {"message": "Not Found"}

    def _routes(self, verb: str, query: Json, body: Json) -> list[tuple[str, Callable[..., tuple[int, Any]]]]:
        pulls, issues = "/repos/o/r/pulls", "/repos/o/r/issues"
        person = not self.login.endswith("[bot]")
        me = (200, {"login": self.login}) if person else (403, {"message": "Resource not accessible by integration"})
        return [
            (r"GET /user", lambda: me),
            (rf"GET {pulls}/1", lambda: (200, self._pull())),
            (rf"GET {pulls}/1/files", lambda: (200, self.files())),
            (rf"GET {pulls}/1/comments", lambda: (200, self.current_comments())),
            (rf"GET {issues}/1/comments", lambda: (200, self.notes)),
            (r"GET /search/repositories", lambda: (200, self._found(query["q"]))),
            (rf"GET {pulls}", lambda: (200, self._pulls(query.get("head", "topic").rpartition(":")[2]))),
            (rf"POST {pulls}", lambda: self._open(body)),
            (rf"POST {pulls}/1/reviews", lambda: self._review(body)),
            (rf"POST {pulls}/1/comments", lambda: self._comment(body)),
            (r"GET /repos/o/r/commits/(\w+)/pulls", lambda sha: (200, [self._pull()] if sha == self.head else [])),
            (rf"DELETE {pulls}/comments/(\d+)", lambda id: self._drop(self.comments, int(id))),
            (rf"POST {issues}/1/comments", lambda: self._note(body)),
            (rf"PATCH {issues}/comments/(\d+)", lambda id: self._edit(int(id), body)),
            (rf"DELETE {issues}/comments/(\d+)", lambda id: self._drop(self.notes, int(id))),
            (r"GET /repos/o/r/commits/(\w+)/check-runs", lambda sha: (200, self._checks(sha, query["check_name"]))),
            (r"POST /repos/o/r/check-runs", lambda: self._run(body)),
            (r"PATCH /repos/o/r/check-runs/(\d+)", lambda id: self._more(int(id), body)),
            (r"POST /graphql", lambda: self._graphql(body)),
        ]

    def _pulls(self, branch: str) -> list[Json]:
        return [self._pull()] if branch == "topic" else [one for one in self.opened if one["head"] == branch]

    def _found(self, query: str) -> Json:
        names = self.repositories.get(query, [])
        items = [{"full_name": name, "clone_url": f"{self.url}/{name}.git"} for name in names]
        return {"total_count": len(names), "incomplete_results": False, "items": items}

    def _pull(self) -> Json:
        return {
            "number": 1,
            "state": self.state,
            "head": {"sha": self.head, "ref": "topic"},
            "base": {"sha": self.base},
        }

    def _review(self, body: Json) -> tuple[int, Any]:
        if body.get("commit_id") != self.head:
            return 422, {"message": "Validation Failed: commit_id is not part of the pull request"}
        if body.get("event") != "COMMENT":
            return 422, {"message": "a pending review: it would not be visible"}
        for one in body["comments"]:
            if refusal := self._refusal(one):
                return 422, {"message": f"Unprocessable Entity: {refusal}"}
        for one in body["comments"]:
            self._add(one)
        return 200, {"id": next(self.ids)}

    def _comment(self, body: Json) -> tuple[int, Any]:
        if body.get("commit_id") != self.head:
            return 422, {"message": "Validation Failed: commit_id is not part of the pull request"}
        if refusal := self._refusal(body):
            return 422, {"message": f"Unprocessable Entity: {refusal}"}
        return 201, self._add(body)

    def _add(self, one: Json) -> Json:
        made = {**one, "id": next(self.ids), "user": {"login": self.login}}
        self.origins[made["id"]] = (self.head, one.get("start_line") or one["line"], one["line"])
        self.comments.append(made)
        return made

    def _refusal(self, one: Json) -> str:
        start, last = one.get("start_line"), one["line"]
        if start is not None and start >= last:
            return "start_line must precede the end line"
        wanted = {start or last, last}
        if not any(wanted <= set(hunk) for hunk in self.lines(one["path"])):
            return "pull_request_review_thread.line must be part of the same hunk"
        return "" if 0 < len(one["body"]) <= 65_536 else "body is too long"

    def _note(self, body: Json) -> tuple[int, Any]:
        if len(body["body"]) > 65_536:
            return 422, {"message": "body is too long"}
        self.notes.append({"id": next(self.ids), "body": body["body"], "user": {"login": self.login}})
        return 201, self.notes[-1]

    def _edit(self, id: int, body: Json) -> tuple[int, Any]:
        for note in self.notes:
            if note["id"] == id:
                note["body"] = body["body"]
                return 200, note
        return 404, {"message": "Not Found"}

    def _drop(self, things: list[Json], id: int) -> tuple[int, Any]:
        for thing in things:
            if thing["id"] == id:
                things.remove(thing)
                return 204, None
        return 404, {"message": "Not Found"}

    def _checks(self, sha: str, name: str) -> Json:
        found = [one for one in self.runs if one["head_sha"] == sha and one["name"] == name]
        return {"total_count": len(found), "check_runs": found}

    def _run(self, body: Json) -> tuple[int, Any]:
        notes = body["output"].get("annotations", [])
        if len(notes) > 50 or len(body["output"]["summary"]) > 65_535:
            return 422, {"message": "annotations: at most 50"}
        self.runs.append({**body, "id": next(self.ids), "annotations": list(notes)})
        return 201, self.runs[-1]

    def _more(self, id: int, body: Json) -> tuple[int, Any]:
        if len(body["output"]["annotations"]) > 50:
            return 422, {"message": "annotations: at most 50"}
        run = next(one for one in self.runs if one["id"] == id)
        run["annotations"] += body["output"]["annotations"]
        run["external_id"] = body.get("external_id", run["external_id"])
        return 200, run

    def _open(self, body: Json) -> tuple[int, Any]:
        self.opened.append({**body, "number": 2, "state": "open"})
        return 201, self.opened[-1]

    def _graphql(self, body: Json) -> tuple[int, Any]:
        if "viewer" in body["query"]:
            if not self.viewer:
                return 200, {"errors": [{"message": "Resource not accessible by integration"}]}
            return 200, {"data": {"viewer": {"login": self.login}}}
        if "mutation" in body["query"]:
            self.resolved.add(int(body["variables"]["id"]))
            return 200, {"data": {"resolveReviewThread": {"thread": {"isResolved": True}}}}
        roots = [one for one in self.comments if not one.get("in_reply_to_id")]
        nodes = [
            {
                "id": str(one["id"]),
                "isResolved": one["id"] in self.resolved,
                "comments": {"nodes": [{"databaseId": one["id"]}]},
            }
            for one in roots
        ]
        threads = {"pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": nodes}
        return 200, {"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}}


@contextlib.contextmanager
def served(fake: Fake) -> Iterator[Fake]:
    """`fake` on a port of its own; `fake.url` says where."""

    class Talk(JsonHandler):
        def _any(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            body = self.asked()
            if fake.before:
                fake.before(self.command, parts.path)
            fault = next(
                (one for one in fake.faults if one.verb == self.command and re.search(one.path, parts.path)), None
            )
            if fault:
                fake.faults.remove(fault)
                if fault.after:
                    fake.answer(self.command, parts.path, query, body)
                self._send(fault.status, {"message": fault.message}, fault.headers)
                return
            status, result = fake.answer(self.command, parts.path, query, body)
            self._send(status, *self._paged(result, query, parts.path))

        def _paged(self, result: Any, query: Json, path: str) -> tuple[Any, dict[str, str]]:
            if isinstance(result, dict) and "items" in result:
                items, link = self._paged(result["items"], query, f"{path}?q={quote(query['q'])}")
                return {**result, "items": items}, link
            if not isinstance(result, list):
                return result, {}
            size, page = min(int(query.get("per_page", 30)), fake.page), int(query.get("page", 1))
            more, mark = len(result) > size * page, "&" if "?" in path else "?"
            link = {"Link": f'<{fake.url}{path}{mark}per_page={size}&page={page + 1}>; rel="next"'} if more else {}
            return result[size * (page - 1) : size * page], link

        def _send(self, status: int, result: Any, headers: dict[str, str]) -> None:
            fake.log.append((self.command, urlsplit(self.path).path, status))
            self.reply(status, result, headers)

        do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815 - the server's names

    with listening(Talk) as fake.url:
        yield fake
