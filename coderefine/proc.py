"""Start processes: argv tuples, a timeout, process groups, a clean environment.

Only the hook's fast path (quick/children.py), the runner's agent and libraries start processes in other ways.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from coderefine import sensitive
from coderefine.core.views import Finished
from coderefine.errors import ProcessError

KEEP = 2_000_000
"""Bytes that are kept of each output stream: one half from its head, and at least as many from its tail."""
_HIDDEN: set[str] = set()
GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
LONGEST = 2**31 - 1
"""Milliseconds that poll(2) can count: 24 days."""


class _Live:
    """The running child processes, so that an interrupted run can kill them from another thread."""

    def __init__(self) -> None:
        self.stopped = 0
        self._lock = threading.RLock()
        self._children: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def add(self, child: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        self._children.add(child)
        return child

    def running(self) -> list[subprocess.Popen[bytes]]:
        return [child for child in self._children if child.poll() is None]


_LIVE = _Live()


def processors() -> int:
    """Return how many processors this process may use: PYTHON_CPU_COUNT if it is set, else those of its affinity."""
    given = os.environ.get("PYTHON_CPU_COUNT", "")
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hide(name: str) -> None:
    """Remove the environment variable `name`, which contains a key, from the environment of all later children."""
    _HIDDEN.add(name)


def clean_env(
    extra: Mapping[str, str] | None = None,
    *,
    secrets: bool = False,
    base: Mapping[str, str] | None = None,
    passed: Sequence[str] = (),
) -> dict[str, str]:
    """Return our environment (or `base`) with `extra`, but without `GIT_*` variables, which a hook sets.

    Unless `secrets`, variables with secrets are left out, too. `passed`: names or globs of variables that are kept
    although they look like secrets; it has no effect on a variable that was given to `hide`.
    """
    source = os.environ if base is None else base
    held = frozenset() if secrets else withheld(source, passed)
    kept = {name: value for name, value in source.items() if not name.startswith("GIT_") and name not in held}
    return {**kept, **(extra or {})}


def search_path(python: Path) -> str:
    """Return PATH with the folder of `python` in front, so that the programs of its environment are found first."""
    return os.pathsep.join((str(python.parent), os.environ.get("PATH", os.defpath)))


def withheld(environ: Mapping[str, str], passed: Sequence[str] = ()) -> frozenset[str]:
    """Return the variables of `environ` that children do not get: (apparent) secrets, and addresses of agents."""
    alike = {name for name in sensitive.withheld(environ) if not any(fnmatchcase(name, glob) for glob in passed)}
    return frozenset(alike | (_HIDDEN & environ.keys()))


def start(
    argv: Sequence[str],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Iterable[int] = (),
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start `argv` in a new session, so that `kill` reaches its children. Raises ProcessError."""
    with _LIVE:
        if _LIVE.stopped:
            raise ProcessError(f"cannot start {argv[0]}: the run is being stopped")
        try:
            child = subprocess.Popen(
                tuple(argv),
                cwd=cwd,
                env=dict(env) if env is not None else clean_env(),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ProcessError(f"cannot start {argv[0]}: {error}") from error
        return _LIVE.add(child)


def run(
    argv: Sequence[str],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    stdin: bytes = b"",
    pass_fds: Iterable[int] = (),
    keep: int | None = KEEP,
) -> Finished:
    """Run `argv` to its end, or kill its process group after `timeout` seconds. Raises ProcessError.

    `keep`: about how many bytes of each output stream are kept; None keeps everything (for content, not for logs). When
    the process has ended, the rest of its process group is killed.
    """
    began = time.monotonic()
    child = start(argv, cwd=cwd, env=env, pass_fds=pass_fds, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL)
    with contextlib.ExitStack() as stack:
        stack.callback(reap, child)  # whatever ends the block, Ctrl-C included
        readers = [Reader(stream, keep) for stream in (child.stdout, child.stderr) if stream]
        feeder = _feed(child, stdin)
        timed_out = not ends(child, timeout)
        kill(child)
        for thread in (*readers, *feeder):
            thread.join(GRACE * 4)
    out, err = (reader.value for reader in readers)
    return Finished(tuple(argv), child.returncode, out, err, time.monotonic() - began, timed_out)


def is_stopped() -> bool:
    """Return whether the run is being stopped, for code that waits for something other than a process."""
    return bool(_LIVE.stopped)


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """Kill every running process, and let none start until the end of the block.

    Threads that wait for a process then end.
    """
    with _LIVE:
        _LIVE.stopped += 1
        running = _LIVE.running()
    for child in running:
        _signal(child.pid, signal.SIGKILL)
    try:
        yield
    finally:
        with _LIVE:
            _LIVE.stopped -= 1


def inner(root: int, number: int) -> int:
    """Return the PID of the process that has the PID `number` in its own namespace; 0 if there is none.

    Only `root` and its descendants are searched, and only on Linux.
    """
    for pid in (root, *_below(root)):
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
                if line.startswith("NSpid:") and int(line.split()[-1]) == number:
                    return pid
    return 0


def _below(root: int) -> Iterator[int]:
    """Yield all descendants of `root`."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{root}/task").iterdir():
            for child in (task / "children").read_text("utf-8").split():
                yield int(child)
                yield from _below(int(child))


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of process `pid` so far, without its children; 0 if unknown (Linux only)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the process group of `child`, including `child` itself; return once it is reaped."""
    _signal(child.pid, signal.SIGTERM if child.poll() is None else signal.SIGKILL)
    if child.poll() is None:
        ends(child, GRACE)
    _signal(child.pid, signal.SIGKILL)
    child.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def ends(child: subprocess.Popen[bytes], within: float) -> bool:
    """Wait until `child` ends, for at most `within` seconds, and return whether it did."""
    try:
        child.wait(0 if _slept(child, within) else within)
    except subprocess.TimeoutExpired:
        return False
    return True


def _slept(child: subprocess.Popen[bytes], timeout: float) -> bool:
    """Sleep until `child` ends or `timeout` expires; `Popen.wait` alone polls and wakes up to 50 ms late.

    Return False, at once, if there are no pidfds (Linux before 5.3, other systems).
    """
    if sys.platform != "linux":
        return False
    try:
        handle = os.pidfd_open(child.pid)
    except OSError:
        return False
    try:
        ready = select.poll()
        ready.register(handle, select.POLLIN)
        ready.poll(min(timeout * 1000, LONGEST))
    finally:
        os.close(handle)
    return True


def reap(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's group if it is still running, and close its output."""
    if child.returncode is None:
        kill(child)
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()


def _feed(child: subprocess.Popen[bytes], data: bytes) -> list[threading.Thread]:
    stream = child.stdin
    if not data or stream is None:
        return []

    def write() -> None:
        with contextlib.suppress(OSError), stream:
            stream.write(data)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return [thread]


class Reader(threading.Thread):
    """A thread that reads a pipe to its end, and keeps the head and the tail of a large output.

    `keep`: about how many bytes are kept, at most half as many again; None keeps everything.
    """

    def __init__(self, stream: IO[bytes], keep: int | None) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._limit = keep
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._stream.fileno(), 65536):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        if self._limit is None:
            self._head += chunk
            return
        half = self._limit // 2
        room = max(half - len(self._head), 0)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > self._limit:
            extra = len(self._tail) - half
            self._dropped += extra
            del self._tail[:extra]

    @property
    def value(self) -> bytes:
        gap = b"\n... %d bytes cut ...\n" % self._dropped if self._dropped else b""
        return bytes(self._head) + gap + bytes(self._tail)
