"""GitLab's merge request as far as the bot needs it, in its documented shapes, over real HTTP."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.github_fake import Fault
from tests.support.loopback import JsonHandler, listening

Json = dict[str, Any]
ROOT = "/api/v4/projects/7/merge_requests/1"
COMMITS = "/api/v4/projects/7/repository/commits"


@dataclass
class Fake:
    """Merge request !1 of project 7."""

    changes: list[Json]
    head: str = "a" * 40
    state: str = "opened"
    url: str = ""
    talks: list[Json] = field(default_factory=list)
    notes: list[Json] = field(default_factory=list)
    statuses: list[Json] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    before: Callable[[str, str], None] | None = None
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    projects: list[str] = field(default_factory=list)
    """The projects of the group acme/tools."""
    merges: list[Json] = field(default_factory=list)

    def answer(self, verb: str, path: str, body: Json) -> tuple[int, Any]:
        if path == "/api/v4/groups/acme%2Ftools/projects":
            return 200, [{"id": number, "http_url_to_repo": url} for number, url in enumerate(self.projects)]
        if path == "/api/v4/projects/o%2Fr/merge_requests":
            self.merges += [{**body, "iid": 3, "id": 3}] if verb == "POST" else []
            return (201, self.merges[-1]) if verb == "POST" else (200, self.merges)
        refs = {"base_sha": "b" * 40, "start_sha": "b" * 40, "head_sha": self.head}
        plain = {
            "GET /api/v4/user": {"id": 1, "username": "bot"},
            f"GET {ROOT}": {"id": 9, "iid": 1, "project_id": 7, "state": self.state, "diff_refs": refs},
            f"GET {ROOT}/diffs": self.changes,
            f"GET {ROOT}/discussions": self.talks,
            f"GET {ROOT}/notes": self.notes,
            f"GET {COMMITS}/{self.head}": {"id": self.head},
            f"GET {COMMITS}/{self.head}/statuses": self.statuses,
        }
        if f"{verb} {path}" in plain:
            return 200, plain[f"{verb} {path}"]
        self.writes.append(f"{verb} {path}")
        if (verb, path) == ("POST", f"/api/v4/projects/7/statuses/{self.head}"):
            self.statuses.append({**body, "id": next(self.ids), "status": body["state"]})
            return 201, self.statuses[-1]
        return self._write(verb, path.removeprefix(ROOT), body)

    def _write(self, verb: str, path: str, body: Json) -> tuple[int, Any]:
        if (verb, path) == ("POST", "/discussions"):
            return self._discuss(body)
        if (verb, path) == ("POST", "/notes"):
            self.notes.append({"id": next(self.ids), **body, "author": {"username": "bot"}})
            return 201, self.notes[-1]
        if found := re.fullmatch(r"/discussions/(\w+)/notes/(\d+)", path):
            self.talks = [talk for talk in self.talks if talk["id"] != found[1]]
            return 204, None
        if found := re.fullmatch(r"/discussions/(\w+)", path):
            talk = next(one for one in self.talks if one["id"] == found[1])
            talk["notes"][0]["resolved"] = body["resolved"]
            return 200, talk
        if found := re.fullmatch(r"/notes/(\d+)", path):
            note = next(one for one in self.notes if one["id"] == int(found[1]))
            if verb == "DELETE":
                self.notes.remove(note)
                return 204, None
            note["body"] = body["body"]
            return 200, note
        return 404, {"message": "404 Not found"}

    def _discuss(self, body: Json) -> tuple[int, Any]:
        place = body["position"]
        needed = {"base_sha", "start_sha", "head_sha", "position_type", "old_path", "new_path", "new_line"}
        if "old_line" in place:
            needed.add("old_line")
        change = next((one for one in self.changes if one["new_path"] == place["new_path"]), None)
        sides = (place.get("old_line"), place["new_line"])
        if set(place) != needed or place["head_sha"] != self.head or change is None or sides not in rows(change):
            return 400, {"message": "400 Bad request - Note {:line_code=>[can't be blank]}"}
        note = {"id": next(self.ids), "body": body["body"], "author": {"username": "bot"}, "resolved": False}
        note["position"] = place
        self.talks.append({"id": f"d{note['id']}", "notes": [note], "position": place})
        return 201, self.talks[-1]


def rows(change: Json) -> list[tuple[int | None, int]]:
    """(old line, new line) of every row of a diff on which GitLab accepts a comment; an added row has no old line."""
    found: list[tuple[int | None, int]] = []
    old = new = 0
    for row in change["diff"].splitlines():
        if header := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", row):
            old, new = int(header[1]), int(header[2])
            continue
        if not row.startswith("-"):
            found.append((None if row.startswith("+") else old, new))
        old, new = old + (not row.startswith("+")), new + (not row.startswith("-"))
    return found


@contextlib.contextmanager
def served(fake: Fake) -> Iterator[Fake]:
    """`fake` on a port of its own."""

    class Talk(JsonHandler):
        def _any(self) -> None:
            body = self.asked()
            parts = urlsplit(self.path)
            if fake.before:
                fake.before(self.command, parts.path)
            fits = (one for one in fake.faults if one.verb == self.command and re.search(one.path, parts.path))
            fault = next(fits, None)
            status, result, headers = 0, None, {}
            if fault is None or fault.after:
                status, result = fake.answer(self.command, parts.path, body)
            if fault:
                fake.faults.remove(fault)
                status, result, headers = fault.status, {"message": fault.message}, fault.headers
            if isinstance(result, list):
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                size, page = min(int(query.get("per_page", 20)), 100), int(query.get("page", 1))
                if len(result) > size * page:
                    headers = {"Link": f'<{fake.url}{parts.path}?per_page={size}&page={page + 1}>; rel="next"'}
                result = result[size * (page - 1) : size * page]
            self.reply(status, result, headers)

        do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815 - the server's names

    with listening(Talk) as fake.url:
        yield fake
