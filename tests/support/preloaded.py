"""Starts `python -m coderefine` by fork, from a process that has imported everything: 0.3 s less, 1.1 s with a model.

The child is a process of its own as any other: its own session, arguments, environment, folder, stdin, stdout, stderr
and orderly end. What the interpreter or a library reads from the environment when it starts cannot be given to it (see
`fits`): with other values of those, and to test the start itself, start an interpreter.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

AT_START = ("PATH", "PYTHON", "LD_", "LC_", "LANG", "TMP", "TEMP", "GIT_PYTHON", "COVERAGE", "SSL_", "TZ")
"""Beginnings of the names of variables that are read when the interpreter or a library starts."""


class Preloaded:
    """The process that forks; ended with `close`, or when this process ends."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = _at_start(env)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, __file__, str(theirs.fileno())),
                cwd="/",
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._socket = ours

    def fits(self, env: Mapping[str, str]) -> bool:
        """Whether a process with `env` may be forked."""
        return _at_start(env) == self._env

    @property
    def ended(self) -> bool:
        """Whether the process has ended, which it does not by itself."""
        return self._process.poll() is not None

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def run(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float) -> tuple[int, bytes, bytes]:
        """(exit code, stdout, stderr), both ends read to the end, as `communicate` does.

        Raises:
            TimeoutError: It was still running after `timeout` seconds, and is killed with its group.
        """
        job = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}).encode("ascii")
        out, err = os.pipe(), os.pipe()
        try:
            socket.send_fds(self._socket, [len(job).to_bytes(4, "big")], [out[1], err[1]])
            self._socket.sendall(job)
        finally:
            os.close(out[1])
            os.close(err[1])
        pid = self._number()
        result, late = _read((out[0], err[0]), timeout)
        if late:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        code = self._number()
        if late:
            raise TimeoutError(b"".join(result).decode("utf-8", "replace"))
        return code, *result

    def _number(self) -> int:
        data = self._socket.recv(4, socket.MSG_WAITALL)
        assert len(data) == 4, "the preloaded process has died: see its stderr"
        return int.from_bytes(data, "big", signed=True)


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


def _read(pipes: tuple[int, int], timeout: float) -> tuple[tuple[bytes, bytes], bool]:
    """What comes out of both until they are closed, and whether that took longer than `timeout`."""
    data = dict.fromkeys(pipes, b"")
    until = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < until:
            for key, _ in selector.select(max(until - time.monotonic(), 0)):
                chunk = os.read(key.fd, 1 << 16)
                data[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
        late = bool(selector.get_map())
    for pipe in pipes:
        os.close(pipe)
    return (data[pipes[0]], data[pipes[1]]), late


# -- the process that forks --------------------------------------------------------------------------------


def _preload() -> None:
    import gc
    import importlib
    import pkgutil

    import coderefine

    for module in pkgutil.walk_packages(coderefine.__path__, "coderefine."):
        if not {"agent", "inside", "site", "__main__", "namespaces_inside"} & set(module.name.split(".")):
            importlib.import_module(module.name)
    for name in ("openai", "git", "genai_prices", "rich.console", "pygments.lexers", "detect_secrets.core.scan"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _serve(connection: socket.socket) -> list[str] | None:
    """Fork for each job; None when there are no more, in a child its arguments."""
    while True:
        size, fds, _, _ = socket.recv_fds(connection, 4, 2)
        if not size:
            return None
        job = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(job, fds)
            return [str(word) for word in job["argv"]]
        for fd in fds:
            os.close(fd)
        connection.sendall(pid.to_bytes(4, "big"))
        _, status = os.waitpid(pid, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _become(job: dict[str, dict[str, str]], fds: Sequence[int]) -> None:
    os.setsid()
    os.chdir(str(job["cwd"]))
    for fd, number in zip(fds, (1, 2), strict=True):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(job["env"])
    sys.path.insert(0, str(job["cwd"]))  # as `-m` does


def main() -> None:
    """Serve until the other end is closed."""
    del sys.path[0]  # the modules beside this one shadow others
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    _preload()
    argv = _serve(connection)
    if argv is not None:
        from coderefine import __main__
        from coderefine.cli import main as command

        sys.argv = [__main__.__file__ or "", *argv]
        command()


if __name__ == "__main__":
    main()
