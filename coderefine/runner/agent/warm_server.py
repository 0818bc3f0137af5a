"""The warm server: it has loaded pytest and third-party modules, but not the project; forks collect and run the tests.

If pytest loads nothing of the project before collection (no conftest.py above the tests), a second server starts pytest
up to this point, which halves the time of a candidate (StartedPytest). Candidates that change files which are read
before that point, and all candidates if that server has ended, are judged by a fork of the warm server itself.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Container, Iterable
from typing import Any

from . import agent_channel, child, cold_plugin, loaded_modules, pytest_internals, server_plugin, working_tree

Message = dict[str, Any]
Run = Callable[[Message, child.Tell], None]
"""Runs, in the child, the tests of a message, and sends the result."""
Judge = Callable[[Message, Run], Message]
Ours = Callable[[str | None], bool]
"""Returns whether a file belongs to the project."""


def serve(fd: int, channel: agent_channel.AgentChannel, job: Message) -> None:
    """Process the parent's messages until it closes the socket."""
    tree, own = working_tree.WorkingTree(job["top"]), functools.partial(working_tree.ours, top=job["top"])
    child.no_bytecode()
    channel.take_over()
    channel.send("ready")
    ahead: StartedPytest | None = None
    while True:
        message = agent_channel.read(fd)
        if message is None:
            return
        if message["kind"] == "preload":
            pytest_internals.import_modules(message["modules"], message["rewritten"], own)
            channel.send("preloaded")
            child.warm_up(message.get("patterns", ()), pytest_internals.LOADED_LATE)
            child.settle()
            ahead = start(job, own, lambda order, run: judge(order, job, tree, run), fd)
            continue
        answer = ahead.ask(message) if ahead is not None and ahead.suits(message["files"]) else None
        if answer is None:
            answer = judge(message, job, tree, lambda order, tell: _run(order, job, tell))
        channel.send("judged", **answer)


def judge(message: Message, job: Message, tree: working_tree.WorkingTree, run: Run) -> Message:
    """Run the requested tests on the patched tree in a child; return statuses by test id, and how the child ended."""
    files = working_tree.decoded(message["files"])
    limits = child.usual_limits()._replace(cpu=message["limit"])
    tree.put(files)
    try:
        ended = child.fork(lambda tell: run(message, tell), limits)
    finally:
        tree.restore(files)
        tree.sweep(job["scratch"])
    record = json.loads(ended.extra) if ended.ok else {}
    return {
        "statuses": record.get("statuses", {}),
        "changed": tree.changed,
        "missing": record.get("missing", []),
        "result": {"void": record.get("void", "")},
        "cpu": ended.cpu,
        "wall": ended.wall,
        "died": ended.died,
        "hung": ended.hung,
        "speed": "warm",
    }


def wanted(message: Message, job: Message) -> list[str] | None:
    """Return the tests or test files to collect: the requested tests, else the server's files; None for all."""
    files: list[str] | None = message["tests"] if message["tests"] is not None else job["files"]
    return files


def _run(message: Message, job: Message, tell: child.Tell) -> None:
    """Run pytest with the selected tests, without its final steps (in the child)."""
    # The tests import all modules of the project anew. If the project is a package that pytest uses (such as pluggy),
    # pytest goes on with its unpatched modules.
    for name, module in loaded_modules.loaded():
        path = getattr(module, "__file__", None)
        if working_tree.ours(path, job["top"]) and name.partition(".")[0] != __package__:
            del sys.modules[name]
    importlib.invalidate_caches()
    run = server_plugin.ServerPlugin(lambda run: tell(chosen(run, message)), wanted(message, job))
    code = server_plugin.pytest_main(job, run)
    tell(nothing(message, f"pytest exit {code}"))


# -- a pytest that has started, up to the point where it would collect ------------------------------------


class StartedPytest:
    """Connection to a process with a started pytest; an answer `None` means that the process has ended."""

    def __init__(self, near: socket.socket) -> None:
        self._near: socket.socket | None = near

    def suits(self, paths: Iterable[str]) -> bool:
        """Return whether none of `paths` (repo-relative) is read by pytest before collection."""
        return self._near is not None and all(
            path.endswith(".py") and os.path.basename(path) not in ("conftest.py", "sitecustomize.py") for path in paths
        )

    def ask(self, message: Message) -> Message | None:
        answer = None
        if self._near is not None:
            with contextlib.suppress(OSError):
                self._near.sendall(agent_channel.pack(message))
                answer = agent_channel.read(self._near.fileno())
            if answer is None:
                self._near.close()
                self._near = None
        return answer


def start(job: Message, ours: Ours, judge: Judge, line: int) -> StartedPytest:
    """Fork a server with a started pytest; `judge` answers its messages. `line`: a descriptor that the fork closes."""
    near, far = socket.socketpair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        far.close()
        return StartedPytest(near)
    try:
        os.close(line)
        near.close()
        child.be_subreaper()
        server_plugin.pytest_main(job, _Stop(far, ours, judge, job["files"]))
    finally:
        os._exit(0)


class _Stop(server_plugin.ServerPlugin):
    """Stops pytest before collection, and forks children that continue from there."""

    def __init__(self, line: socket.socket, ours: Ours, judge: Judge, files: list[str] | None) -> None:
        super().__init__(lambda _: None)
        self._files = files
        self._line = line
        self._ours = ours
        self._judge = judge

    def pytest_cmdline_main(self, config: Any) -> Any:
        """Replace pytest's own hook, which starts a session in the same way."""
        return pytest_internals.start_session(config, self._serve)

    def _serve(self, config: Any, opened: Any) -> None:
        loaded = [getattr(module, "__file__", None) for _, module in loaded_modules.loaded()]
        if threading.active_count() > self.threads or any(self._ours(file) for file in loaded):
            os._exit(0)
        self.config = config
        child.settle()
        while True:
            message = agent_channel.read(self._line.fileno())
            if message is None:
                os._exit(0)
            answer = self._judge(message, lambda order, tell: self._continue(opened, order, tell))
            pytest_internals.empty_capture(self.config)
            self._line.sendall(agent_channel.pack(answer))

    def _continue(self, opened: Any, message: Message, tell: child.Tell) -> None:
        """Collect and run the tests (in the child); if pytest ends before they have run, there are no results."""
        importlib.invalidate_caches()
        self._work = lambda run: tell(chosen(run, message))
        self.choice = cold_plugin.TestChoice(message["tests"] if message["tests"] is not None else self._files)
        try:
            pytest_internals.collect_and_run(opened)
        finally:
            tell(nothing(message, "pytest did not run"))


def chosen(run: server_plugin.ServerPlugin, message: Message) -> bytes:
    """Run the tests of `message`; return statuses by test id, missing tests and collection errors as JSON.

    A module among the tests, which could not be collected at the baseline, stands for all tests in it.
    """
    pytest_internals.skip_rendering(run.config)
    places = {item.nodeid: number for number, item in enumerate(run.items)}
    wanted = list(places) if message["tests"] is None else _with_tests_of_modules(message["tests"], list(places))
    missing = _without(wanted, places)
    numbers = sorted(_numbers(wanted, places))
    board = child.Board(len(run.items))
    if message["keep_going"] or not _without(missing + list(run.broken), message["known"]):
        known = frozenset(_numbers(message["known"], places))
        fine = run.run(numbers, board, known=known, keep_going=message["keep_going"])
        if message["files"] and fine:
            run.prepare()
            run.check(list(message["files"]))
    results = board.results
    statuses = {run.items[n].nodeid: server_plugin.STATUSES[results[n]] for n in numbers if results[n]}
    statuses.update(dict.fromkeys(run.broken, "error"))
    return json.dumps({"statuses": statuses, "missing": _without(missing, statuses), "void": run.void}).encode("ascii")


def nothing(message: Message, why: str) -> bytes:
    """Return the result of a run in which pytest ended before the first test: all requested tests are missing.

    If no tests were requested, the reason `why` takes the place of their ids.
    """
    return json.dumps({"statuses": {}, "missing": message["tests"] or [why]}).encode("ascii")


def _with_tests_of_modules(names: list[str], collected: list[str]) -> list[str]:
    """Return `names` where each module is replaced by its tests among `collected`, if there are any."""
    found: list[str] = []
    for name in names:
        inside = [test for test in collected if "::" not in name and test.startswith(name + "::")]
        found += inside or [name]
    return found


def _numbers(names: Iterable[str], places: dict[str, int]) -> list[int]:
    return [places[name] for name in names if name in places]


def _without(names: list[str], known: Container[str]) -> list[str]:
    return [name for name in names if name not in known]
