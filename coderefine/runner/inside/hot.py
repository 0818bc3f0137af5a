"""The hot server: it has collected the project; a fork swaps the changed functions' code and runs chosen items."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import child, disk, live, session, swap, warm, wire

Message = Dict[str, Any]


def serve(fd: int, said: wire.Wire, job: Message) -> None:
    """Collect as pytest does, then answer until the parent closes the socket."""
    said.adopt()
    ran = live.Ran(job["top"] + os.sep)
    ran.start()
    run = session.Session(lambda run: Server(fd, said, job, run, ran).serve())
    code = session.pytest_main(job, run)
    said.say("failed", code=code, broken=run.broken)
    while wire.read(fd) is not None:
        pass


class Server:
    """Inside pytest's own loop over the items."""

    def __init__(self, fd: int, said: wire.Wire, job: Message, run: session.Session, ran: live.Ran) -> None:
        ran.stop()
        self._fd = fd
        self._said = said
        self._job = job
        self._run = run
        self._ran = ran
        self._tree = disk.Disk(job["top"])
        self._board = child.Board(len(run.items))
        self._sources: Dict[str, swap.Source] = {}
        self._functions = live.Functions(job["top"] + os.sep, ran)
        self._modules = loaded(job["top"])
        self._threads = threading.active_count()
        session.light(run)

    def serve(self) -> None:
        child.settle()
        self._said.say(
            "ready",
            tests=[item.nodeid for item in self._run.items],
            broken=self._run.broken,
            preload=preloadable(self._job["top"]),
            threads=self._threads,
        )
        while True:
            message = wire.read(self._fd)
            if message is None:
                os._exit(0)
            if message["kind"] == "restart":
                os._exit(3)
            self._said.say("judged", **self._judge(message))

    def _judge(self, message: Message) -> Message:
        files = disk.decoded(message["files"])
        try:
            targets = self._targets(files)
        except swap.NotHot as reason:
            return {"number": message["number"], "cold": str(reason)}
        self._tree.put(files)
        try:
            return self._fork(message, targets)
        finally:
            self._tree.restore(files)
            self._tree.sweep(self._job["scratch"])

    def _targets(self, files: Dict[str, Optional[bytes]]) -> "List[live.Target]":
        """The functions to change for `files`. Raises NotHot."""
        if self._threads > 1:
            raise swap.NotHot("threads are alive after the import")
        targets: List[live.Target] = []
        for path, data in files.items():
            targets += self._targets_of(self._tree.full(path), path, data)
        return targets

    def _targets_of(self, full: str, path: str, data: Optional[bytes]) -> "List[live.Target]":
        if data is None or not path.endswith(".py"):
            raise swap.NotHot("%s is no module to change in place" % path)
        filename = self._modules.get(os.path.realpath(full))
        if filename is None:
            return []
        if filename == "":
            raise swap.NotHot("%s was not imported in the usual way" % path)
        if path not in self._sources:
            self._sources[path] = swap.Source(filename, self._tree.original(path).data or b"")
        pairs = []
        for old, new in self._sources[path].pairs(data):
            pairs += swap.swaps(old, new, self._ran)
        return self._functions.targets(pairs)

    def _fork(self, message: Message, targets: "List[live.Target]") -> Message:
        numbers = sorted(message["tests"])
        known = frozenset(message["known"])
        self._board.clear()

        def work() -> bytes:
            for function, code in targets:
                function.__code__ = code
            seconds = self._run.run(numbers, self._board, known=known, keep_going=message["keep_going"])
            return json.dumps(seconds).encode("ascii") if message.get("timed") else b""

        limits = child.Limits(message["limit"], message.get("memory"), message.get("file"))
        ended = child.fork(work, limits)
        return {
            "number": message["number"],
            "results": self._board.results.hex(),
            "running": self._board.running,
            "seconds": json.loads(ended.extra) if ended.extra else [],
            "cpu": ended.cpu,
            "wall": ended.wall,
            "died": ended.died,
            "hung": ended.hung,
            "speed": "hot",
        }


def loaded(top: str) -> Dict[str, str]:
    """Real path of every project file that is a loaded module -> file name of its code; "" for unusual loaders."""
    from importlib.machinery import SourceFileLoader

    found: Dict[str, str] = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not warm.ours(path, top):
            continue
        spec = getattr(module, "__spec__", None)
        usual = type(getattr(spec, "loader", None)) is SourceFileLoader
        real = os.path.realpath(str(path))
        found[real] = str(path) if usual and found.get(real, str(path)) == str(path) else ""
    return found


def preloadable(top: str) -> List[str]:
    """Names of loaded modules that are neither the project's nor ours nor rewritten by pytest, oldest first."""
    names = []
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        loader = type(getattr(spec, "loader", None)).__name__
        origin = getattr(spec, "origin", None)
        if spec is None or name.startswith(("_coderefine_inside", "__main__")) or loader == "AssertionRewritingHook":
            continue
        if origin and spec.name == name and not warm.ours(origin, top) and spec.has_location:
            names.append(name)
    return names
