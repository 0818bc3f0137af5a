"""The agent's end of the channel: length-prefixed JSON frames over an inherited socket, each with the run's nonce.

A frame is a 4-byte big-endian length and that many bytes of ASCII JSON. Only the process that opened the channel may
write to it: a child that a test forks inherits the socket but not the right to use it.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, List, Optional

HEADER = 4
LIMIT = 64_000_000
"""Bytes of the longest frame either side accepts."""

PAUSE = 0.05
"""Seconds a result may wait for the next one: a system call per test, and the reader it wakes, cost too much."""

Message = Dict[str, Any]
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def pack(message: Message) -> bytes:
    """`message` as one frame."""
    body = _encode(message).encode("ascii")
    return len(body).to_bytes(HEADER, "big") + body


def read(fd: int) -> Optional[Message]:
    """The next frame from `fd`, blocking; None once the other side has gone."""
    head = _exactly(fd, HEADER)
    if head is None:
        return None
    body = _exactly(fd, int.from_bytes(head, "big"))
    return None if body is None else dict(json.loads(body))


def _exactly(fd: int, count: int) -> Optional[bytes]:
    data = b""
    while len(data) < count:
        chunk = os.read(fd, min(count - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return data


class Channel:
    """Sends messages to the client. What is queued may be lost with the process; `send` flushes it."""

    def __init__(self, fd: int, nonce: str) -> None:
        self._fd = fd
        self._nonce = nonce
        self._owner = os.getpid()
        self._waiting: List[bytes] = []
        self._sent = 0.0

    def take_over(self) -> None:
        """Make this process, a fork of ours, the one that may write; nothing is queued yet."""
        self._owner = os.getpid()
        self._waiting = []

    def queue(self, kind: str, **fields: Any) -> None:
        """Keep a message until something is sent; it is lost when the process dies before."""
        self._waiting.append(pack({"kind": kind, "nonce": self._nonce, **fields}))

    def send(self, kind: str, **fields: Any) -> None:
        """Send what was queued and this message. Raises OSError when a test has closed the channel."""
        self.queue(kind, **fields)
        self._flush()

    def flush_if_due(self) -> None:
        """Send what was queued if the last time is long enough ago."""
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
