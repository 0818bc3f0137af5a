"""Fork a child with resource limits, wait for its result, and kill it with all processes that it started."""

from __future__ import annotations

import contextlib
import gc
import importlib
import mmap
import os
import re
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

SHORT, STEP = 0.001, 0.02
"""Minimum and maximum seconds between two checks of the CPU time of a child."""
PATIENCE = 12.0
"""Factor of the CPU limit that gives the limit of wall time, for a child on a busy processor."""
SILENT = 70
"""Exit code of a child that ended without a result."""
IDLE = 1.0
"""Minimum wall seconds without CPU use after which a child counts as hanging."""


MEMORY = 1 << 30
"""Bytes of address space that a child may use in addition to that of its server."""
FILE = 256 << 20
"""Maximum size in bytes of a file that a child writes."""
PROCESSES = 256
"""Number of processes that a child may add to those of its user."""


class TimeOverError(BaseException):
    """Ends the running test, because the time for watching tests is over."""


class ChildLimits(NamedTuple):
    """Limits of a child: `cpu` in seconds, and other resource limits by their number in the module `resource`."""

    cpu: float
    others: dict[int, int]


def usual_limits() -> ChildLimits:
    """Return the limits of children of this process; the CPU limit is 0, to be replaced for each child."""
    limits = {resource.RLIMIT_AS: _memory_limit(), resource.RLIMIT_FSIZE: FILE, resource.RLIMIT_NPROC: _process_limit()}
    known = {kind: value for kind, value in limits.items() if value is not None}
    return ChildLimits(0.0, {**known, resource.RLIMIT_CORE: 0})


class ChildEnd(NamedTuple):
    """How a child ended.

    `ok`: whether it sent its result, with the nonce; `extra`: the result. `cpu`, `wall`: seconds. `idle`: seconds in
    which it neither ran nor had to wait for a processor; 0 where this is unknown. `died`: why there is no result ("" if
    there is one). `hung`: whether it was killed because it took too long.
    """

    ok: bool
    extra: bytes
    cpu: float
    wall: float
    idle: float
    died: str
    hung: bool


class Board:
    """Shared memory into which a child writes results immediately, so that they survive a crash.

    The first 4 bytes contain the number of the running test plus one. Then follows one byte for each test: its status.
    """

    def __init__(self, size: int) -> None:
        self._map = mmap.mmap(-1, 4 + max(size, 1))
        self.size = size

    def clear(self) -> None:
        self._map.seek(0)
        self._map.write(b"\0" * (4 + self.size))

    def begin(self, number: int) -> None:
        self._map[0:4] = (number + 1).to_bytes(4, "big")

    def note(self, number: int, status: int) -> None:
        self._map[4 + number] = status

    @property
    def running(self) -> int:
        """Return the number of the test that started last; -1 before the first."""
        return int.from_bytes(self._map[0:4], "big") - 1

    @property
    def results(self) -> bytes:
        return self._map[4 : 4 + self.size]


Ceilings = list[tuple[int, tuple[int, int]]]
"""Resource limits: (kind, (soft, hard))."""
Tell = Callable[[bytes], None]
"""Sends a child's result and ends it."""


def fork(work: Callable[[Tell], None], limits: ChildLimits) -> ChildEnd:
    """Run `work(tell)` in a forked child under `limits`; data passed to `tell` is returned as `extra`."""
    nonce = os.urandom(16)
    receive, send = os.pipe()
    ceilings = _ceilings(limits)
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads in the parent
        pid = os.fork()
    if pid == 0:
        os.close(receive)
        _live(work, ceilings, send, nonce)
    os.close(send)
    try:
        data, hung = _listen(pid, receive, limits)
    finally:
        os.close(receive)
        wall = time.monotonic() - began
        queued = _queued(pid, wall)
        status, cpu = _reap(pid)
    ok = data.startswith(nonce) and not hung
    died = "" if ok else "took too long" if hung else _how_it_ended(status)
    idle = max(0.0, wall - queued - cpu)
    return ChildEnd(ok, data[len(nonce) + 8 :] if ok else b"", cpu, time.monotonic() - began, idle, died, hung)


def _live(work: Callable[[Tell], None], ceilings: Ceilings, send: int, nonce: bytes) -> None:
    """Run the child until it exits; never returns to the server's code, even after an exception."""
    owner = os.getpid()

    def tell(data: bytes) -> None:
        if os.getpid() == owner:
            view = memoryview(nonce + len(data).to_bytes(8, "big") + data)
            while view:
                view = view[os.write(send, view) :]
        os._exit(0)

    try:
        os.setsid()
        for kind, value in ceilings:
            resource.setrlimit(kind, value)
        work(tell)
    finally:
        os._exit(SILENT)


def _ceilings(limits: ChildLimits) -> Ceilings:
    """Return the resource limits to set in the child; computed before the fork, to avoid copying memory pages in it."""
    found: Ceilings = []
    for kind, value in {resource.RLIMIT_CPU: int(limits.cpu * 2) + 2, **limits.others}.items():
        hard = resource.getrlimit(kind)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        found.append((kind, (least, least)))
    return found


def no_bytecode() -> None:
    """Keep this process's children, and programs they start, from writing bytecode files."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _listen(pid: int, receive: int, limits: ChildLimits) -> tuple[bytes, bool]:
    """Read from the child until its data is complete, it ends, or its time is up; return (data, hung)."""
    data = b""
    clock = _ChildClock(pid, limits.cpu)
    waited = limits.cpu
    while True:
        ready, _, _ = select.select([receive], [], [], waited)
        if ready:
            chunk = os.read(receive, 1 << 16)
            data += chunk
            # 16 bytes of the nonce, 8 of the length, then as many bytes
            if not chunk or (len(data) >= 24 and len(data) >= 24 + int.from_bytes(data[16:24], "big")):
                return data, False
            continue
        if _dead(pid):
            return data, False
        if clock.over():
            return data, True
        waited = clock.next_look


class _ChildClock:
    """Decides when a child's time is up: too much CPU time, no CPU use for too long, or far too much wall time."""

    def __init__(self, pid: int, limit: float) -> None:
        self._pid = pid
        self._limit = limit
        self._began = self._moved = time.monotonic()
        self._cpu = 0.0

    @property
    def next_look(self) -> float:
        """Return the seconds until the next check: the CPU seconds left, but at least SHORT and at most STEP."""
        return min(STEP, max(SHORT, self._limit - self._cpu))

    def over(self) -> bool:
        now, cpu = time.monotonic(), _cpu(self._pid)
        if cpu > self._cpu:
            self._moved, self._cpu = now, cpu
        idle = cpu > 0.0 and now - self._moved > max(self._limit, IDLE)
        return cpu > self._limit or idle or now - self._began > max(self._limit * PATIENCE, IDLE)


def _dead(pid: int) -> bool:
    """Return whether the child has ended, without reaping it; a grandchild may keep the pipe open."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except (AttributeError, ChildProcessError):
        return False


def _cpu(pid: int) -> float:
    """Return the CPU seconds of process `pid`, by the clock of clock_getcpuclockid(3); 0 if there is no such clock."""
    if not sys.platform.startswith("linux"):
        return 0.0
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _queued(pid: int, unknown: float) -> float:
    """Return the seconds that process `pid` has waited for a processor (Linux only); `unknown` elsewhere."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as stream:
            return int(stream.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return unknown


def _reap(pid: int) -> tuple[int, float]:
    """Kill the child and all processes that it started; return (wait status, CPU seconds of child and descendants)."""
    _signal(os.killpg, pid, signal.SIGKILL)
    _signal(os.kill, pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    kill_orphans()
    return status, usage.ru_utime + usage.ru_stime


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        send(pid, number)


def kill_orphans() -> None:
    """Kill processes that the child started in other sessions.

    As the subreaper, this process is the parent of such orphans. /proc is searched only if there are any.
    """
    for _ in range(1000):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        family = _descendants(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in family:
                _signal(os.kill, pid, number)
        time.sleep(0.001)


def _descendants(root: int) -> list[int]:
    """Return all descendants of process `root`, from /proc."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    parents[int(name)] = int(stream.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                pass
    found: list[int] = []
    edge = {root}
    while edge:
        edge = {pid for pid, parent in parents.items() if parent in edge}
        found += edge
    return found


def _how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by signal {os.WTERMSIG(status)}"
    return f"ended by itself with exit {os.WEXITSTATUS(status)}"


def be_subreaper() -> None:
    """Adopt the orphaned descendants of this process, so that they can be found and killed.

    Works on Linux only. On other systems, only the session of a child is killed.
    """
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def settle() -> None:
    """Make forks cheap: exclude all existing objects from garbage collection, also in the children."""
    gc.collect()
    gc.freeze()


# -- limits -----------------------------------------------------------------------------------------------


def _memory_limit() -> int | None:
    """Return the limit of address space for a child: the size of this process plus MEMORY; None if unknown."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * resource.getpagesize() + MEMORY
    except (OSError, ValueError, IndexError):
        return None


def _process_limit() -> int | None:
    """Return the limit of processes: those of this user now plus PROCESSES; None for root, or if the number is unknown.

    The kernel counts processes per user and namespace.
    """
    uid = os.getuid()
    if uid == 0:
        return None
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
        return sum(_owner("/proc/" + name) == uid for name in names) + PROCESSES
    except OSError:
        return None


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1


# -- caches -----------------------------------------------------------------------------------------------


Pattern = list[Any]
"""A regular expression as [whether it is bytes, its text (bytes as latin-1), its flags]."""


def patterns() -> list[Pattern]:
    """Return the patterns in the cache of `re` in this process."""
    found: list[Pattern] = []
    for entry in list(getattr(re, "_cache", ())):
        with contextlib.suppress(TypeError, ValueError, UnicodeError, AttributeError):
            kind, text, flags = entry
            if kind in (str, bytes):
                found.append([kind is bytes, text.decode("latin-1") if kind is bytes else text, int(flags)])
    return found


def warm_up(known: Sequence[Pattern], modules: Sequence[str]) -> None:
    """Import `modules`, and compile the patterns `known`.

    Patterns that cause a warning are left out, because the children must emit the warning.
    """
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for is_bytes, text, flags in known:
            with contextlib.suppress(re.error, Warning, ValueError, OverflowError, RecursionError):
                if not flags & re.DEBUG:
                    re.compile(text.encode("latin-1") if is_bytes else text, flags)
