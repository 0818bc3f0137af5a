"""Which functions of the project each test enters, and which lines it executes, recorded in the process itself.

`open_watch` records by sys.monitoring (Python 3.12+) or by a trace function. TestSteps keeps what each line of a test
ran, to separate setup from the failing assertion. LineRecorder serves cold runs. Programs that tests start record
themselves: as with coverage.py, `follow_programs` puts `site/sitecustomize.py` in front of their PYTHONPATH, and
`collect_followed` reads what they left. A program that is started with -I, -E or -S is not seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple, Type

from .live_functions import Key, key

if TYPE_CHECKING:  # a program that is followed imports no more than it needs
    from .failure_details import ProjectPaths

Hits = Set[Tuple[Key, int]]
"""(function, line); the line of a function that was only entered is its first."""
Row = List[Any]
"""A hit as JSON: path, first line and name of the function, the line."""

OUTSIDE = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"))
"""Audit events of a test that starts a program: it may run the project where we do not see it."""
UNKNOWN = -1
"""In place of the lines of a function, where they are not known."""
IDLE = 3000
"""Line events in one function without a new line, after which the function is watched no longer (Python < 3.12)."""


class Watch:
    """Records between `begin` and `end`.

    `wanted`: the functions of interest (None: all of files for which `ours` holds). `lines`: record executed lines,
    not only which functions are entered; without `entries` nothing but those. `stepped`: numbers of the tests whose
    own lines are told apart, which stand in files for which `tests` holds.
    """

    def __init__(
        self,
        ours: Callable[[str], bool],
        wanted: Optional[Set[Key]] = None,
        *,
        lines: bool = False,
        entries: bool = True,
        stepped: FrozenSet[int] = frozenset(),
        tests: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._ours = ours
        self._entries = entries
        self._lines = lines or wanted is not None
        self._stepped = stepped
        self._tests = tests
        self._testing: Dict[types.CodeType, bool] = {}
        self._step_by_step: Optional[TestSteps] = None
        self.steps: Dict[int, TestSteps] = {}
        """By the number of the test."""
        self._wanted = wanted
        self._known: Dict[types.CodeType, Optional[Key]] = {}
        self._hits: Hits = set()
        self._unsure = False
        sys.addaudithook(self._audited)
        self.start()

    def start(self) -> None:
        """Begin to look: the last step of making it."""

    def pause(self) -> None:
        """Look no more, until the next `begin`."""

    def begin(self, number: int = -1) -> None:
        self._hits = set()
        self._unsure = False
        self._step_by_step = TestSteps() if number in self._stepped else None
        if self._step_by_step is not None:
            self.steps[number] = self._step_by_step

    def end(self) -> "Tuple[Hits, bool]":
        """(what was hit, whether the test may have reached more than we can see)."""
        return self._hits, self._unsure

    def add(self, hits: Iterable[Row]) -> None:
        """Count what a process saw that the current test started."""
        self._hits.update(((path, first, name), line) for path, first, name, line in hits)

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
        elif event == "exec":
            self._executes(arguments[0])
        elif event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(".py"):
            caller = sys._getframe(1).f_code.co_filename
            if not caller.startswith("<frozen importlib") and self._ours(arguments[0]):
                self._unsure = True

    def _executes(self, code: object) -> None:
        """The program is about to execute `code`, which may be that of a module."""

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
            if self._entries:
                self._hit(place, code.co_firstlineno)
            if new and self._lines:
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
    """Python up to 3.11: a trace function; it enters frames only for lines, and only while those bring anything new.

    A trace function costs as much as every call in the process takes, so before the first test and between watched
    tests it is there only while a module of the project is executed (the audit event `exec` announces that).
    """

    def start(self) -> None:
        self._unseen: Dict[types.CodeType, Set[int]] = {}
        self._idle: Dict[types.CodeType, int] = {}
        self._testing_now = False
        self._module: Optional[types.CodeType] = None

    def pause(self) -> None:
        self._testing_now = False
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type,unused-ignore]

    def _executes(self, code: object) -> None:
        if self._testing_now or self._module is not None or not self._lines:
            return
        if isinstance(code, types.CodeType) and self._ours(code.co_filename):
            self._module = code
            sys.settrace(self._entered)

    def begin(self, number: int = -1) -> None:
        super().begin(number)
        self._forget()
        self._testing_now, self._module = True, None
        threading.settrace(self._entered)
        sys.settrace(self._entered)  # again: a RecursionError inside a trace function ends the tracing

    def _forget(self) -> None:
        """All lines count as new again."""
        self._unseen.clear()
        self._idle.clear()

    def _entered(self, frame: types.FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        code = frame.f_code
        place = self._known[code] if code in self._known else self._key(code)
        if place is None:
            return self._test_step if self._of_test(code) else None
        if self._entries:
            self._hit(place, code.co_firstlineno)
        if not self._lines:
            return None
        if code not in self._unseen:
            self._unseen[code] = _lines_of(code)
            self._idle[code] = 0
        return self._step if self._unseen[code] or code is self._module else None

    def _test_step(self, frame: types.FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        if event == "line" and self._step_by_step is not None and not self._step_by_step.full:
            self._step_by_step.begin(frame.f_code.co_filename, frame.f_lineno)
            self._forget()
        return self._test_step

    def _step(self, frame: types.FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002
        code = frame.f_code
        if event == "line":
            self._line(code, frame.f_lineno)
        elif event == "return" and code is self._module:
            self._module = None
            sys.settrace(None)
        return self._step if self._unseen.get(code, True) or code is self._module else None

    def _line(self, code: types.CodeType, line: int) -> None:
        """Count a line; a function that has brought nothing new for long is watched no longer."""
        if code not in self._unseen:  # a generator that goes on in a later line of the test
            self._unseen[code] = {UNKNOWN}
            self._idle[code] = 0
        unseen = self._unseen[code]
        place = (code.co_filename, code.co_firstlineno, code.co_name)
        if line in unseen or (place, line) not in self._hits:
            unseen.discard(line)
            self._hit(place, line)
            return
        if UNKNOWN in unseen and self._step_by_step is not None:
            self._step_by_step.now.add((place, line))
        self._idle[code] += 1
        if self._idle[code] > IDLE:
            unseen.clear()


def _lines_of(code: types.CodeType) -> Set[int]:
    """The lines of a function that have instructions; `UNKNOWN` on Python 3.9, which does not tell."""
    if not hasattr(code, "co_lines"):
        return {UNKNOWN}
    return {line for _, _, line in code.co_lines() if line}


open_watch: Type[Watch] = Monitor if hasattr(sys, "monitoring") else Tracer
"""Make a watch that already looks; see Watch for the parameters."""


def packed(
    numbers: Iterable[int], found: List[Hits], unsure: List[bool], top: str, steps: "Dict[int, TestSteps]"
) -> Dict[str, Any]:
    """`found` as JSON: a table of distinct hits (paths relative to `top`), and for each of `numbers` its rows.

    `unsure` has the tests that started a program or read a source file: what they reach cannot be known.
    `steps`, by the number of a test: see test_steps.py.
    """
    rows: Dict[Tuple[Key, int], int] = {}
    tests = [sorted(rows.setdefault(hit, len(rows)) for hit in hits) for hits in found]
    table = [[os.path.relpath(path, top), first, name, line] for (path, first, name), line in rows]
    places = list(numbers)[: len(found)]
    return {
        "table": table,
        "places": places,
        "tests": tests,
        "unsure": [place for place, flag in zip(places, unsure) if flag],  # noqa: B905 - Python 3.9
        "steps": {
            str(number): [[os.path.relpath(path, top), *rest] for path, *rest in one.packed(rows)]
            for number, one in steps.items()
        },
    }


# -- the lines of a test, one by one ----------------------------------------------------------------------


Hit = Tuple[Key, int]
Spot = Tuple[str, int]
"""File and line of a test."""

MOST = 2000
"""Lines of a test that are told apart; a test that loops longer is not taken apart at all."""


class TestSteps:
    """`now`: what ran since the line that was begun last."""

    def __init__(self) -> None:
        self.now: Set[Hit] = set()
        self._last: Dict[Spot, Set[Hit]] = {}
        self._before: Dict[Spot, Set[Hit]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        return self._count > MOST

    def begin(self, path: str, line: int) -> None:
        """A line of the test begins: what runs from now on is its own."""
        self._count += 1
        old = self._last.get((path, line))
        if old:
            self._before.setdefault((path, line), set()).update(old)
        self.now = self._last[path, line] = set()

    def packed(self, rows: "Dict[Hit, int]") -> List[Any]:
        """For each line: file, line, rows of what ran at its last time and at all times before; nothing when full."""
        if self.full:
            return []
        found = []
        for (path, line), last in self._last.items():
            before = self._before.get((path, line), set())
            if last or before:
                numbers = [sorted(rows[hit] for hit in hits if hit in rows) for hits in (last, before)]
                found.append([path, line, *numbers])
        return found


# -- lines by test, in a cold run -------------------------------------------------------------------------


Lines = Dict[str, List[int]]
"""Repo-relative path to the executed lines, ascending."""


class LineRecorder:
    """Collects lines between `begin` and `end`; what comes before the first `begin` is import time.

    `only`: repo-relative paths of the files of interest; all files of the project when it is empty.
    `chosen`: ids of the tests that are watched (None: all). On Python 3.12+ watching costs next to nothing, so there
    all tests are watched. `folder`: where Python programs that tests start leave what they executed; "" when they are
    not followed.
    """

    def __init__(
        self, paths: ProjectPaths, only: FrozenSet[str], chosen: Optional[FrozenSet[str]], folder: str
    ) -> None:
        self._paths = paths
        self._only = only
        self._chosen = chosen
        self._folder = folder
        self._ours: Dict[str, bool] = {}
        self.followed = False
        """Whether a program that the last test started left what it executed."""
        self._watch = open_watch(self.ours, lines=True, entries=False)
        if folder:
            follow_programs(folder, paths.top)

    def begin(self, test: str) -> bool:
        """A test starts: what was recorded before is not its own. False when it is not watched."""
        if self._chosen is not None and test not in self._chosen and isinstance(self._watch, Tracer):
            self._watch.pause()
            return False
        self._watch.begin()
        return True

    def end(self) -> Lines:
        """The lines since `begin`."""
        rows = [row for row in collect_followed(self._folder) if self.ours(row[0])] if self._folder else []
        self.followed = bool(rows)
        self._watch.add(rows)
        hits, _ = self._watch.end()
        self._watch.begin()
        found: Dict[str, Set[int]] = {}
        for (path, _, _), line in hits:
            found.setdefault(self._paths.relative(path), set()).add(line)
        return {path: sorted(lines) for path, lines in found.items()}

    def pause(self) -> None:
        """Watch no more: what plug-ins do at the end of a run would be slowed down."""
        self._watch.pause()

    def ours(self, path: str) -> bool:
        known = self._ours.get(path)
        if known is None:
            wanted = not self._only or self._paths.relative(path) in self._only
            known = self._ours[path] = wanted and self._paths.ours(path)
        return known


# -- Python programs that tests start ---------------------------------------------------------------------


FOLDER, TOP = "CODEREFINE_FOLLOW", "CODEREFINE_TOP"
"""Environment variables: where to leave what was seen, and the repository's top."""
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


def follow_programs(folder: str, top: str) -> None:
    """From now on programs that this process starts are followed."""
    os.makedirs(folder, exist_ok=True)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != SITE]
    os.environ.update({FOLDER: folder, TOP: top, "PYTHONPATH": os.pathsep.join([SITE, *paths])})


def collect_followed(folder: str) -> Iterator[List[Any]]:
    """Return what the programs executed that have ended since the last call: rows for test_coverage.Watch.add."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".json"):
            with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as stream:
                yield from json.load(stream)
            with contextlib.suppress(OSError):
                os.remove(path)


def record_program() -> None:
    """In a program that was started: watch it to its end."""
    import atexit

    folder, top = os.environ[FOLDER], os.environ[TOP]
    watch = open_watch(lambda path: path.startswith(top + os.sep) and "site-packages" not in path, lines=True)
    watch.begin()

    def leave() -> None:
        watch.pause()
        rows = [[path, first, name, line] for (path, first, name), line in watch.end()[0]]
        path = os.path.join(folder, "%d" % os.getpid())
        with contextlib.suppress(OSError):
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(rows, stream)
            os.replace(path, path + ".json")

    atexit.register(leave)
