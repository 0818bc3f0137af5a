"""Which lines of the project each test executes: `sys.monitoring` where there is one, else a tracer."""

from __future__ import annotations

import sys
import threading
from typing import Any, Dict, FrozenSet, List, Optional, Set

from .evidence import Scene

Lines = Dict[str, List[int]]
"""Repo-relative path to the executed lines, ascending."""


class Recorder:
    """Collects lines between `begin` and `end`; what comes before the first `begin` is import time."""

    def __init__(self, scene: Scene, only: FrozenSet[str] = frozenset()) -> None:
        self._scene = scene
        self._only = only
        self._ours: Dict[str, bool] = {}
        self._seen: Dict[str, Set[int]] = {}

    def start(self) -> None:
        """Begin to record."""

    def begin(self) -> None:
        """A test starts: what was recorded before is not its own."""
        self._seen = {}

    def end(self) -> Lines:
        """The lines since `begin`."""
        seen, self._seen = self._seen, {}
        return {self._scene.relative(path): sorted(lines) for path, lines in seen.items() if lines}

    def ours(self, path: str) -> bool:
        known = self._ours.get(path)
        if known is None:
            wanted = not self._only or self._scene.relative(path) in self._only
            known = self._ours[path] = wanted and self._scene.ours(path)
        return known


class Monitor(Recorder):
    """Python 3.12+: each line event is switched off after its first time and all are on again for the next test."""

    def start(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        tool = next(number for number in (3, 4, 2, 1, 5, 0) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "coderefine")
        self._off = monitoring.DISABLE
        self._tool = tool
        self._monitoring = monitoring
        events = monitoring.events
        self._line = events.LINE
        self._known: Dict[int, Any] = {}
        monitoring.register_callback(tool, events.LINE, self._on_line)
        monitoring.register_callback(tool, events.PY_START, self._on_start)
        monitoring.set_events(tool, events.PY_START)

    def begin(self) -> None:
        super().begin()
        self._monitoring.restart_events()

    def _on_start(self, code: Any, _: int) -> Any:
        if id(code) not in self._known and self.ours(code.co_filename):
            self._known[id(code)] = code
            self._monitoring.set_local_events(self._tool, code, self._line)
        return self._off

    def _on_line(self, code: Any, line: int) -> Any:
        self._seen.setdefault(code.co_filename, set()).add(line)
        return self._off


class Tracer(Recorder):
    """Python up to 3.11: a trace function that only enters the project's own frames."""

    def start(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def begin(self) -> None:
        super().begin()
        if sys.gettrace() is None:
            sys.settrace(self._enter)

    def _enter(self, frame: Any, *_: Any) -> Optional[Any]:
        path = frame.f_code.co_filename
        known = self._ours.get(path)
        if known is None:
            known = self.ours(path)
        return self._step if known else None

    def _step(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            self._seen.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self._step


def open_recorder(scene: Scene, only: FrozenSet[str] = frozenset()) -> Recorder:
    """A recorder that already records the project's files, or `only` these (repo-relative)."""
    recorder: Recorder = Monitor(scene, only) if hasattr(sys, "monitoring") else Tracer(scene, only)
    recorder.start()
    return recorder
