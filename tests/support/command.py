"""The real command as a process, and a small project for it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.preloaded import Preloaded

ROOT = Path(__file__).parents[2]

ORDER = '''\
"""Prices of an order."""


def discount(total):
    """Ten per cent from 100 on."""
    return total * 0.1 if total > 100 else 0


def price(total):
    """What the customer pays."""
    return total - discount(total)
'''
TESTS = """\
from order import discount, price


def test_discount_from_one_hundred_on():
    assert discount(100) == 10


def test_price():
    assert price(10) == 10
"""
GREEN = ORDER.replace("> 100", ">= 100")
FAULT = "    return total * 0.1 if total > 100 else 0"
LINT = f"import os\n\n{GREEN}"
"""One finding that ruff mends alone; the tests pass."""


def block(path: str, old: str, new: str) -> str:
    """One edit as a model writes it."""
    return f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


RIGHT = "The boundary is excluded.\n\n" + block("order.py", FAULT, FAULT.replace("> 100", ">= 100"))
MISSPELT, SPELT = (f"    return {name} - discount(total)" for name in ("totl", "total"))
UNDEFINED = GREEN.replace(SPELT, MISSPELT)
"""One finding of ruff that only a model repairs, with the reply `DEFINED`."""
DEFINED = block("order.py", MISSPELT, SPELT)
WRONG = "The rate.\n\n" + block("order.py", FAULT, FAULT.replace("> 100", "> 101"))


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code and the output of the command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Its stderr without progress."""
        return [line for line in self.err.splitlines() if line.startswith("coderefine: ")]


def start(
    *args: str, cwd: Path, env: Mapping[str, str] | None = None, wrap: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """`coderefine ARGS` in a process group of its own, as a shell would start it. `wrap`: put in front."""
    return subprocess.Popen(
        (*wrap, sys.executable, "-m", "coderefine", *args),
        cwd=cwd,
        env=_environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str], timeout: float = 300.0) -> Ended:
    """Wait for it; what is still running after `timeout` seconds is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"still running after {timeout} s: {out}{err}") from None
    return Ended(process.returncode, out, err)


def coderefine(*args: str, cwd: Path, env: Mapping[str, str] | None = None, wrap: Sequence[str] = ()) -> Ended:
    """Run `coderefine ARGS` to its end: forked where that makes no difference (see `preloaded`)."""
    full = _environment(env)
    server = None if wrap else _server(full)
    if server is None:
        return end(start(*args, cwd=cwd, env=env, wrap=wrap))
    try:
        code, out, err = server.run(args, cwd, full, timeout=300.0)
    except TimeoutError as error:
        raise AssertionError(f"still running after 300 s: {error}") from None
    return Ended(code, *(text.decode().replace("\r\n", "\n") for text in (out, err)))


_servers: list[Preloaded] = []


def _server(env: Mapping[str, str]) -> Preloaded | None:
    """The one process of this test run that forks; None where `env` needs a start of its own.

    It is the first that is asked for in a sealed environment (tests/conftest.py), which is that of nearly all. If
    something outside the tests has killed it, another one is started: all later tests would fail otherwise.
    """
    if _servers and _servers[0].ended:
        _servers.clear()
    if not _servers and hasattr(socket, "send_fds") and "PYTEST_DISABLE_PLUGIN_AUTOLOAD" in env:
        _servers.append(Preloaded(env))
        atexit.register(_servers[0].close)
    return next((server for server in _servers if server.fits(env)), None)


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}


def descendants(mark: str) -> list[str]:
    """Command lines of living processes that have `mark` in their command line or environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                arguments = (folder / "cmdline").read_bytes()
                if mark.encode() in arguments + (folder / "environ").read_bytes():
                    found.append(f"{folder.name} {arguments.replace(bytes(1), b' ').decode('utf-8', 'replace')}")
            except OSError:
                continue
    return found


def kill_all(mark: str) -> None:
    """Kill what `descendants` finds, until nothing is left: a process can be started between looking and killing."""
    while left := descendants(mark):
        for line in left:
            with contextlib.suppress(OSError):
                os.kill(int(line.split()[0]), signal.SIGKILL)
        time.sleep(0.05)
