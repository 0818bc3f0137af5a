"""A scripted OpenAI-compatible server on loopback: it answers from a script and records what it was sent.

In a test:

    with LlmServer(["first reply", error(429, retry_after=0), "second reply"]) as server:
        ...  # base_url = server.url; afterwards server.requests, server.chars

The last reply of a list is repeated for ever. As a process, for benchmarks:

    python -m tests.support.llm_server script.json --log requests.jsonl

prints its base URL on the first line; `script.json` is a list of strings or of objects with the fields of
`Reply`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One answer. `text` is what the model says; the rest is how things go wrong.

    `delay`: seconds before the first byte. `cut`: close the connection after so many characters of `text`
    (streaming) or bytes of the body. `raw`: send this body instead. `more`: further answers, of which as many
    are sent as the request's `n` wants. `comments`: number of comments, with `pause` between them, that keep a
    stream alive before its text. `usage`: (prompt, completion) tokens;
    None counts four characters a token; `silent` leaves usage out.
    """

    text: str = ""
    status: int = 200
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    cut: int | None = None
    finish: str | None = "stop"
    usage: tuple[int, int] | None = None
    silent: bool = False
    refusal: str | None = None
    chunk: int = 16
    pause: float = 0.0
    more: tuple[str, ...] = ()
    comments: int = 0

    def texts(self, seen: Seen) -> tuple[str, ...]:
        """All answers to `seen`."""
        return (self.text, *self.more)[: int(seen.body.get("n", 1))]


def error(
    status: int,
    message: str = "scripted failure",
    *,
    code: str | None = None,
    param: str | None = None,
    retry_after: float | str | None = None,
) -> Reply:
    """An error answer in OpenAI's shape."""
    body = {"error": {"message": message, "type": "scripted", "code": code, "param": param}}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(status=status, raw=json.dumps(body), headers=headers)


@dataclass(frozen=True)
class Seen:
    """A request as it arrived, at Unix time `at`. `chars` counts the characters of all message contents."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float = field(default_factory=time.time, compare=False)

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        return tuple((message["role"], message["content"]) for message in self.body.get("messages", ()))

    @property
    def prompt(self) -> str:
        return "\n".join(content for _, content in self.messages)

    @property
    def chars(self) -> int:
        return sum(len(content) for _, content in self.messages)


Script = Sequence[Reply | str] | Callable[[Seen], Reply | str]


class LlmServer:
    """The server as a context manager; `url` is the base URL to hand to a client."""

    def __init__(
        self, script: Script, *, models: Sequence[str] = ("scripted",), port: int = 0, log: Path | None = None
    ) -> None:
        self.requests: list[Seen] = []
        self.listings: list[Seen] = []
        self.models = tuple(models)
        self._script = script
        self._log = log
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def chars(self) -> int:
        """Prompt characters received over all requests."""
        return sum(seen.chars for seen in self.requests)

    def answer(self, seen: Seen) -> Reply:
        with self._lock:
            self.requests.append(seen)
            number = len(self.requests)
            self._record(number, seen)
            script = self._script
            reply = script(seen) if callable(script) else script[min(number, len(script)) - 1]
        return Reply(reply) if isinstance(reply, str) else reply

    def _record(self, number: int, seen: Seen) -> None:
        if self._log:
            line = {"number": number, "chars": seen.chars, "time": time.time(), "body": dict(seen.body)}
            with self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        self._http.serve_forever(poll_interval=0.1)

    def __enter__(self) -> LlmServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.hang_up()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True

    def __init__(self, address: tuple[str, int], owner: LlmServer) -> None:
        super().__init__(address, _Wire)
        self.owner = owner
        self._open: set[socket.socket] = set()

    def finish_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            self._open.discard(request)

    def hang_up(self) -> None:
        """End the connections that clients keep alive, so that no handler thread outlives us."""
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is none of the test's business."""


class _Wire(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body after the head would wait 40 ms for an acknowledgement
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.listings.append(Seen(self.path, headers, {}))
        if self.path.endswith("/models"):
            models = [
                {"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self.server.owner.models
            ]
            self._send(200, {}, json.dumps({"object": "list", "data": models}).encode())
        else:
            self._send(404, {}, b'{"error": {"message": "no such page"}}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        reply = self.server.owner.answer(seen)
        time.sleep(reply.delay)
        if reply.raw is not None:
            self._send(reply.status, reply.headers, reply.raw.encode())
        elif body.get("stream"):
            self._stream(seen, reply)
        else:
            self._send(
                reply.status,
                reply.headers,
                json.dumps(_completion(seen, reply)).encode(),
                cut=reply.cut,
                pause=reply.pause,
            )

    def _send(
        self, status: int, headers: Mapping[str, str], body: bytes, *, cut: int | None = None, pause: float = 0.0
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        body = body if cut is None else body[:cut]
        for start in range(0, len(body), 1 if pause else len(body) or 1):
            self.wfile.write(body[start : start + (1 if pause else len(body))])
            time.sleep(pause)
        if cut is not None:
            self._drop()

    def _stream(self, seen: Seen, reply: Reply) -> None:
        self.send_response(200)
        for name, value in {
            **reply.headers,
            "Content-Type": "text/event-stream",
            "Transfer-Encoding": "chunked",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        for _ in range(reply.comments):
            self._chunk(b": PROCESSING\n\n")
            time.sleep(reply.pause)
        for number, whole in enumerate(reply.texts(seen)):
            text = whole if reply.cut is None else whole[: reply.cut]
            for start in range(0, len(text), reply.chunk):
                self._event(_delta({"content": text[start : start + reply.chunk]}, number=number))
                time.sleep(reply.pause)
        if reply.cut is not None:
            self._drop()
            return
        if reply.refusal:
            self._event(_delta({"refusal": reply.refusal}))
        for number in range(len(reply.texts(seen))):
            self._event(_delta({}, reply.finish, number=number))
        if not reply.silent and seen.body.get("stream_options", {}).get("include_usage"):
            self._event({**_delta({}), "choices": [], "usage": _usage(seen, reply)})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _event(self, data: Mapping[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _drop(self) -> None:
        self.wfile.flush()
        self.close_connection = True


def _usage(seen: Seen, reply: Reply) -> dict[str, int]:
    prompt, completion = reply.usage or (seen.chars // 4, sum(len(text) // 4 for text in reply.texts(seen)))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _completion(seen: Seen, reply: Reply) -> dict[str, Any]:
    messages = [{"role": "assistant", "content": text, "refusal": reply.refusal} for text in reply.texts(seen)]
    whole: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": seen.body.get("model", ""),
        "choices": [
            {"index": number, "message": message, "finish_reason": reply.finish}
            for number, message in enumerate(messages)
        ],
    }
    return whole if reply.silent else {**whole, "usage": _usage(seen, reply)}


def _delta(delta: Mapping[str, Any], finish: str | None = None, *, number: int = 0) -> dict[str, Any]:
    choice = {"index": number, "delta": dict(delta), "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "", "choices": [choice]}


def load(path: Path) -> list[Reply]:
    """The script in a JSON file: a list of strings or of `Reply` fields."""
    script = json.loads(path.read_text("utf-8"))
    return [
        Reply(item)
        if isinstance(item, str)
        else Reply(**{**item, "usage": tuple(item["usage"])} if item.get("usage") else item)
        for item in script
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    server = LlmServer(load(given.script), port=given.port, log=given.log)
    print(server.url, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()


if __name__ == "__main__":
    main()
