"""The client's end of the channel to the agent: the agent's command line, and the frames of the protocol."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coderefine import proc
from coderefine.errors import RunnerError
from coderefine.runner.agent.agent_channel import HEADER, pack

Message = Mapping[str, Any]

AGENT = Path(__file__).with_name("agent")
LIMIT = 64_000_000
"""Maximum size in bytes of a frame."""
PATIENCE = 30.0
"""Seconds a started child may take to read its job."""

BOOT = """
import sys
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]
_, here, module, fd = sys.argv
package = type(sys)("_coderefine_agent")
package.__path__ = [here]
sys.modules[package.__name__] = package
__import__(package.__name__ + "." + module, fromlist=["main"]).main(int(fd))
"""
"""Program that imports our files as a package with a private name.

Neither our folder nor the current one is in `sys.path`.
"""


def argv(python: Path | str, module: str, fd: int) -> tuple[str, ...]:
    """Return the command line that runs `main(fd)` of `agent/MODULE.py` with the project's `python`."""
    return (str(python), "-c", BOOT, str(AGENT), module, str(fd))


def activated(python: Path | str) -> dict[str, str]:
    """Return the variable PATH as in an activated environment: tests start the programs in the folder of `python`.

    Return {} if the folder is in PATH already.
    """
    folder, *others = (path := proc.search_path(Path(python))).split(os.pathsep)
    return {} if folder in others else {"PATH": path}


class Channel:
    """A socket pair; pass the descriptor `child_end` to the child (pass_fds). Use as a context manager.

    Every frame must contain `nonce`, which is in the first frame sent to the child: a test that guesses the
    descriptor cannot forge results.
    """

    def __init__(self) -> None:
        self.nonce = os.urandom(16).hex()
        self._ours, self._child_end = socket.socketpair()
        self._ours.settimeout(PATIENCE)
        self._buffer = bytearray()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._child_end.close()

    @property
    def child_end(self) -> int:
        return self._child_end.fileno()

    def fileno(self) -> int:
        return self._ours.fileno()

    def close_child_end(self) -> None:
        """Close our copy of the child's descriptor, so that the channel closes when the child ends."""
        self._child_end.close()

    def send(self, **message: object) -> bool:
        """Send a frame with the nonce; return False if the other end is closed."""
        try:
            self._ours.sendall(pack({**message, "nonce": self.nonce}))
        except OSError:
            return False
        return True

    def receive(self, seconds: float) -> list[Message] | None:
        """Return the frames that arrive, waiting up to `seconds` for the first; None if the child has ended.

        Raises RunnerError for data that is no frame of this run.
        """
        ready, _, _ = select.select([self._ours], [], [], max(0.0, seconds))
        if not ready:
            return []
        try:
            chunk = self._ours.recv(1 << 18)
        except ConnectionError:
            chunk = b""
        if not chunk:
            return None
        self._buffer += chunk
        return self._frames()

    def _frames(self) -> list[Message]:
        found: list[Message] = []
        start = 0
        while len(self._buffer) - start >= HEADER:
            body = start + HEADER
            end = body + int.from_bytes(self._buffer[start:body], "big")
            if end - body > LIMIT:
                raise RunnerError("the test process broke the channel: something else wrote to it")
            if len(self._buffer) < end:
                break
            found.append(self._parsed(bytes(self._buffer[body:end])))
            start = end
        del self._buffer[:start]
        return found

    def _parsed(self, body: bytes) -> Message:
        try:
            message = json.loads(body)
        except ValueError as error:
            raise RunnerError(f"the test process broke the channel: {error}") from error
        if not isinstance(message, dict) or message.get("nonce") != self.nonce:
            raise RunnerError("the test process sent a frame that is not its own: forged results are refused")
        return message
