"""Our end of one worker: a process tree in the view, a socket to its hot and one to its warm server."""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from coderefine import sandbox
from coderefine.core import View
from coderefine.errors import RunnerError
from coderefine.runner.client_channel import Channel, Message, argv
from coderefine.runner.cold import ARGS
from coderefine.sandbox import Bounds


class Connection:
    """One socket to a server."""

    def __init__(self, name: str, channel: Channel) -> None:
        self.name = name
        self._channel = channel
        self._received: deque[Message] = deque()

    def fileno(self) -> int:
        return self._channel.fileno()

    def send(self, message: Mapping[str, object]) -> None:
        """Raises RunnerError when the server is gone."""
        if not self._channel.send(**message):
            raise RunnerError(f"the {self.name} test server is gone")

    def receive(self, seconds: float) -> list[Message]:
        """What came within `seconds`. Raises RunnerError when the server is gone."""
        received = self._channel.receive(seconds)
        if received is None:
            raise RunnerError(f"the {self.name} test server ended")
        return received

    def wait(self, seconds: float) -> Message:
        """The next frame, within `seconds`. Raises RunnerError."""
        deadline = time.monotonic() + seconds
        while not self._received:
            left = deadline - time.monotonic()
            if left <= 0:
                raise RunnerError(f"the {self.name} test server did not answer within {seconds:.0f} s")
            self._received.extend(self.receive(left))
        return self._received.popleft()


class Server:
    """A worker's processes. `hot` and `warm` are its lines; both say `ready` first."""

    def __init__(self, process: sandbox.Confined, warm: Connection, hot: Connection) -> None:
        self._process = process
        self.warm = warm
        self.hot = hot

    @property
    def confined(self) -> tuple[str, ...]:
        """What confines it, in words. Raises SandboxError where it had to be confined and could not."""
        return self._process.report().words


@contextlib.contextmanager
def open_server(
    view: View,
    python: Path,
    *,
    cwd: str,
    origin: Path,
    extra: Sequence[str],
    bounds: Bounds | None,
    files: Sequence[str] | None = None,
    strict: bool = False,
) -> Iterator[Server]:
    """Start a worker in `view`; `cwd` (repo-relative) is where pytest runs, `extra` are its options.

    `origin` is the user's tree.

    `files`: the test files it collects, as pytest names them (None: all).
    """
    with Channel() as warm, Channel() as hot, contextlib.ExitStack() as stack:
        process = stack.enter_context(
            sandbox.start(
                view,
                argv(python, "servers", warm.child_end),
                bounds,
                strict=strict,
                cwd=cwd,
                env=OWN,
                pass_fds=(warm.child_end, hot.child_end),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        job = {
            "top": str(view.top),
            "root": str(view.top / cwd),
            "origin": str(origin),
            "args": ARGS,
            "extra": extra,
            "files": files,
            "hot": hot.child_end,
            "hot_nonce": hot.nonce,
        }
        server = Server(process, Connection("warm", warm), Connection("hot", hot))
        server.warm.send(job)
        warm.close_child_end()
        hot.close_child_end()
        yield server


OWN = {"PYTHONHASHSEED": "0"}
"""All servers order their sets alike."""


def encoded(files: Mapping[str, bytes | None]) -> dict[str, str | None]:
    """Files as the channel wants them."""
    return {path: None if data is None else base64.b64encode(data).decode("ascii") for path, data in files.items()}


def usual_workers() -> int:
    return max(1, os.cpu_count() or 1)
