"""GitLab's merge request as far as the bot needs it, in its documented shapes, over real HTTP."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
ROOT = "/api/v4/projects/7/merge_requests/1"


@dataclass
class Fake:
    """Merge request !1 of project 7."""

    changes: list[Json]
    head: str = "a" * 40
    state: str = "opened"
    url: str = ""
    talks: list[Json] = field(default_factory=list)
    notes: list[Json] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def answer(self, verb: str, path: str, body: Json) -> tuple[int, Any]:
        refs = {"base_sha": "b" * 40, "start_sha": "b" * 40, "head_sha": self.head}
        plain = {
            "GET /api/v4/user": {"id": 1, "username": "bot"},
            f"GET {ROOT}": {"id": 9, "iid": 1, "project_id": 7, "state": self.state, "diff_refs": refs},
            f"GET {ROOT}/changes": {"iid": 1, "changes": self.changes},
            f"GET {ROOT}/discussions": self.talks,
            f"GET {ROOT}/notes": self.notes,
        }
        if f"{verb} {path}" in plain:
            return 200, plain[f"{verb} {path}"]
        self.writes.append(f"{verb} {path}")
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
        if set(place) != needed or place["head_sha"] != self.head:
            return 400, {"message": "400 Bad request - Note {:line_code=>[can't be blank]}"}
        note = {"id": next(self.ids), "body": body["body"], "author": {"username": "bot"}, "resolved": False}
        self.talks.append({"id": f"d{note['id']}", "notes": [note], "position": place})
        return 201, self.talks[-1]


@contextlib.contextmanager
def served(fake: Fake) -> Iterator[Fake]:
    """`fake` on a port of its own."""

    class Talk(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            status, said = fake.answer(self.command, urlsplit(self.path).path, body)
            data = b"" if said is None else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815 - the server's names

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
