"""A real scheduler and real workers of Dask, as processes, each with a cache of its own."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.cluster.trees import TreeStore
from tests.support.command import ROOT, Ended, coderefine

TEST = """\
import time

import pytest

from shop import total


@pytest.mark.parametrize("n", range(4))
def test_total(n):
    time.sleep(0.36)
    assert total([n, 1]) == n + 1
"""
"""Three files of it take a little more than two shards are worth."""
SHOP = {
    "shop.py": "def total(prices):\n    return sum(prices)\n",
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    **{f"tests/test_{name}.py": TEST for name in ("a", "b", "c")},
}


@dataclass
class Dask:
    """A scheduler and workers below `folder`; `settings`: environment variables of all, and of the client.

    `inside`: the beginning of the workers' commands, which may move them into a network of their own.
    """

    folder: Path
    address: str
    settings: Mapping[str, str] = field(default_factory=dict)
    inside: Sequence[str] = ()
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.folder / "client"), **self.settings}

    def start(self, name: str, *argv: str) -> None:
        cache = {"XDG_CACHE_HOME": str(self.folder / name), "PYTHONPATH": str(ROOT)}
        command = (sys.executable, "-m", f"distributed.cli.dask_{argv[0]}", *argv[1:], "--no-dashboard")
        command = (*self.inside, *command) if argv[0] == "worker" else command
        with (self.folder / f"{name}.log").open("wb") as log:
            env = {**os.environ, **self.settings, **cache}
            self.processes[name] = subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log)

    def scheduler(self) -> None:
        host, _, port = self.address.rpartition(":")
        own = ("--host", host, "--port", port)
        self.start("scheduler", "scheduler", *own, "--scheduler-file", str(self.folder / "scheduler.json"))

    def worker(self, name: str) -> None:
        place = ("--local-directory", str(self.folder / f"{name}.dask"), "--nthreads", "1", "--no-nanny")
        self.start(name, "worker", self.address, *place)

    def registered(self, name: str) -> bool:
        return "Registered to" in (self.folder / f"{name}.log").read_text()

    def stop(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        self.processes[name].send_signal(how)
        if how is signal.SIGKILL:
            self.processes.pop(name).wait()

    def trees(self, name: str) -> frozenset[str]:
        return TreeStore(self.folder / name / "coderefine" / "cluster").known()

    def check(self, top: Path, *more: str) -> Ended:
        return self.run("check", *more, cwd=top)

    def fix(self, top: Path, *more: str) -> Ended:
        return self.run("fix", "--no-model", "--diff", *more, cwd=top)

    def run(self, command: str, *more: str, cwd: Path) -> Ended:
        return coderefine(command, "--gate", "pytest", "--cluster", self.address, *more, cwd=cwd, env=self.env)

    def record(self, top: Path) -> Path:
        """Return the file with what is known about the tests of the project at `top`."""
        name = hashlib.sha256(str(top.resolve()).encode()).hexdigest()[:16]
        return self.folder / "client" / "coderefine" / "cluster" / f"{name}.json"


@contextmanager
def open_cluster(  # noqa: PLR0917
    folder: Path,
    workers: tuple[str, ...] = ("one", "two"),
    scheme: str = "tcp",
    settings: Mapping[str, str] | None = None,
    host: str = "127.0.0.1",
    inside: Sequence[str] = (),
) -> Iterator[Dask]:
    """Yield a cluster with `workers`; `host`: the address of the scheduler; `inside`: see Dask."""
    with socket.socket() as free:
        free.bind((host, 0))
        port = free.getsockname()[1]
    made = Dask(folder, f"{scheme}://{host}:{port}", settings or {}, inside)
    folder.mkdir()
    try:
        made.scheduler()
        for name in workers:
            made.worker(name)
        wait(lambda: all(map(made.registered, workers)))
        yield made
    finally:
        for name in tuple(made.processes):
            made.stop(name)


def wait(until: Callable[[], object], seconds: float = 240.0) -> None:
    latest = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < latest, "waited in vain"
        time.sleep(0.1)
