"""Judge hundreds of candidates: for each, a server that has loaded the project forks a resource-limited child."""

from __future__ import annotations

import contextlib
import itertools
import math
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from coderefine import proc
from coderefine.config import Config
from coderefine.core import Coverage, Event, Freedom, Listen, Patch, Status, Steps, Views
from coderefine.errors import RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Asked, Candidate, Codes, Comparison, Judged, Nearby, Plan, Watched
from coderefine.runner.client_channel import Message
from coderefine.runner.pool_state import BRIEF, LEAST, STATUSES, TRIED, PoolState, message
from coderefine.runner.pool_worker import ANSWER, PATIENCE, START, Worker, WorkerProcess, encoded, open_server
from coderefine.runner.reached_code import Function, Packed, ReachedCode, joined, steps_of
from coderefine.runner.scheduler import MARGIN, Scheduler
from coderefine.runner.test_selection import UNKNOWN, nearest, one_of_each, to_watch
from coderefine.sandbox import Bounds, steps
from coderefine.sandbox.permissions import machine_memory

__all__ = ["Candidate", "Judged", "Plan", "Pool", "open_pool"]

WAYS = ("own", "other", "within", "values")
"""Keys of agent/version_comparison.py, in the order of Nearby's fields after `around`."""
SLOW = 0.1
"""Passing tests that take more seconds than this are traced after the others, and may be in `Pool.costly`."""
LEAST_OTHERS = 1.5
"""Minimum seconds for tracing passing tests: without their lines, all lines of failing tests are equally suspicious."""
LINES, FUNCTIONS = 30.0, 6.0
"""Time limit of traced tests, in multiples of their usual duration: LINES if all lines are traced, else FUNCTIONS."""
SLACK = 1.5
"""CPU seconds that are added to the time limit of all tests that run in one process."""
CALLS = 8
"""Average number of calls of each watched function that are repeated, and of variants of each of these calls."""
PORTION, MOST = 0.1, 20
"""Maximum duration in seconds, and maximum number, of the tests that are observed in one process."""
DEATHS = 8
"""Number of processes that may crash before the tracing of passing tests is given up."""
WAITING = 4
"""Maximum number of workers per processor, if the failing tests wait more than they compute."""
MEMORY, SERVERS, SMALLEST = 0.25, 3, 64 << 20
"""Maximum share of the machine's memory for all workers if they are more than the processors, number of processes of
one worker, and minimum bytes of memory of one process."""
AT_ONCE = 600.0
"""Seconds for the observation of all tests, unless the caller limits it."""


@dataclass(frozen=True, slots=True)
class Order:
    """Tests to run on the unchanged tree, and how to trace them.

    `places`: indices of the tests. `limit`: CPU seconds after which the process is killed. `lines`: trace lines.
    `functions`: the functions to trace (empty: all). `watched`: False for no tracing. `seconds`: CPU time after which
    the tests are ended and the records so far are returned.
    """

    places: tuple[int, ...]
    limit: float
    lines: bool = False
    functions: frozenset[Function] = frozenset()
    watched: bool = True
    seconds: float = AT_ONCE

    def message(self) -> Mapping[str, object]:
        order = message(Candidate(0, {}), self.places, (), self.limit, keep_going=True)
        watch = sorted(self.functions) if self.watched else None
        return {**order, "watch": watch, "lines": self.lines, "seconds": self.seconds}


class Pool:
    """A set of workers that judge candidates; open it with `open_pool`. Not thread-safe.

    Only tests that have been observed (`observe`, `baseline`) are run on candidates.
    """

    def __init__(
        self,
        hire: Callable[[], Worker],
        workers: tuple[int, int],
        expected: Mapping[str, Status] | None,
        bounds: Sequence[Bounds | None],
        *,
        deadly: frozenset[str] = frozenset(),
        seconds: Mapping[str, float] | None = None,
        within: float = math.inf,
        listen: Listen = lambda _: None,
    ) -> None:
        """Start the servers. Raises RunnerError if they do not start.

        `hire`: makes a worker. `workers`: the number of workers, and their maximum number if the tests wait. `bounds`:
        the sandboxes to try, the tightest first. For the other parameters, see `open_pool`.
        """
        self._listen = listen
        self._until = time.monotonic() + within
        self.ends = math.inf
        """Time (monotonic) until which the pool waits for answers; the caller may set it."""
        self._hire = hire
        self._most = workers[1]
        self._workers = [hire() for _ in range(workers[0])]
        self._expected = expected
        self._deadly = deadly
        self._steps = list(bounds)
        self._cold = dict(seconds or {})
        self._state = PoolState(least=BRIEF if deadly else LEAST)
        self._packs: list[Packed] = []
        self._found: dict[str, Status] = {}
        self._wanted = 0
        """Number of the tests in `_found`, and of those that `observe` is to run."""
        self._reach = ReachedCode()
        self._lined: set[str] = set()
        self._patterns: list[object] = []
        self._deaths = 0
        self._setup = 0.0
        """CPU seconds that one test needs in a process of its own, with the fixtures that it shares with others."""
        self.steps: Steps = {}
        """The project's lines that each line of the failing tests executed; recorded by `observe`."""
        self.launches = 0
        """Number of times that the servers were started."""
        self.cpu = 0.0
        """CPU seconds spent so far on observing tests and comparing results."""
        self._idle = 0.0
        """Seconds in which the observed tests have waited, but not for a processor."""
        self.elsewhere: Callable[[Iterable[Candidate], Plan], Iterator[Judged]] | None = None
        """Set by the cluster: judges the candidates of plans with `many`, in place of this pool's workers."""
        self._begin()

    def _begin(self) -> None:
        """Start the servers in the tightest sandbox in which the project loads. Raises RunnerError if there is none."""
        try:
            self._launch(self._steps[0])
        except RunnerError:
            if len(self._steps) == 1 or time.monotonic() > self._until:
                raise
            self._launch(self._steps[-1])  # raises if the sandbox is not the cause
            while len(self._steps) > 1 and not self._loads(self._steps[1]):
                del self._steps[0]
            del self._steps[0]

    def _loads(self, bounds: Bounds | None) -> bool:
        try:
            self._launch(bounds)
        except RunnerError:
            return False
        return True

    def _launch(self, bounds: Bounds | None) -> None:
        self.launches += 1
        for worker in self._workers:
            worker.close()
            worker.bounds = bounds
            worker.launch()
        ready: list[Message] = []
        for worker in self._workers:
            self._listen(Event("search", "servers", len(ready), len(self._workers)))
            ready.append(worker.ready(min(START, max(0.0, self._until - time.monotonic()))))
        self._state.add(ready[0])
        # The duration of a test that hung is unknown: assume that of the slowest other test, if that is short.
        usual = min(UNKNOWN, max(self._cold.values(), default=UNKNOWN))
        self._state.seconds = {name: self._cold.get(name, usual) for name in self._state.tests}
        self._packs, self._found, self._reach, self._lined, self.steps = [], {}, ReachedCode(), set(), {}
        self._state.observed.clear()
        self._state.unfit = frozenset()
        self.confined: tuple[str, ...] = (*self._workers[0].server.confined, "rlimits")
        """Names of the mechanisms that confine the children."""

    @property
    def workers(self) -> int:
        """Return the number of workers."""
        return len(self._workers)

    @property
    def tests(self) -> tuple[str, ...]:
        """Return the ids of all collected tests, in collection order."""
        return self._state.tests

    @property
    def broken(self) -> Mapping[str, str]:
        """Return the nodes that pytest could not collect, such as modules, each with pytest's message."""
        return self._state.broken

    @property
    def unfit(self) -> frozenset[str]:
        """Return the tests whose outcome in a fork differs from the cold run's; they are not run on candidates."""
        return self._state.unfit

    @property
    def fit(self) -> tuple[str, ...]:
        """Return the tests that are run on candidates."""
        return self._state.fit((*self.tests, *self.broken))

    @property
    def costly(self) -> Mapping[str, float]:
        """Return the seconds of each slow test for which it is unknown which code it runs.

        All candidates must pass these tests. The code is unknown, for example, if the test starts a program.
        """
        unsure = {self.tests[place] for packed in self._packs for place in packed["unsure"]}
        known = self._reach.entered.keys() - unsure
        seconds = ((name, self._state.seconds.get(name, 0.0)) for name in self.fit if name not in known)
        return {name: spent for name, spent in seconds if spent > SLOW}

    @property
    def least(self) -> float:
        """Minimum CPU limit of a candidate, in seconds; `judge` raises it after a candidate that needed more."""
        return self._state.least

    @least.setter
    def least(self, seconds: float) -> None:
        self._state.least = seconds

    def baseline(self) -> Mapping[str, Status]:
        """Return the statuses of all collected tests on the unchanged tree; first run the tests not observed yet."""
        if set(self.tests) - self._state.observed - self._deadly:
            self.observe((), None)
        return {**dict.fromkeys(self.broken, Status.ERROR), **self._found}

    def observe(self, failing: Sequence[str], others: Sequence[str] | None, seconds: float = AT_ONCE) -> Coverage:
        """Run tests on the unchanged tree; record their outcomes in a fork, and the functions that they reach.

        Return the executed lines by test. The tests `failing` run first, and all lines that they execute are traced; if
        their outcomes differ from the cold run, the sandbox is loosened step by step as far as this helps. Then the
        tests `others` (None: all collected tests) run for `seconds`, the nearest to `failing` first; for these, only
        the functions that `failing` reach are traced. A test that crashes, hangs or cannot be traced does not affect
        other tests.
        """
        chosen = self.tests if others is None else others
        self._wanted = len({*self._found, *failing, *chosen} & self._state.places.keys())
        self._measure_setup(failing or chosen, seconds)
        until = time.monotonic() + seconds
        self._observe_failing(failing, until)
        self._loosen(failing, until)
        more = list(self._more_workers())  # they start during the observation of the other tests
        until = max(until, time.monotonic() + LEAST_OTHERS + self._setup)
        rest = nearest(failing, chosen)
        rest.sort(key=lambda name: self._state.seconds.get(name, UNKNOWN) > SLOW)
        places = [place for place in self._without_deadly(self._known(rest)) if self.tests[place] not in self._found]
        self._observe_others(places, self._reach.functions(failing), until)
        for done, worker in enumerate(more):
            self._listen(Event("search", "further servers", done, len(more)))
            self._add(worker)
        self._teach()
        return {test: lines for test, lines in self._reach.lines().items() if test in self._lined}

    def _more_workers(self) -> Iterator[Worker]:
        """Launch more workers if processors would be idle because the failing tests wait, for example in `sleep`."""
        waiting = self._idle / self.cpu if self.cpu else 0.0
        for _ in range(len(self._workers), min(self._most, int(len(self._workers) * (1.0 + waiting)))):
            worker = self._hire()
            worker.bounds = self._workers[0].bounds
            worker.launch()
            yield worker

    def _add(self, worker: Worker) -> None:
        """Add `worker` to the pool as soon as its servers are ready; close it if they do not start."""
        try:
            worker.ready(self._left(START))
        except RunnerError:
            worker.close()
        else:
            self._workers.append(worker)

    def observe_rest(self, failing: Sequence[str], seconds: float) -> Mapping[str, float]:
        """For `seconds`, run the tests that were not observed yet, without tracing, the nearest to `failing` first.

        Return the seconds of each test that passed. The code that these tests reach stays unknown.
        """
        known = self._state.observed
        rest = [place for place in self._known(nearest(failing, self.tests)) if self.tests[place] not in known]
        self._wanted = len(self._found) + len(rest)
        self._observe_unwatched(self._without_deadly(rest), time.monotonic() + seconds)
        self._teach()
        names = [self.tests[place] for place in rest]
        passed = (name for name in self._state.fit(names) if name in self._found and not self._found[name].bad)
        return {name: self._state.seconds.get(name, 0.0) for name in passed}

    def _loosen(self, failing: Sequence[str], until: float) -> None:
        """Loosen the sandbox step by step while outcomes of `failing` differ from the cold run."""
        for bounds in self._steps[1:]:
            if self.unfit.isdisjoint(failing) or time.monotonic() > until:
                return
            before = self.unfit
            self._launch(bounds)
            self._observe_failing(failing, until)
            if before == self.unfit and bounds is self._steps[-1]:
                self._launch(self._steps[0])  # the sandbox is not the cause
                self._observe_failing(failing, until)

    def entered(self, tests: Sequence[str], seconds: float) -> Mapping[str, frozenset[Function]]:
        """Run `tests` on the unchanged tree, in this order, for `seconds`; return the functions that each test enters.

        Tests that did not run, or that crashed, are missing.
        """
        self._observe_others(self._without_deadly(self._known(tests)), frozenset(), time.monotonic() + seconds)
        return self._reach.entered

    def _observe_others(self, places: Sequence[int], functions: frozenset[Function], until: float) -> None:
        """Observe passing tests.

        If a test crashes its process, observe the other tests of this process again, and later run the test without
        tracing. If a process ended because its time was over, observe its remaining tests if there is time left.
        """
        waiting, alone = deque(places), list[int]()
        for order, answer in self._shared(self._portions(waiting, functions, until)):
            self._take(order, answer)
            again = self._again(order, answer, until)
            if again:
                alone.append(answer["running"])
                waiting.extendleft(place for place in reversed(again) if place != answer["running"])
        self._observe_unwatched(place for place in alone if place >= 0)

    def _again(self, order: Order, answer: Message, until: float) -> Sequence[int]:
        """Return the tests to run again: all tests of a crashed process, or the tests for which no time was left."""
        if answer.get("died"):
            return order.places
        left = [place for place in order.places if self.tests[place] not in self._found]
        return left if "running" in answer and self._may_watch(until) else ()

    def _measure_setup(self, names: Sequence[str], seconds: float) -> None:
        """Run one test of `names` in a child without tracing, for `seconds` at most, to find out the time limits.

        Each child sets up the fixtures that tests share, such as a database, but the cold run counts their duration for
        the first test that uses them. The chosen test is therefore a fast one in the file of the slowest test.
        """
        places = self._without_deadly(self._known(names))
        slowest = max(self._cold, key=self._cold.__getitem__, default="")
        if not places or self._cold.get(slowest, 0.0) <= LEAST:
            return
        file = slowest.partition("::")[0]
        place = min(places, key=lambda one: (self.tests[one].partition("::")[0] != file, self._duration(one)))
        limit = min(seconds, SLACK + FUNCTIONS * self._cold[slowest])
        for _, answer in self._shared([Order((place,), limit, watched=False)]):
            if answer and "slow" not in answer and not answer["died"]:
                self._setup = answer["cpu"]
                self._state.least = max(self._state.least, MARGIN * answer["cpu"])

    def _observe_failing(self, failing: Sequence[str], until: float) -> None:
        """Observe failing tests in one process; if it crashes, observe the tests without a result one by one.

        Some lines, for example lines that fill a cache, run only for the first test of a process. If each test had a
        separate process, all tests would execute these lines, and the lines would look suspicious.
        """
        places = self._without_deadly(self._known(one_of_each(failing)))
        chosen = self._known(to_watch([self.tests[place] for place in places], self._state.seconds))
        seconds = max(0.0, until - time.monotonic())
        limit = max(self._limit(chosen, LINES), seconds + SLACK)
        together = Order(tuple(sorted(chosen)), limit, lines=True, seconds=seconds)
        self._take_all([together] if chosen else [])
        unseen = (place for place in chosen if self.tests[place] not in self._reach.entered)
        alone = (Order((place,), self._limit([place], LINES), lines=True) for place in list(unseen))
        self._take_all(itertools.takewhile(lambda _: self._may_watch(until), alone))
        self._observe_unwatched([place for place in places if self.tests[place] not in self._found])
        for name in self._deadly & set(failing) & set(self._state.places):
            self._note(name, Status.ERROR)  # its status in the cold run; candidates run it
        self._teach()

    def _take_all(self, orders: Iterable[Order]) -> None:
        for order, answer in self._shared(orders):
            self._take(order, answer)

    def _observe_unwatched(self, places: Iterable[int], until: float = math.inf) -> None:
        """Run tests without tracing, at most MOST in one process, until the time `until` (monotonic).

        If a process crashes, run its tests one by one; a test that crashes although it runs alone counts as an error,
        as in a cold run.
        """
        waiting, alone = list(places), list[int]()
        starts = itertools.takewhile(lambda _: time.monotonic() < until, range(0, len(waiting), MOST))
        parts = (tuple(waiting[first : first + MOST]) for first in starts)
        for order, answer in self._shared(Order(part, self._limit(part, 1.0), watched=False) for part in parts):
            if len(order.places) > 1 and answer.get("died", "it crashed the server") and "slow" not in answer:
                alone += order.places
            else:
                self._take(order, answer)
        self._take_all(Order((place,), self._limit([place], 1.0), watched=False) for place in alone)

    def _may_watch(self, until: float) -> bool:
        return time.monotonic() < until and not self._state.never_hot

    def _portions(self, waiting: deque[int], functions: frozenset[Function], until: float) -> Iterator[Order]:
        """Yield portions of the `waiting` tests, in this order, until the time `until` (monotonic)."""
        while waiting and self._may_watch(until) and self._deaths <= DEATHS:
            portion: list[int] = []
            room = max(PORTION, self._setup)
            while waiting and room > 0 and len(portion) < MOST:
                place = waiting.popleft()
                portion.append(place)
                room -= self._duration(place)
            seconds = min(self._limit(portion, FUNCTIONS), max(0.0, until - time.monotonic()))
            yield Order(tuple(sorted(portion)), seconds + SLACK + self._setup, functions=functions, seconds=seconds)

    def _limit(self, places: Iterable[int], factor: float) -> float:
        return SLACK + FUNCTIONS * self._setup + factor * sum(map(self._duration, places))

    def _duration(self, place: int) -> float:
        return self._state.seconds[self.tests[place]]

    def _shared(self, orders: Iterable[Order]) -> Iterator[tuple[Order, Message]]:
        """Yield each order with the answer of the worker that executed it; the answer is empty if the server ended."""
        source = iter(orders)
        free = list(self._workers)
        busy: dict[int, tuple[Worker, Order]] = {}
        while True:
            while free and (order := next(source, None)) is not None:
                worker = free.pop()
                if worker.down:
                    worker.restart(self._left(START))
                worker.server.hot.send(order.message())
                busy[worker.server.hot.fileno()] = (worker, order)
            if not busy:
                return
            for worker, order, answer in _answered(busy, self._left()):
                free.append(worker)
                yield order, answer

    def _left(self, most: float = math.inf) -> float:
        """Return the seconds until `ends`, at most `most`."""
        return max(0.0, min(most, self.ends - time.monotonic()))

    def _take(self, order: Order, answer: Message) -> None:
        """Store the results of one process; if it crashed, only the results of the tests that had ended."""
        if "slow" in answer:
            self._state.never_hot = answer["slow"]
            self._observe_warm(order)
            return
        if not answer:
            return
        self.cpu += answer["cpu"]
        self._idle += answer["idle"]
        for name, status in self._state.statuses(answer).items():
            self._note(name, status)
        self._state.habits |= frozenset(answer["changed"])
        if answer["died"]:
            self._deaths += 1
            if not order.watched:
                self._note(self.tests[order.places[0]], Status.ERROR)
        elif order.watched and answer["result"]:
            self._learn(order, answer["result"])
        self._listen(Event("tests", done=len(self._found), total=self._wanted))

    def _learn(self, order: Order, result: Message) -> None:
        """Store the functions and lines that the tests of `order` reached."""
        packed = result["reach"]
        self._packs.append(packed)
        self._reach |= ReachedCode.of(self.tests, packed)
        if order.lines or order.functions:
            self._lined.update(self.tests[place] for place in order.places)
        self.steps = {**self.steps, **steps_of(self.tests, packed)}
        self._patterns = result["patterns"] or self._patterns

    def _observe_warm(self, order: Order) -> None:
        """Run the tests of `order` in the warm server, if the hot server cannot; which code they reach is unknown."""
        worker = self._workers[0]
        worker.preload(self._state.preload)
        names = [self.tests[place] for place in order.places]
        worker.server.warm.send(message(Candidate(0, {}), names, (), order.limit + START, keep_going=True))
        answer = worker.server.warm.wait(order.limit + START + ANSWER)
        for name, status in self._state.statuses(answer).items():
            self._note(name, status)

    def _note(self, name: str, status: Status) -> None:
        """Store the status of a test; if the status differs from the cold run's, mark the test as unfit."""
        self._found[name] = status
        self._state.observed.add(name)
        if self._expected is not None and self._expected.get(name) is not status:
            self._state.unfit |= {name}
        else:
            self._state.unfit -= {name}

    def _teach(self) -> None:
        """Send the servers the functions that each test reaches, and the tests to try as direct calls."""
        self._state.preload = {**self._state.preload, "patterns": self._patterns}
        order = {status: byte for byte, status in enumerate(STATUSES)}
        statuses = bytes(order[self._found.get(name)] for name in self.tests)
        learned = {
            **joined(self._packs),
            "patterns": self._patterns,
            "quick": self._without_deadly(self._state.quick()),
            "statuses": statuses.hex(),
            "patience": LEAST + TRIED,
        }
        for worker in self._workers:
            if worker.down:
                worker.restart()
            worker.learn(learned)

    def _without_deadly(self, places: Iterable[int]) -> list[int]:
        """Return `places` without the tests that hang or crash: they would also end the other tests of the process."""
        return [place for place in places if self.tests[place] not in self._deadly]

    def _known(self, names: Iterable[str]) -> list[int]:
        """Return the indices of the tests in `names` that were collected."""
        return [self._state.places[name] for name in names if name in self._state.places]

    def probe(
        self,
        candidates: Sequence[Candidate],
        tests: Sequence[str],
        seconds: float,
        failing: Sequence[str] = (),
        repaired: Mapping[str, int] = MappingProxyType({}),
    ) -> Comparison:
        """Compare the results of `candidates` for the calls that `tests` make, and for variants of these calls.

        Candidates that the hot server cannot run are left out; changes that take effect only at import are ignored.
        The comparison is empty if the probe crashed. `failing`: those of `tests` that fail. `seconds`: CPU time for
        the calls of all candidates together; calls for which no time is left are left out. `repaired`: by test, the
        number of a candidate with which the test passes; if the test hangs or crashes in the unchanged program, its
        calls are recorded with this candidate.
        """
        deadly: dict[str, list[int]] = {}
        for name, number in repaired.items():
            deadly.setdefault(str(number), []).extend(self._known({name} & self._deadly))
        more = {"failing": self._known(failing), "rough": True, "repaired": list(deadly.items())}
        results = self._answers(candidates, tests, seconds, more)
        codes = {int(number or 0): tuple(row) for number, row in results.get("codes", {}).items()}
        asked = (
            Asked(place, call, module, {int(number or 0): text for number, text in texts.items()})
            for place, call, module, texts in results.get("asked", ())
        )
        return Comparison(codes, results.get("kinds", ""), tuple(asked))

    def answers(self, tests: Sequence[str], seconds: float) -> Mapping[str, Codes]:
        """Execute the calls that `tests` make, and variants of these calls, twice; return both results by label.

        The label of a call is the same in other versions of the program. The result is empty if the probe crashed.
        """
        return _twice(self._answers((Candidate(1, {}),), tests, seconds))

    def watched(
        self, tests: Sequence[str], seconds: float, units: Sequence[tuple[Function, str]], modules: Sequence[str]
    ) -> Watched:
        """Record the calls of some functions while `tests` run; then repeat calls, and execute variants of them.

        `units`: the functions, each with the name for its records (`path::name`). `modules`: files of modules whose
        attributes are read before and after the tests. The tests run until all have ended, or until the CPU time for
        them is over. If the probe crashed, the result has no answers.
        """
        most = CALLS * max(len(units), CALLS)
        more = {
            "watched": [(*function, unit) for function, unit in units],
            "modules": list(modules),
            "most": most,
            "near": CALLS * most,
            "tests": self._without_deadly(self._known(tests)),
        }
        results = self._answers((Candidate(1, {}),), tests, seconds, more)
        traces = results["traces"]
        return Watched(
            _twice(results),
            {unit: frozenset(lines) for one in traces[:1] for unit, lines in one["lines"].items()},
            [one["results"] for one in traces],
            [(before, after) for one in traces for before, after in [one["values"]]],
            results["untraced"],
            {label: (code,) for label, code in results.get("generated", {}).items()},
        )

    def nearby(self, tests: Sequence[str], seconds: float, other: Mapping[str, bytes | None]) -> Nearby:
        """Run the calls of `tests`, and variants of them, in this version and in the version with the files `other`.

        The result is empty if the probe crashed.
        """
        results = self._answers((), tests, seconds, {"other": encoded(other)})
        calls, sizes = results.get("labels", ()), results.get("sizes", ())
        ends = list(itertools.accumulate(sizes, initial=len(sizes)))
        blocks = (tuple(calls[first:end]) for first, end in itertools.pairwise(ends))
        pairs = (zip(*results.get(way, ((), ())), strict=False) for way in WAYS)
        answered = (dict(zip(calls, pair, strict=False)) for pair in pairs)
        return Nearby(dict(zip(calls, blocks, strict=False)), *answered)

    def _answers(
        self,
        candidates: Sequence[Candidate],
        tests: Sequence[str],
        seconds: float,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> Message:
        """Return the results of the hot server's probe; they are missing if it crashed."""
        places = self._quick(self._known(tests), seconds)
        worker = self._workers[0]
        if worker.down:
            worker.restart(self._left(START))
        most = int(LEAST + 3 * seconds)

        def waiting(spent: float) -> None:
            self._listen(Event("search", "seconds", min(int(spent), most), most))

        worker.server.hot.send(
            {
                "kind": "probe",
                "candidates": {str(one.number): encoded(one.files) for one in candidates},
                "tests": places,
                "seconds": seconds,
                "limit": LEAST + 3 * seconds,
                **more,
            }
        )
        try:
            answer = worker.server.hot.wait(self._left() if self.ends < math.inf else 3 * seconds + ANSWER, waiting)
        except RunnerError:
            worker.close()  # else a late answer would be taken for the answer about the next candidate
            raise
        self.cpu += answer["cpu"]
        results: Message = answer["results"]
        return results

    def _quick(self, places: Sequence[int], seconds: float) -> list[int]:
        """Return the first of `places` that together take up to `seconds`, without tests that crash or hang."""
        kept, spent = [], 0.0
        for place in self._without_deadly(places):
            spent += self._state.seconds.get(self.tests[place], 0.0)
            if spent <= seconds:
                kept.append(place)
        return kept

    def judge(
        self, candidates: Iterable[Candidate], plan: Plan, meanwhile: Callable[[], None] | None = None
    ) -> Iterator[Judged]:
        """Judge `candidates`; yield each verdict as soon as it is known.

        The next candidate is requested from the iterable when a worker is free. Closing the returned iterator
        kills the running candidates. `meanwhile` is called repeatedly while candidates run. Raises RunnerError if the
        servers keep crashing.
        """
        if not self._state.observed and self.tests:
            self.baseline()
        if plan.many and self.elsewhere:
            return self.elsewhere(candidates, plan)
        return Scheduler(self._workers, self._state, plan, meanwhile).run(candidates)


def _twice(results: Message) -> Mapping[str, Codes]:
    """Return both results of each call, by label; candidate 1 of the probe is the unchanged program, too."""
    codes = results.get("codes", {})
    pairs = zip(codes.get("", ()), codes.get("1", ()), strict=False)
    return dict(zip(results.get("labels", ()), pairs, strict=False))


def _answered(busy: dict[int, tuple[Worker, Order]], left: float) -> Iterator[tuple[Worker, Order, Message]]:
    """Remove the workers that have answered from `busy`; yield each worker with its order and its answer.

    If no worker answers in time, all workers count as crashed, with empty answers. `left`: maximum seconds to wait.
    """
    longest = max(order.limit for _, order in busy.values()) * PATIENCE + ANSWER
    ready, _, _ = select.select(list(busy), [], [], min(longest, left))
    for fd in ready or list(busy):
        worker, order = busy.pop(fd)
        try:
            answer = worker.server.hot.wait(ANSWER if ready else 0.0)
        except RunnerError:
            worker.died()
            answer = {}
        yield worker, order, answer


@contextlib.contextmanager
def open_pool(
    views: Views,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    *,
    patch: Patch = Patch(),
    workers: int | None = None,
    expected: Mapping[str, Status] | None = None,
    deadly: frozenset[str] = frozenset(),
    seconds: Mapping[str, float] | None = None,
    files: Sequence[str] | None = None,
    imports: Sequence[str] = (),
    freedom: Freedom = Freedom(),
    within: float = math.inf,
    listen: Listen = lambda _: None,
) -> Iterator[Pool]:
    """Open a pool of `workers`, each in a view of its own with `patch` applied.

    The default is one worker per processor, and up to WAITING if the failing tests wait more than they compute.
    `expected`: the cold baseline's statuses; tests whose outcome in a fork differs are left out (`Pool.unfit`).
    `deadly`: tests that hung or crashed in the cold run; they are run on candidates only. `seconds`: duration of each
    test in the cold run. `files`: the test files to collect (None: all). `imports`: files whose modules the servers
    import after that, even if the program imports them only later: candidates that change a module which is not loaded
    take long, and are not compared. `freedom`: the first step of the sandbox, and the permissions that the tests need.
    `within`: seconds in which the servers must be ready. `listen`: is told the progress of loading, observing and
    comparing.
    Raises RunnerError if the tests cannot be collected, or if the system cannot fork: see cold_pool.py.
    """
    if sys.platform == "win32":
        raise RunnerError("candidates are judged in forks, which Windows does not have")
    with contextlib.ExitStack() as stack:

        @contextlib.contextmanager
        def start(bounds: Bounds | None) -> Iterator[WorkerProcess]:
            server = partial(
                open_server,
                cwd=place.prefix,
                origin=place.top,
                extra=config.pytest_args,
                files=files,
                imports=imports,
            )
            strict = config.sandbox == "strict"
            with views.open(patch) as view, server(view, interpreter.path, bounds=bounds, strict=strict) as opened:
                yield opened

        def hire() -> Worker:
            worker = Worker(start)
            stack.callback(worker.close)
            return worker

        count = workers or proc.processors()
        room = int(MEMORY * machine_memory()) // (SERVERS * max(freedom.needs.memory, SMALLEST))
        most = count if workers else max(count, min(WAITING * count, room))
        ladder = steps(config, freedom.needs)
        allowed = ladder[freedom.step :] or ladder[-1:]
        yield Pool(hire, (count, most), expected, allowed, deadly=deadly, seconds=seconds, within=within, listen=listen)
