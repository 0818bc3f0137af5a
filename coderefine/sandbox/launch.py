"""The only launcher of processes that run the project's or a patch's code.

`start` and `run` start inside.py in the view. That process confines itself, reports on a pipe what worked, and becomes
the program. The project's interpreter thus starts confined: no file of a patch (`sitecustomize.py`, a `pytest.py` at
the root) is ever imported by an unconfined process.
"""

from __future__ import annotations

import marshal
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coderefine import proc
from coderefine.core import Entry, Finished, View
from coderefine.errors import SandboxError
from coderefine.sandbox.permissions import MOST_SHARE, PROCESSES, TIGHT, Bounds, machine_memory

BOOT = "import sys; sys.path.append(sys.argv[1]); import inside; inside.main()"
FOLDER = str(Path(__file__).parent)
USUAL_SOCKETS = (
    "/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket", "/run/snapd.socket", "/run/systemd/private",
)  # fmt: skip
"""Sockets of daemons; /proc/net/unix does not list them if they were bound in another network namespace."""


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a launcher: the guards that work, and those that are missing, as texts."""

    done: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Return the report as texts for the evidence."""
        return (*self.done, *(f"lacking {one.partition(' (')[0]}" for one in self.missing))


class Confined:
    """A process that was started by `start`, and the report of its launcher."""

    def __init__(self, child: subprocess.Popen[bytes], pipe: int, *, strict: bool) -> None:
        self.child = child
        self._pipe = pipe
        self._strict = strict
        self._report: Report | None = None

    def report(self) -> Report:
        """Wait for the launcher's report and return it. Raises SandboxError if a `strict` job could not be confined."""
        if self._report is None:
            self._report = read(self._pipe, strict=self._strict)
        return self._report

    def close(self) -> None:
        """Kill the process if it is still running. If its report was not read, it counts as empty from now on."""
        proc.reap(self.child)
        if self._report is None:
            os.close(self._pipe)
            self._report = Report()


@contextmanager
def report_pipe() -> Iterator[tuple[int, int]]:
    """Yield the two ends of a pipe for a launcher's report: the reading end, and the end that the launcher inherits.

    The launcher's end is closed after the block. The reading end is closed only if the block raises an exception;
    otherwise `read` closes it.
    """
    reading, writing = os.pipe()
    try:
        yield reading, writing
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)


@contextmanager
def start(
    view: View,
    argv: Sequence[str],
    bounds: Bounds | None,
    *,
    strict: bool = False,
    cwd: str = ".",
    env: Mapping[str, str] | None = None,
    pass_fds: Iterable[int] = (),
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> Iterator[Confined]:
    """Start `argv` in `view` under `bounds` (None: confined by the view only); kill it at the end of the block.

    `strict`: `Confined.report` raises SandboxError if the process could not be confined as `bounds` require. Raises
    ProcessError if the process cannot be started.
    """
    with report_pipe() as (reading, writing):
        line = command(view.entry, argv, bounds, cwd=str(view.top / cwd), pipe=writing, strict=strict)
        fds = (*pass_fds, writing)
        child = proc.start(line, cwd="/", env=view.env(env), pass_fds=fds, stdout=stdout, stderr=stderr)
    launched = Confined(child, reading, strict=strict)
    try:
        yield launched
    finally:
        launched.close()


def run(
    view: View,
    argv: Sequence[str],
    bounds: Bounds | None,
    *,
    strict: bool = False,
    cwd: str = ".",
    env: Mapping[str, str] | None = None,
    timeout: float = 600.0,
    stdin: bytes = b"",
) -> tuple[Finished, Report]:
    """Run `argv` in `view` under `bounds` to its end. Raises ProcessError, SandboxError; see `start`."""
    with report_pipe() as (reading, writing):
        line = command(view.entry, argv, bounds, cwd=str(view.top / cwd), pipe=writing, strict=strict)
        result = proc.run(line, cwd="/", env=view.env(env), timeout=timeout, stdin=stdin, pass_fds=(writing,))
    return result, read(reading, strict=strict)


def command(
    entry: Entry, argv: Sequence[str], bounds: Bounds | None, *, cwd: str, pipe: int, strict: bool = False
) -> tuple[str, ...]:
    """Return the command line of our launcher, which reports on `pipe` and becomes `argv` in the folder `cwd`."""
    job = {
        "bounds": bounds and asdict(bounds),
        "own": entry.own,
        "capabilities": entry.capabilities,
        "cwd": cwd,
        "hidden": _hidden(bounds) if bounds and bounds.sockets else (),
        "limits": dict(_limits(bounds, contained=entry.capabilities is not None)),
        "report": pipe,
        "strict": strict,
    }
    return (*entry.argv, sys.executable, "-I", "-S", "-c", BOOT, FOLDER, marshal.dumps(job, 2).hex(), *argv)


def _limits(bounds: Bounds | None, *, contained: bool) -> Mapping[str, int]:
    """Return the resource limits. An unconfined process has only the limit of memory, so that the machine stays usable.

    `contained`: whether the process is in namespaces, where processes outside the view do not count.
    """
    if bounds is None:
        there = int(machine_memory() * MOST_SHARE)
        return {"DATA": there} if there else {}
    others = 0 if contained else _tasks()
    return {**bounds.limits, "NPROC": others + PROCESSES}


def _tasks() -> int:
    """Return the number of processes and threads on this machine, which includes all that RLIMIT_NPROC counts.

    Return 65536 if the number is unknown.
    """
    try:
        return int(Path("/proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 1 << 16


def _hidden(bounds: Bounds) -> Sequence[str]:
    """Return the paths of the Unix sockets of programs outside the view, except those in `bounds.reach`."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()[1:]
    except OSError:
        lines = []
    named = (line.split(maxsplit=7)[7] for line in lines if line.count("/"))
    named_by_user = (os.environ.get("SSH_AUTH_SOCK", ""), os.environ.get("DOCKER_HOST", "").removeprefix("unix://"))
    every = dict.fromkeys((*named, *USUAL_SOCKETS, *named_by_user))
    return [path for path in every if path.startswith("/") and path not in bounds.reach and _is_socket(path)]


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except OSError:
        return False


def read(pipe: int, *, strict: bool) -> Report:
    """Return the launcher's report from `pipe`, and close the pipe.

    Raises SandboxError if a `strict` job could not be confined. Without `strict`, a launcher that could not start gives
    an empty report.
    """
    with os.fdopen(pipe, "rb") as stream:
        line = stream.readline()
    try:
        answer: dict[str, Any] = marshal.loads(bytes.fromhex(line.decode("ascii")))
    except (ValueError, EOFError):  # the launcher could not start
        answer = {"done": (), "missing": ("a launcher that answers",) if strict else ()}
    report = Report(tuple(answer["done"]), tuple(answer["missing"]))
    if strict and report.missing:
        raise SandboxError(refusal(report))
    return report


def refusal(report: Report) -> str:
    """Return the error message for a system that lacks guards which `sandbox = "strict"` requires."""
    return (
        f'sandbox = "strict" is impossible here, this system lacks: {"; ".join(report.missing)}. '
        "`--sandbox auto` runs with the others"
    )


def tried() -> Report:
    """Confine a process that does nothing, outside of any view; return the report of its launcher."""
    with report_pipe() as (reading, writing):
        argv = command(Entry((), ()), ("true",), TIGHT, cwd=os.sep, pipe=writing)
        proc.run(argv, cwd=os.sep, env=proc.clean_env(), pass_fds=(writing,))
    return read(reading, strict=False)
