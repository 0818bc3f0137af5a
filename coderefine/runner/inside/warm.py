"""The warm server: pytest and third-party modules are loaded, nothing of the project; a fork collects and runs."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, Container, Dict, Iterable, List, Optional

from . import child, disk, session, wire

Message = Dict[str, Any]


def serve(fd: int, said: wire.Wire, job: Message) -> None:
    """Answer the parent's messages until it closes the socket."""
    tree = disk.Disk(job["top"])
    said.adopt()
    said.say("ready")
    while True:
        message = wire.read(fd)
        if message is None:
            return
        if message["kind"] == "preload":
            said.say("preloaded", polluted=preload(message["modules"], message["rewritten"], job["top"]))
            child.settle()
        else:
            said.say("judged", **judge(message, job, tree))


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


def judge(message: Message, job: Message, tree: disk.Disk) -> Message:
    """Run the asked-for tests on the patched tree: statuses by test id."""
    files = disk.decoded(message["files"])
    limits = child.usual_limits()._replace(cpu=message["limit"])
    tree.put(files)
    try:
        ended = child.fork(lambda tell: _run(message, job, tell), limits)
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
        "cpu": ended.cpu,
        "wall": ended.wall,
        "died": ended.died,
        "hung": ended.hung,
        "speed": "warm",
    }


def _run(message: Message, job: Message, tell: child.Tell) -> None:
    """In the child: a whole pytest run with the chosen tests, told as JSON; what pytest does afterwards is left out."""

    def work(run: session.Session) -> None:
        tell(json.dumps({**_chosen(run, message), "broken": run.broken}).encode("ascii"))

    importlib.invalidate_caches()
    run = session.Session(work)
    code = session.pytest_main(job, run)
    missing = message["tests"] or ["pytest exit %d" % code]
    tell(json.dumps({"statuses": {}, "missing": missing, "broken": run.broken}).encode("ascii"))


def _chosen(run: session.Session, message: Message) -> Message:
    session.light(run)
    places = {item.nodeid: number for number, item in enumerate(run.items)}
    wanted = list(places) if message["tests"] is None else message["tests"]
    missing = _without(wanted, places)
    numbers = sorted(_numbers(wanted, places))
    board = child.Board(len(run.items))
    if message["keep_going"] or not _without(missing + list(run.broken), message["known"]):
        known = frozenset(_numbers(message["known"], places))
        run.run(numbers, board, known=known, keep_going=message["keep_going"])
    results = board.results
    statuses = {run.items[n].nodeid: session.STATUSES[results[n]] for n in numbers if results[n]}
    statuses.update(dict.fromkeys(run.broken, "error"))
    return {"statuses": statuses, "missing": _without(missing, statuses)}


def _numbers(names: Iterable[str], places: Dict[str, int]) -> List[int]:
    return [places[name] for name in names if name in places]


def _without(names: List[str], known: Container[str]) -> List[str]:
    return [name for name in names if name not in known]
