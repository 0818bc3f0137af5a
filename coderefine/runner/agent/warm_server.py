"""The warm server: pytest and third-party modules are loaded, nothing of the project; a fork collects and runs."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, Dict, List, Optional

from . import agent_channel, cache_warming, child, server_plugin, started_pytest, working_tree

Message = Dict[str, Any]


def serve(fd: int, channel: agent_channel.Channel, job: Message) -> None:
    """Answer the parent's messages until it closes the socket."""
    tree = working_tree.WorkingTree(job["top"])
    child.no_bytecode()
    channel.take_over()
    channel.send("ready")
    ahead: Optional[started_pytest.StartedPytest] = None
    while True:
        message = agent_channel.read(fd)
        if message is None:
            return
        if message["kind"] == "preload":
            channel.send("preloaded", polluted=preload(message["modules"], message["rewritten"], job["top"]))
            cache_warming.warm_up(message.get("patterns", ()))
            child.settle()
            ahead = started_pytest.start(
                job, lambda path: ours(path, job["top"]), lambda order, run: judge(order, job, tree, run), fd
            )
            continue
        answer = ahead.ask(message) if ahead is not None and ahead.suits(message["files"]) else None
        if answer is None:
            answer = judge(message, job, tree, lambda order, tell: _run(order, job, tell))
        channel.send("judged", **answer)


def preload(modules: List[str], rewritten: List[str], top: str) -> List[str]:
    """Import `modules`; the names of the project's own modules that came with them (there must be none).

    Plug-ins in `rewritten` had their assertions rewritten by pytest, and get that here, too: pytest would complain
    of a module imported too early otherwise.
    """
    import warnings

    from _pytest.assertion import install_importhook
    from _pytest.config import get_config

    config = get_config()
    install_importhook(config).mark_rewrite(*rewritten)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: PERF203
                sys.modules.pop(name, None)
    config._ensure_unconfigure()
    return [name for name, module in sys.modules.items() if ours(getattr(module, "__file__", None), top)]


def ours(path: Optional[str], top: str) -> bool:
    """Whether `path` is a file of the project, and not of an environment inside it."""
    return bool(path) and str(path).startswith(top + os.sep) and "site-packages" not in str(path)


def judge(message: Message, job: Message, tree: working_tree.WorkingTree, run: started_pytest.Run) -> Message:
    """`run` the asked-for tests on the patched tree: statuses by test id."""
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
        "number": message["number"],
        "statuses": record.get("statuses", {}),
        "changed": tree.changed,
        "missing": record.get("missing", []),
        "broken": record.get("broken", {}),
        "told": {"void": record.get("void", "")},
        "cpu": ended.cpu,
        "wall": ended.wall,
        "died": ended.died,
        "hung": ended.hung,
        "speed": "warm",
    }


def wanted(message: Message, job: Message) -> Optional[List[str]]:
    """The test files to collect: those of the tests asked for, else those of the server; None for all."""
    files: Optional[List[str]] = message["tests"] if message["tests"] is not None else job["files"]
    return files


def _run(message: Message, job: Message, tell: child.Tell) -> None:
    """In the child: a whole pytest run with the chosen tests, told as JSON; what pytest does afterwards is left out."""
    importlib.invalidate_caches()
    run = server_plugin.ServerPlugin(lambda run: tell(started_pytest.chosen(run, message)), wanted(message, job))
    code = server_plugin.pytest_main(job, run)
    tell(started_pytest.nothing(run, message, "pytest exit %d" % code))
