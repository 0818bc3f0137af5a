"""Which functions of the project each test reaches, and which lines inside chosen ones."""

from __future__ import annotations

import os
import sys
import threading
import types
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Set, Tuple

from .live import Key, key
from .steps import Steps

Hits = Set[Tuple[Key, int]]
"""(function, line); the line of a function that was only entered is its first."""


OUTSIDE = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"))
"""Audit events of a test that starts a program: it may run the project where we do not see it."""


class Watch:
    """Records between `begin` and `end`. `wanted` None: which functions are entered; else: lines within those.

    `stepped`: numbers of the tests that are taken apart by their own lines, which stand in files that `tests` knows.
    """

    def __init__(
        self,
        ours: Callable[[str], bool],
        wanted: Optional[Set[Key]] = None,
        stepped: FrozenSet[int] = frozenset(),
        tests: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._ours = ours
        self._stepped = stepped
        self._tests = tests
        self._testing: Dict[types.CodeType, bool] = {}
        self._step_by_step: Optional[Steps] = None
        self.steps: Dict[int, Steps] = {}
        """By the number of the test."""
        self._wanted = wanted
        self._known: Dict[types.CodeType, Optional[Key]] = {}
        self._hits: Hits = set()

        self._unsure = False
        sys.addaudithook(self._audited)

    def start(self) -> None:
        """Begin to look."""

    def begin(self, number: int = -1) -> None:
        self._hits = set()
        self._unsure = False
        self._step_by_step = Steps() if number in self._stepped else None
        if self._step_by_step is not None:
            self.steps[number] = self._step_by_step

    def end(self) -> "Tuple[Hits, bool]":
        """(what was hit, whether the test may have reached more than we can see)."""
        return self._hits, self._unsure

    def _hit(self, place: Key, line: int) -> None:
        self._hits.add((place, line))
        if self._step_by_step is not None:
            self._step_by_step.now.add((place, line))

    def _of_test(self, code: types.CodeType) -> bool:
        """Whether `code` stands in a test file, and its lines are to be told apart."""
        if self._step_by_step is None:
            return False
        if code not in self._testing:
            self._testing[code] = self._tests(code.co_filename)
        return self._testing[code]

    def _audited(self, event: str, arguments: Tuple[Any, ...]) -> None:
        if event in OUTSIDE:
            self._unsure = True
        elif event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(".py"):
            caller = sys._getframe(1).f_code.co_filename
            if not caller.startswith("<frozen importlib") and self._ours(arguments[0]):
                self._unsure = True

    def _key(self, code: types.CodeType) -> Optional[Key]:
        """The key of `code` when it is to be recorded; None otherwise."""
        if code not in self._known:
            place = key(code)
            good = self._ours(code.co_filename) and (self._wanted is None or place in self._wanted)
            self._known[code] = place if good else None
        return self._known[code]


class Monitor(Watch):
    """Python 3.12+: an event that was seen is switched off until the next test."""

    def start(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        tool = next(number for number in (4, 3, 2, 1, 5, 0) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "coderefine-reach")
        events = monitoring.events
        self._restart: Callable[[], None] = monitoring.restart_events
        self._off = monitoring.DISABLE
        self._set_lines: Callable[[types.CodeType], None] = lambda code: monitoring.set_local_events(
            tool, code, events.LINE
        )
        monitoring.register_callback(tool, events.PY_START, self._entered)
        monitoring.register_callback(tool, events.LINE, self._line)
        monitoring.set_events(tool, events.PY_START)

    def begin(self, number: int = -1) -> None:
        super().begin(number)
        self._restart()

    def _entered(self, code: types.CodeType, offset: int) -> Any:  # noqa: ARG002
        new = code not in self._known
        place = self._key(code)
        if place is not None:
            self._hit(place, code.co_firstlineno)
            if new and self._wanted is not None:
                self._set_lines(code)
        elif code not in self._testing and self._of_test(code):
            self._set_lines(code)
        return self._off

    def _line(self, code: types.CodeType, line: int) -> Any:
        steps = self._step_by_step
        if steps is not None and not steps.full and self._testing.get(code):
            steps.begin(code.co_filename, line)
            self._restart()  # what was seen and switched off before counts again
            return None
        place = self._key(code)
        if place is not None:
            self._hit(place, line)
        return self._off


class Tracer(Watch):
    """Python up to 3.11: a trace function; it enters frames only for lines."""

    def start(self) -> None:
        threading.settrace(self._entered)
        sys.settrace(self._entered)

    def begin(self, number: int = -1) -> None:
        super().begin(number)
        sys.settrace(self._entered)

    def _entered(self, frame: types.FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        code = frame.f_code
        place = self._known[code] if code in self._known else self._key(code)
        if place is None:
            return self._test_step if self._of_test(code) else None
        self._hit(place, code.co_firstlineno)
        return self._step if self._wanted is not None else None

    def _test_step(self, frame: types.FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        if event == "line" and self._step_by_step is not None:
            self._step_by_step.begin(frame.f_code.co_filename, frame.f_lineno)
        return self._test_step

    def _step(self, frame: types.FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        if event == "line":
            code = frame.f_code
            self._hit((code.co_filename, code.co_firstlineno, code.co_name), frame.f_lineno)
        return self._step


def open_watch(
    ours: Callable[[str], bool],
    wanted: Optional[Set[Key]] = None,
    stepped: FrozenSet[int] = frozenset(),
    tests: Callable[[str], bool] = lambda _: False,
) -> Watch:
    """A watch that already looks."""
    make = Monitor if hasattr(sys, "monitoring") else Tracer
    watch = make(ours, wanted, stepped, tests)
    watch.start()
    return watch


def packed(found: List[Hits], unsure: List[bool], top: str, steps: "Dict[int, Steps]") -> Dict[str, Any]:
    """`found` as JSON: a table of distinct hits (paths relative to `top`), for each test its rows.

    `unsure` has the tests that started a program or read a source file: what they reach cannot be known.
    `steps`, by the number of a test: see steps.py.
    """
    rows: Dict[Tuple[Key, int], int] = {}
    tests = [sorted(rows.setdefault(hit, len(rows)) for hit in hits) for hits in found]
    table = [[os.path.relpath(path, top), first, name, line] for (path, first, name), line in rows]
    return {
        "table": table,
        "tests": tests,
        "unsure": [place for place, flag in enumerate(unsure) if flag],
        "steps": {
            str(number): [[os.path.relpath(path, top), *rest] for path, *rest in one.packed(rows)]
            for number, one in steps.items()
        },
    }
