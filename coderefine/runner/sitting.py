"""One process that runs tests, watched until it ends, hangs, or dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from coderefine import proc
from coderefine.core import View
from coderefine.runner.tally import Tally
from coderefine.runner.wire import Wire, argv

TICK = 0.2
"""Seconds between two looks at whether the process still lives."""
LAST_WORDS = 5.0
"""Seconds a process may take to exit once it has said how it ended."""
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
    """Wall seconds: of one test, of importing one module, and the instant (monotonic) at which all is over."""

    test: float
    module: float
    deadline: float


def sit(  # noqa: PLR0917
    view: View, python: str, job: Mapping[str, object], tally: Tally, limits: Limits, heard: Callable[[], None]
) -> Ended:
    """Run `job` in a fresh process inside `view`; everything it says goes into `tally`, then `heard` is called."""
    tally.fresh()
    with Wire() as wire, tempfile.TemporaryFile() as stack, _started(view, python, job, wire, stack) as child:
        out, err = (proc.Reader(stream, proc.KEEP) for stream in (child.stdout, child.stderr) if stream)
        hung = _listen(child, wire, tally, limits, heard)
        if hung:
            _ask_where(view, tally, stack)
        else:
            _await(child)
        proc.kill(child)
        for reader in (out, err):
            reader.join(1.0)
        stack.seek(0)
        return Ended(child.returncode, hung, _text(stack.read(200_000)), _text(out.value), _text(err.value))


@contextlib.contextmanager
def _started(
    view: View, python: str, job: Mapping[str, object], wire: Wire, stack: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    seed = job["seed"]
    extra = {} if seed is None else {"PYTHONHASHSEED": str(seed)}
    command = view.argv(argv(python, "cold", wire.theirs))
    fds = (wire.theirs, stack.fileno())
    child = proc.start(command, cwd="/", env=proc.clean_env(extra), pass_fds=fds)
    wire.handed_over()
    try:
        wire.tell(**{**job, "stack": stack.fileno(), "signal": int(ASK)})
        yield child
    finally:
        if child.returncode is None:
            proc.kill(child)
        for stream in (child.stdout, child.stderr):
            if stream:
                stream.close()


def _listen(child: subprocess.Popen[bytes], wire: Wire, tally: Tally, limits: Limits, heard: Callable[[], None]) -> str:
    """Hear the process out; the limit that ran out, or "" when it ended by itself."""
    while True:
        gone = child.poll() is not None
        messages = wire.hear(0.0 if gone else TICK)
        for message in messages or ():
            tally.hear(message)
        if messages:
            heard()
        if messages is None or tally.code is not None or (gone and not messages):
            return ""
        now = time.monotonic()
        if now > limits.deadline:
            return "check"
        if now - tally.since > (limits.test if tally.running else limits.module):
            return "test"


def _ask_where(view: View, tally: Tally, stack: IO[bytes]) -> None:
    """Have the process write its stacks. Its own pid is meaningful inside the view only, so the question goes there."""
    if not tally.pid:
        return
    view.run(("sh", "-c", f"kill -{int(ASK)} {tally.pid}"), timeout=5.0)
    for _ in range(20):
        if os.fstat(stack.fileno()).st_size:
            break
        time.sleep(0.01)


def _await(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(LAST_WORDS)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
