"""One process that runs tests: watch it until it ends, hangs or dies, and find out which code it was running."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import proc, sandbox
from coderefine.core import Frame, View
from coderefine.runner.client_channel import Channel, activated, argv
from coderefine.runner.run_results import RunResults
from coderefine.sandbox import Bounds

MARGIN = 16
"""Size in bytes of the header of the shared status file (see _Board); the stack dump follows it."""
LAST = 4
"""Offset in the status file of the byte that makes the process end after the running test."""
SLOWER = 20.0
"""Factor of the slowest test's time; see ProcessLimits.computing."""
TICK = 0.2
"""Seconds between two checks whether the process is still alive."""
LAST_WORDS = 5.0
"""Seconds that a process may take to exit after its last report."""
DUMP = 2.0
"""Seconds the process may take to dump its stacks; a busy machine needs more than an idle one."""
ASK = signal.SIGRTMAX - 2 if hasattr(signal, "SIGRTMAX") else signal.SIGUSR2
"""Signal that makes the process dump its stacks; a real-time signal, since projects rarely have a handler for one."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. `hung`: the exceeded limit ("": none; see ProcessRun.watch). `dump`: its stacks."""

    returncode: int
    hung: str
    dump: str
    stdout: str
    stderr: str

    @property
    def how(self) -> str:
        """Describe the exit of a process that did not report its own end."""
        if self.returncode < 0:
            name = signal.Signals(-self.returncode).name
            return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        return f"exit code {self.returncode}"


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of a test process.

    `test`, `module`: wall seconds for one test and for importing one module. `deadline`: when the whole check must end
    (`time.monotonic`). `computing`: CPU seconds for one test, raised to `SLOWER` times the duration of the slowest test
    so far if that is longer (None: no limit). `glance`: CPU seconds of a test after which its stacks are compared with
    those of another test that hangs (`repeats` of ProcessRun.watch).
    """

    test: float
    module: float
    deadline: float
    computing: float | None = None
    glance: float | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Where and how a process is started; the fields are parameters of sandbox.start."""

    view: View
    python: str
    bounds: Bounds | None
    strict: bool = False


class ProcessRun:
    """A process that runs the tests of `job`; a context manager, which kills it at the end of the block.

    Its messages are added to `results`; then `listen` is called. Raises SandboxError if the process must be confined,
    but this is not possible.
    """

    def __init__(
        self, start: Start, job: Mapping[str, object], results: RunResults, listen: Callable[[], None]
    ) -> None:
        self.start = start
        self.results = results
        self._job = job
        self._listen = listen
        self._clock = _Clock()
        self._glanced = -1
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> ProcessRun:
        self.results.begin_process()
        with self._stack as stack:
            self._channel = stack.enter_context(Channel())
            self._board = stack.enter_context(_Board())
            self._confined = stack.enter_context(_started(self.start, self._job, self._channel, self._board))
            child = self._child = self._confined.child
            self._readers = [proc.Reader(stream, proc.KEEP) for stream in (child.stdout, child.stderr) if stream]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def watch(self, limits: ProcessLimits, *, until: str = "", repeats: Callable[[str], bool] | None = None) -> str:
        """Process the reports until the process ends, test `until` has a result, or a limit is exceeded.

        Return the exceeded limit: "check" (the deadline), "test" (wall time of a test), "computing" (CPU time of a
        test), "repeated" (`repeats` returned True for the stacks), or "" for none.
        """
        while True:
            if not self._take_in() or self.results.code is not None or until in self.results.cases:
                return ""
            if late := self._late(limits):
                return late
            if repeats and self._repeated(limits, repeats):
                return "repeated"

    def _take_in(self) -> bool:
        """Wait up to TICK for reports and process them; return False if the process has ended and no report is left."""
        gone = self._child.poll() is not None
        messages = self._channel.receive(0.0 if gone else TICK)
        for message in messages or ():
            self.results.add(message)
        before = self.results.number
        self.results.note_running(self._board.number)
        if messages or self.results.number != before:
            self._listen()
        return bool(messages) or (messages is not None and not gone)

    def _repeated(self, limits: ProcessLimits, repeats: Callable[[str], bool]) -> bool:
        """Return whether `repeats` returns True for the stacks of the running test.

        It is called once for each test, when the test has used `limits.glance` CPU seconds.
        """
        if self._glanced == self.results.number or not self._computed_over(limits.glance):
            return False
        self._glanced = self.results.number
        return repeats(self.stacks())

    def _late(self, limits: ProcessLimits) -> str:
        now = time.monotonic()
        if now > limits.deadline:
            return "check"
        if now - self.results.since > (limits.test if self.results.running else limits.module):
            return "test"
        return "computing" if self._computed_over(limits.computing) else ""

    def _computed_over(self, seconds: float | None) -> bool:
        """Return whether the running test's CPU time exceeds `seconds` and SLOWER times the slowest test's duration."""
        if seconds is None or not self.results.running:
            return False
        return self._clock.computed(self._child.pid, self.results) > max(seconds, SLOWER * self.results.slowest)

    def stacks(self) -> str:
        """Make the process dump its stacks, and return them ("" if it does not within DUMP); the process continues.

        The signal is sent from inside the view, because `results.pid` is valid in the PID namespace of the process.
        """
        before = len(self._board.dump)
        view = self.start.view
        view.run(("sh", "-c", f"kill -{int(ASK)} {self.results.pid}"), timeout=5.0)
        end, seen = time.monotonic() + DUMP, ""
        while time.monotonic() < end and not (seen and seen == self._board.dump[before:]):  # until it is complete
            seen = self._board.dump[before:]
            time.sleep(0.03)
        return seen

    def end_after_running_test(self, results: RunResults) -> None:
        """Let the process end after the running test; record its further reports in `results`."""
        self.results, self._listen = results, lambda: None
        self._board.end_after_this()

    def kill(self) -> None:
        """Kill the process; may be called by another thread than the one that watches it."""
        proc.kill(self._child)

    def end(self, hung: str) -> Ended:
        """End the process; `hung` is what `watch` returned."""
        dump = self.stacks() if hung and self.results.pid else ""
        if not hung:
            proc.ends(self._child, LAST_WORDS)
        proc.kill(self._child)
        for reader in self._readers:
            reader.join(1.0)
        self.results.note_running(self._board.number)
        self.results.confined = self._confined.report().words
        out, err = (_text(reader.value) for reader in self._readers)
        return Ended(self._child.returncode, hung, dump or self._board.dump, out, err)


class _Board:
    """A status file shared with the process: number of the running test (4 bytes), the byte LAST, the stack dump."""

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

    def end_after_this(self) -> None:
        os.pwrite(self.fileno(), b"\1", LAST)

    @property
    def dump(self) -> str:
        return _text(os.pread(self.fileno(), 200_000, MARGIN))


@contextlib.contextmanager
def _started(start: Start, job: Mapping[str, object], channel: Channel, board: _Board) -> Iterator[sandbox.Confined]:
    seed = job["seed"]
    extra = activated(start.python) | ({} if seed is None else {"PYTHONHASHSEED": str(seed)})
    command = argv(start.python, "cold_process", channel.child_end)
    fds = (channel.child_end, board.fileno())
    with sandbox.start(
        start.view, command, start.bounds, strict=start.strict, cwd=str(job["cwd"]), env=extra, pass_fds=fds
    ) as confined:
        channel.close_child_end()
        channel.send(**{**job, "board": board.fileno(), "signal": int(ASK)})
        yield confined


@dataclass(slots=True)
class _Clock:
    """Measures the CPU time of the running test, with an error of up to TICK. On systems other than Linux, it is 0."""

    _pid: int = 0
    _number: int = -1
    _start: float = 0.0

    def computed(self, root: int, results: RunResults) -> float:
        """Return the CPU seconds that the test process, a descendant of `root`, used since the current test began."""
        if not self._pid:
            self._pid = proc.inner(root, results.pid)
        now = proc.cpu_seconds(self._pid)
        if results.number != self._number:
            self._number, self._start = results.number, now
        return now - self._start


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# -- stacks: faulthandler's dump, read back into frames ---------------------------------------------------


_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
KEPT = 8
"""Maximum number of the project's frames that are shown: the innermost ones."""


def frames_of(dump: str, top: Path) -> tuple[Frame, ...]:
    """Return up to KEPT of the project's frames, outermost first, from the thread that has most of them.

    `top`: root of the repository as the process saw it.
    """
    threads = [tuple(_ours(part, top)) for part in _THREAD.split(dump)[1:]]
    best = max(threads, key=len, default=())
    return tuple(reversed(best[:KEPT]))


def _ours(part: str, top: Path) -> Iterator[Frame]:
    for match in _FRAME.finditer(part):
        path = Path(match["path"])
        if path.is_relative_to(top) and "site-packages" not in path.parts:
            yield Frame(path.relative_to(top).as_posix(), int(match["line"]), match["name"])
