"""One worker of a pool: its server processes in a view of their own, its current task, and its time limits."""

from __future__ import annotations

import base64
import contextlib
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
from coderefine.runner.client_channel import Channel, Message, activated, argv
from coderefine.runner.cold import ARGS
from coderefine.sandbox import Bounds

START = 60.0
"""Seconds a server may take to load or to collect the project."""
ANSWER = 30.0
"""Wall seconds after a child's time limit; if its server has not answered by then, the server counts as crashed."""
PATIENCE = 12.0
"""Factor from a child's limit of CPU time to its limit of wall time, as in agent/child.py."""
OFTEN = 0.5
"""Maximum seconds between two calls of the function that is called while an answer is awaited."""
LIVES = 5
"""Number of times that a worker's servers are restarted from scratch."""


class Stage(Enum):
    """Stage of judging a candidate (see candidates.Plan): which tests run.

    FIRST: those of the first stage. REACH: of the other tests, those that reach the edit. ALL: those of both stages
    together, as the warm server runs them.
    """

    FIRST = "first"
    REACH = "reach"
    ALL = "all"


@dataclass(slots=True)
class CandidateRun:
    """A candidate that is being judged, and its current run.

    `asked`: ids of the tests to run. `limit`: maximum CPU seconds of the child; `factor`: by how much `limit` is raised
    (1: not raised). `sent`: time (monotonic) at which the run began. For the other fields, see Judged.
    """

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
        """Return whether so much time has passed that the server must have killed even a hanging child."""
        return time.monotonic() - self.sent > self.limit * PATIENCE + ANSWER


class Worker:
    """Starts its servers with `start`, and restarts them if they crash."""

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
        """Start the processes without waiting until they are ready."""
        self._server = self._stack.enter_context(self._start(self.bounds))
        self._preloaded = False

    def ready(self, within: float = START) -> Message:
        """Wait until both servers are ready; return the hot server's message after collection.

        Raises RunnerError if a server ends, or is not ready within `within` seconds, or if candidates cannot be judged.
        """
        self.server.warm.wait(within)
        message = self.server.hot.wait(within)
        if message["foreign"]:
            raise RunnerError(f"candidates cannot be judged here: {message['foreign']}")
        return message

    @property
    def server(self) -> WorkerProcess:
        assert self._server is not None, "launch first"
        return self._server

    def learn(self, reach: Message) -> None:
        """Send the hot server the functions that each test reaches, now and after every restart."""
        self._reach = reach
        self.server.hot.send({"kind": "learn", **reach})

    def preload(self, modules: Mapping[str, object]) -> None:
        """Make the warm server import the third-party modules that the project uses, once."""
        if not self._preloaded:
            self._preloaded = True
            self.server.warm.send({"kind": "preload", **modules})
            self.server.warm.wait(START)

    def send(self, task: CandidateRun, line: Connection, message: Mapping[str, object]) -> None:
        """Send `message` for `task` to a server. Raises RunnerError if the server has ended."""
        self.task, self.line = task, line
        task.sent = time.monotonic()
        line.send(message)

    @property
    def down(self) -> bool:
        return self._server is None

    def died(self) -> None:
        """Close the servers after a crash; the next task restarts them. Raises RunnerError after too many crashes."""
        self._lives -= 1
        self.close()
        if self._lives < 0:
            raise RunnerError('the test servers keep dying; set `sandbox = "off"` or `search = false` and report it')

    def restart(self, within: float = START) -> None:
        """Restart the servers in a fresh view. Raises RunnerError as `ready` does."""
        self.close()
        self.launch()
        self.ready(within)
        # The new server needs the data that the old one had received.
        self._preloaded = False
        if self._reach is not None:
            self.learn(self._reach)

    def close(self) -> None:
        self.task = None
        self._stack.close()
        self._server = None


# -- the processes of a worker ----------------------------------------------------------------------------


class Connection:
    """One socket connection to a server."""

    def __init__(self, name: str, channel: Channel) -> None:
        self.name = name
        self._channel = channel
        self._received: deque[Message] = deque()

    def fileno(self) -> int:
        return self._channel.fileno()

    def send(self, message: Mapping[str, object]) -> None:
        """Send `message`. Raises RunnerError if the server has ended."""
        if not self._channel.send(**message):
            raise RunnerError(f"the {self.name} test server is gone")

    def receive(self, seconds: float) -> list[Message]:
        """Return new messages; wait up to `seconds` for data. Raises RunnerError if the server or its pytest ended."""
        received = self._channel.receive(seconds)
        if received is None:
            raise RunnerError(f"the {self.name} test server ended")
        for message in received:
            if message["kind"] == "failed":
                fault = message["fault"] or f"exit {message['code']}"
                raise RunnerError(f"pytest ended in the {self.name} test server: {fault}")
        return received

    def wait(self, seconds: float, meanwhile: Callable[[float], None] = lambda _: None) -> Message:
        """Return the next message. Raises RunnerError if none arrives within `seconds`, or as `receive` does.

        `meanwhile`: called again and again with the seconds that have passed.
        """
        deadline = time.monotonic() + seconds
        while not self._received:
            left = deadline - time.monotonic()
            if left <= 0:
                late = f"did not answer within {seconds:.0f} s" if seconds >= 1 else "had no time left to answer"
                raise RunnerError(f"the {self.name} test server {late}")
            meanwhile(seconds - left)
            self._received.extend(self.receive(min(left, OFTEN)))
        return self._received.popleft()


class WorkerProcess:
    """The processes of a worker. `hot`, `warm`: connections to the servers; each server's first message is "ready"."""

    def __init__(self, process: sandbox.Confined, warm: Connection, hot: Connection) -> None:
        self._process = process
        self.warm = warm
        self.hot = hot

    @property
    def confined(self) -> tuple[str, ...]:
        """Return the names of the confining mechanisms. Raises SandboxError if a strict sandbox is impossible."""
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
    files: Sequence[str] | None,
    imports: Sequence[str],
    strict: bool,
) -> Iterator[WorkerProcess]:
    """Start a worker in `view`. `cwd` (repo-relative): where pytest runs; `extra`: additional options of pytest.

    `origin`: root of the user's tree. `files`: the test files to collect, as pytest names them (None: all).
    `imports`: see `open_pool`.
    """
    with Channel() as warm, Channel() as hot, contextlib.ExitStack() as stack:
        process = stack.enter_context(
            sandbox.start(
                view,
                argv(python, "servers", warm.child_end),
                bounds,
                strict=strict,
                cwd=cwd,
                env=OWN | activated(python),
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
            "imports": list(imports),
            "hot": hot.child_end,
            "hot_nonce": hot.nonce,
        }
        server = WorkerProcess(process, Connection("warm", warm), Connection("hot", hot))
        server.warm.send(job)
        warm.close_child_end()
        hot.close_child_end()
        yield server


OWN = {"PYTHONHASHSEED": "0"}
"""A fixed hash seed, so that all servers iterate over sets in the same order."""


def encoded(files: Mapping[str, bytes | None]) -> dict[str, str | None]:
    """Encode the contents of files in base64 for a channel message."""
    return {path: None if data is None else base64.b64encode(data).decode("ascii") for path, data in files.items()}
