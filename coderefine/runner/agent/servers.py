"""The servers inside a view: one with pytest loaded (warm), and one that has also collected the project (hot).

The first process loads pytest, forks both servers, and restarts them if they crash. Each server has a separate socket
and forks a child per candidate. All run in the sandbox, like the cold runner: `python -c BOOT here servers FD`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from . import cold_process  # isort: skip  # it checks which modules are imported before it
from . import agent_channel, child

Message = dict[str, Any]
HASTY = 20
"""Maximum number of starts of one server."""


def main(warm_fd: int) -> None:
    """Serve two sockets until the parent closes them; does not return. The second descriptor is in the job."""
    job = agent_channel.read(warm_fd)
    if job is None:
        os._exit(2)
    hot_fd = int(job["hot"])
    for fd in (warm_fd, hot_fd):
        os.set_inheritable(fd, False)  # noqa: FBT003
    job["scratch"] = os.path.join(tempfile.gettempdir(), "coderefine-worker")
    os.makedirs(job["scratch"], exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = job["scratch"]
    sys.dont_write_bytecode = False  # compiled tests and modules of the unchanged tree speed up all warm runs
    cold_process.set_up(job)
    # These modules import pytest, which uses packages such as Pygments. If the project is such a package, `set_up`
    # removes its installed modules and all others that were imported before, so pytest must not be among them.
    from . import hot_server, server_plugin, warm_server

    server_plugin.silence()
    roles: list[Callable[[], None]] = [
        lambda: warm_server.serve(warm_fd, agent_channel.AgentChannel(warm_fd, job["nonce"]), job),
        lambda: hot_server.serve(hot_fd, agent_channel.AgentChannel(hot_fd, job["hot_nonce"]), job),
    ]
    # Fork every role, and again if it ends before its socket is closed.
    fds = [warm_fd, hot_fd]
    starts = [0] * len(roles)
    running = {_start(roles, fds, number): number for number in range(len(roles))}
    while running:
        pid, status = os.wait()
        number = running.pop(pid, -1)
        if number < 0 or status == 0:
            continue
        starts[number] += 1
        if starts[number] < HASTY:
            time.sleep(0.01)
            running[_start(roles, fds, number)] = number
    os._exit(0)


def _start(roles: list[Callable[[], None]], fds: list[int], number: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    for other, fd in enumerate(fds):
        if other != number:
            os.close(fd)
    child.be_subreaper()
    code = 1
    try:
        roles[number]()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    finally:
        os._exit(code)
