"""One worker of a pool: its processes in a view of their own, what it is doing, and how long that may take."""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from coderefine import sandbox
from coderefine.core import Status, View
from coderefine.errors import RunnerError
from coderefine.runner.candidates import Candidate
from coderefine.runner.client_channel import Channel, Message, argv
from coderefine.runner.cold import ARGS
from coderefine.sandbox import Bounds

START = 60.0
"""Seconds a server may take to load or to collect the project."""
ANSWER = 30.0
"""Wall seconds beyond a child's longest time after which its server counts as dead."""
PATIENCE = 12.0
"""See agent/child.py: a child's wall limit is its CPU limit times this."""
LIVES = 5
"""Times a worker's servers are started anew from scratch."""


class Stage(Enum):
    """How far a candidate is; see candidates.Plan."""

    FIRST = "first"
    REACH = "reach"
    ALL = "all"


@dataclass(slots=True)
class CandidateRun:
    """A candidate on its way. `factor` stretches its time limit; `limit` is CPU seconds of the running child."""

    candidate: Candidate
    stage: Stage
    asked: tuple[str, ...]
    slow: str = ""
    factor: float = 1.0
    limit: float = 0.0
    cpu: float = 0.0
    seconds: float = 0.0
    statuses: dict[str, Status] = field(default_factory=dict)
    sent: float = 0.0

    @property
    def late(self) -> bool:
        """Whether even a hanging child would have been ended by now."""
        return time.monotonic() - self.sent > self.limit * PATIENCE + ANSWER


class Worker:
    """Opens its servers with `start` and opens them again when they die as a whole."""

    def __init__(self, start: Callable[[Bounds | None], AbstractContextManager[WorkerProcess]]) -> None:
        self._start = start
        self.bounds: Bounds | None = Bounds()
        self._stack = contextlib.ExitStack()
        self._lives = LIVES
        self._server: WorkerProcess | None = None
        self._preloaded = False
        self._reach: Message | None = None
        self.task: CandidateRun | None = None
        self.line: Connection | None = None

    def launch(self) -> None:
        """Start the processes; they get ready while we do something else."""
        self._server = self._stack.enter_context(self._start(self.bounds))
        self._preloaded = False

    def ready(self, within: float = START) -> Message:
        """Return what the hot server reports once it has collected. Raises RunnerError after `within` seconds."""
        self.server.warm.wait(within)
        message = self.server.hot.wait(within)
        if message["kind"] != "ready":
            fault = str(message.get("fault") or f"exit {message.get('code')}")
            raise RunnerError(f"pytest ended before it could run a test: {fault}")
        if message["foreign"]:
            raise RunnerError(f"candidates cannot be judged here: {message['foreign']}")
        return message

    @property
    def server(self) -> WorkerProcess:
        assert self._server is not None, "launch first"
        return self._server

    def learn(self, reach: Message) -> None:
        """Send the hot server which test reaches which function; again whenever it is started anew."""
        self._reach = reach
        self.server.hot.send({"kind": "learn", **reach})

    def preload(self, modules: Mapping[str, object]) -> None:
        """Have the warm server import the third-party modules the project uses, once."""
        if not self._preloaded:
            self._preloaded = True
            self.server.warm.send({"kind": "preload", **modules})
            self.server.warm.wait(START)

    def send(self, task: CandidateRun, line: Connection, message: Mapping[str, object]) -> None:
        """Raises RunnerError when the server is gone."""
        self.task, self.line = task, line
        task.sent = time.monotonic()
        line.send(message)

    def revive(self) -> None:
        """A server has been forked anew: it must learn again."""
        self._preloaded = False
        if self._reach is not None:
            self.learn(self._reach)

    @property
    def down(self) -> bool:
        return self._server is None

    def died(self) -> None:
        """Take the servers down; the next task starts them anew. Raises RunnerError when that happened too often."""
        self._lives -= 1
        self.close()
        if self._lives < 0:
            raise RunnerError('the test servers keep dying; set `sandbox = "off"` or `search = false` and report it')

    def restart(self) -> None:
        """Start all over, in a fresh view."""
        self.close()
        self.launch()
        self.ready()
        self.revive()

    def close(self) -> None:
        self.task = None
        self._stack.close()
        self._server = None


# -- the processes of a worker ----------------------------------------------------------------------------


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


class WorkerProcess:
    """A worker's processes. `hot` and `warm` are its lines; both send `ready` first."""

    def __init__(self, process: sandbox.Confined, warm: Connection, hot: Connection) -> None:
        self._process = process
        self.warm = warm
        self.hot = hot

    @property
    def confined(self) -> tuple[str, ...]:
        """What confines it. Raises SandboxError where it had to be confined and could not."""
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
) -> Iterator[WorkerProcess]:
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
        server = WorkerProcess(process, Connection("warm", warm), Connection("hot", hot))
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
