"""One process that runs tests, watched until it ends, hangs, or dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine import proc, sandbox
from coderefine.core import View
from coderefine.runner.tally import Tally
from coderefine.runner.wire import Message, Wire, argv
from coderefine.sandbox import Bounds

MARGIN = 16
"""Bytes of the board before the stacks."""
SLOWER = 20.0
"""See Limits.computing."""
TICK = 0.2
"""Seconds between two looks at whether the process still lives."""
LAST_WORDS = 5.0
"""Seconds a process may take to exit once it has said how it ended."""
DUMP = 2.0
"""Seconds it may take to write its stacks; a busy machine needs more than an idle one."""
ASK = signal.SIGRTMAX - 2 if hasattr(signal, "SIGRTMAX") else signal.SIGUSR2
"""Asks the process where it is; a real-time signal, so that no project has a handler for it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a sitting ended. `hung` says which limit ran out: "", "test" or "check". `dump` is faulthandler's."""

    returncode: int
    hung: str
    dump: str
    stdout: str
    stderr: str

    @property
    def how(self) -> str:
        """How a process ended that did not say so itself."""
        if self.returncode < 0:
            name = signal.Signals(-self.returncode).name
            return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        return f"exit code {self.returncode}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Wall seconds: of one test, of importing one module, and the instant (monotonic) at which all is over.

    `computing`: CPU seconds of one test (None: no limit), or `SLOWER` times what the slowest before it took.
    """

    test: float
    module: float
    deadline: float
    computing: float | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Where and how a process starts: see sandbox.start."""

    view: View
    python: str
    bounds: Bounds | None
    strict: bool = False


def sit(start: Start, job: Mapping[str, object], tally: Tally, limits: Limits, heard: Callable[[], None]) -> Ended:
    """Run `job` in a fresh process of `start`; everything it says goes into `tally`, then `heard` is called.

    Raises SandboxError where it could not be confined and had to be.
    """
    tally.fresh()
    with Wire() as wire, _Board() as board, _started(start, job, wire, board) as confined:
        child = confined.child
        out, err = (proc.Reader(stream, proc.KEEP) for stream in (child.stdout, child.stderr) if stream)
        watch = _Watch(child, wire, board, tally, limits, heard)
        hung = watch.listen()
        if hung and tally.pid:
            _ask_where(start.view, tally.pid, board)
        elif not hung:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LAST_WORDS)
        proc.kill(child)
        for reader in (out, err):
            reader.join(1.0)
        tally.look(board.number)
        tally.confined = confined.report().words
        return Ended(child.returncode, hung, board.dump, _text(out.value), _text(err.value))


class _Board:
    """A file we share with the process: the number of the running test (4 bytes), then room for its stacks."""

    def __enter__(self) -> _Board:
        self._file = tempfile.TemporaryFile()
        self._file.write(bytes(MARGIN))
        self._file.flush()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()

    @property
    def number(self) -> int:
        return int.from_bytes(os.pread(self.fileno(), 4, 0), "big")

    @property
    def dump(self) -> str:
        return _text(os.pread(self.fileno(), 200_000, MARGIN))


@contextlib.contextmanager
def _started(start: Start, job: Mapping[str, object], wire: Wire, board: _Board) -> Iterator[sandbox.Confined]:
    seed = job["seed"]
    extra = {} if seed is None else {"PYTHONHASHSEED": str(seed)}
    command = argv(start.python, "cold", wire.theirs)
    fds = (wire.theirs, board.fileno())
    with sandbox.start(
        start.view, command, start.bounds, strict=start.strict, cwd=str(job["cwd"]), env=extra, pass_fds=fds
    ) as confined:
        wire.handed_over()
        wire.tell(**{**job, "board": board.fileno(), "signal": int(ASK)})
        yield confined


@dataclass(slots=True)
class _Clock:
    """How long the running test has computed; known to a TICK. Only on Linux, elsewhere it stands still."""

    _pid: int = 0
    _number: int = -1
    _start: float = 0.0

    def computed(self, root: int, tally: Tally) -> float:
        """CPU seconds of the process that runs the tests, below `root`, since the current test began."""
        if not self._pid:
            self._pid = proc.inner(root, tally.pid)
        now = proc.cpu_seconds(self._pid)
        if tally.number != self._number:
            self._number, self._start = tally.number, now
        return now - self._start


@dataclass(frozen=True, slots=True)
class _Watch:
    """One process, its wire and its board, and how long it may take."""

    child: subprocess.Popen[bytes]
    wire: Wire
    board: _Board
    tally: Tally
    limits: Limits
    heard: Callable[[], None]
    clock: _Clock = field(default_factory=_Clock)

    def listen(self) -> str:
        """Hear the process out; the limit that ran out, or "" when it ended by itself."""
        while True:
            gone = self.child.poll() is not None
            messages = self.wire.hear(0.0 if gone else TICK)
            self._note(messages or ())
            if messages is None or self.tally.code is not None or (gone and not messages):
                return ""
            late = self._late()
            if late:
                return late

    def _note(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self.tally.hear(message)
        self.tally.look(self.board.number)
        if messages:
            self.heard()

    def _late(self) -> str:
        now = time.monotonic()
        if now > self.limits.deadline:
            return "check"
        limit = self.limits.test if self.tally.running else self.limits.module
        if now - self.tally.since > limit:
            return "test"
        return "test" if self._loops() else ""

    def _loops(self) -> bool:
        """Whether the running test has computed for too long, where that is limited."""
        if self.limits.computing is None or not self.tally.running:
            return False
        longest = max(self.limits.computing, SLOWER * self.tally.slowest)
        return self.clock.computed(self.child.pid, self.tally) > longest


def _ask_where(view: View, pid: int, board: _Board) -> None:
    """Have the process write its stacks. Its own `pid` means something inside the view only, so we ask from there."""
    view.run(("sh", "-c", f"kill -{int(ASK)} {pid}"), timeout=5.0)
    until, seen = time.monotonic() + DUMP, ""
    while time.monotonic() < until and not (seen and seen == board.dump):  # written in many pieces: until it rests
        seen = board.dump
        time.sleep(0.03)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
