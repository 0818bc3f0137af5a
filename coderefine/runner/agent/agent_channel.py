"""The agent's end of the channel: length-prefixed JSON frames over an inherited socket, each with the run's nonce.

A frame is a 4-byte big-endian length and that many bytes of ASCII JSON. Only the process that opened the channel may
write to it: a child that a test forks inherits the socket but not the right to use it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any

HEADER = 4
PAUSE = 0.05
"""Seconds that a result may be queued: a system call per test, which also wakes the reader, is too expensive."""

Message = dict[str, Any]
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def pack(message: Message) -> bytes:
    """Encode `message` as one frame."""
    body = _encode(message).encode("ascii")
    return len(body).to_bytes(HEADER, "big") + body


def read(fd: int) -> Message | None:
    """Read the next frame from `fd`, blocking; None once the other side is closed."""
    head = _exactly(fd, HEADER)
    if head is None:
        return None
    body = _exactly(fd, int.from_bytes(head, "big"))
    return None if body is None else dict(json.loads(body))


def _exactly(fd: int, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        chunk = os.read(fd, min(count - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return data


def token(secret: str, when: str, number: int) -> str:
    """Return the message with which canary test `number` must fail."""
    return hashlib.sha256(f"{secret} {when} {number}".encode("ascii")).hexdigest()[:32]


def fails(secret: str, when: str, number: int) -> bool:
    """Return whether canary test `number` must fail: the first always does; for the others `secret` decides."""
    return number == 0 or int(token(secret, when, number), 16) % 2 == 0


class AgentChannel:
    """Sends messages to the client. Queued messages are lost if the process dies; `send` flushes them."""

    def __init__(self, fd: int, nonce: str) -> None:
        self._fd = fd
        self._nonce = nonce
        self._owner = os.getpid()
        self._waiting: list[bytes] = []
        self._sent = 0.0

    def take_over(self) -> None:
        """Make this process the only one that may write, and empty the queue; called after a fork."""
        self._owner = os.getpid()
        self._waiting = []

    def queue(self, kind: str, **fields: Any) -> None:
        """Queue a message until the next `send`; it is lost if the process dies before."""
        self._waiting.append(pack({"kind": kind, "nonce": self._nonce, **fields}))

    def send(self, kind: str, **fields: Any) -> None:
        """Send the queued messages and this one. Raises OSError if a test has closed the channel."""
        self.queue(kind, **fields)
        self._flush()

    def flush_if_due(self) -> None:
        """Send the queued messages if messages were last sent more than PAUSE seconds ago."""
        if self._waiting and time.monotonic() - self._sent > PAUSE:
            self._flush()

    def _flush(self) -> None:
        data, self._waiting = b"".join(self._waiting), []
        if os.getpid() != self._owner:
            return
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        self._sent = time.monotonic()
