"""One worker of a pool: its servers, what it is doing, and how long that may take."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum

from coderefine.core import Status
from coderefine.errors import RunnerError
from coderefine.runner.candidates import Candidate
from coderefine.runner.client_channel import Message
from coderefine.runner.server import Connection, Server
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
class Task:
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

    def __init__(self, start: Callable[[Bounds | None], AbstractContextManager[Server]]) -> None:
        self._start = start
        self.bounds: Bounds | None = Bounds()
        self._stack = contextlib.ExitStack()
        self._lives = LIVES
        self._server: Server | None = None
        self._preloaded = False
        self._reach: Message | None = None
        self.task: Task | None = None
        self.line: Connection | None = None

    def launch(self) -> None:
        """Start the processes; they get ready while we do something else."""
        self._server = self._stack.enter_context(self._start(self.bounds))
        self._preloaded = False

    def ready(self, within: float = START) -> Message:
        """What the hot server says once it has collected. Raises RunnerError when it could not in `within` seconds."""
        self.server.warm.wait(within)
        message = self.server.hot.wait(within)
        if message["kind"] != "ready":
            fault = str(message.get("fault") or f"exit {message.get('code')}")
            raise RunnerError(f"pytest ended before it could run a test: {fault}")
        if message["foreign"]:
            raise RunnerError(f"candidates cannot be judged here: {message['foreign']}")
        return message

    @property
    def server(self) -> Server:
        assert self._server is not None, "launch first"
        return self._server

    def learn(self, reach: Message) -> None:
        """Tell the hot server which test reaches which function; again whenever it is started anew."""
        self._reach = reach
        self.server.hot.send({"kind": "learn", **reach})

    def preload(self, modules: Mapping[str, object]) -> None:
        """Have the warm server import the third-party modules the project uses, once."""
        if not self._preloaded:
            self._preloaded = True
            self.server.warm.send({"kind": "preload", **modules})
            self.server.warm.wait(START)

    def send(self, task: Task, line: Connection, message: Mapping[str, object]) -> None:
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
