"""Judges candidates by the hundred: servers that have the project loaded fork a limited child for each."""

from __future__ import annotations

import contextlib
import itertools
import math
import select
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from coderefine.config import Config
from coderefine.core import Coverage, Freedom, Patch, Status, Views
from coderefine.errors import RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Asked, Candidate, Codes, Comparison, Judged, Nearby, Plan
from coderefine.runner.client_channel import Message
from coderefine.runner.pool_state import LEAST, STATUSES, TRIED, PoolState, message
from coderefine.runner.reached_code import Function, Packed, ReachedCode, Steps, joined, steps_of
from coderefine.runner.scheduler import Scheduler
from coderefine.runner.test_selection import UNKNOWN, nearest, one_of_each, to_watch
from coderefine.runner.worker import ANSWER, PATIENCE, START, Worker, WorkerProcess, encoded, open_server, usual_workers
from coderefine.sandbox import Bounds, steps

__all__ = ["Candidate", "Judged", "Plan", "Pool", "open_pool"]

WAYS = (("own", "own2"), ("other", "other2"), ("within", "within2"), ("own value", "other value"))
"""How two versions are asked, each twice; see agent/version_comparison.py."""
SLOW = 0.1
"""Seconds from which on a passing test is watched after the others only."""
LEAST_OTHERS = 1.5
"""Seconds that passing tests are watched in any case: without them every line of a failing test looks the same."""
LINES, FUNCTIONS = 30.0, 6.0
"""How many times slower a test may be while lines, or some functions, are watched, before it is ended."""
SLACK = 1.5
"""... and CPU seconds that it may take in any case."""
PORTION, MOST = 0.1, 20
"""Seconds of tests, and number of tests, that are observed in one process."""
DEATHS = 8
"""Tests that may end a process while they are observed, before no more are."""
AT_ONCE = 600.0
"""Seconds for the observation of all tests where nothing bounds it."""


@dataclass(frozen=True, slots=True)
class Order:
    """Tests to run on the unchanged tree, by their places, and how closely to watch them.

    `functions`: those of interest (none: all). `watched` False: not at all.
    """

    places: tuple[int, ...]
    limit: float
    lines: bool = False
    functions: frozenset[Function] = frozenset()
    watched: bool = True

    def message(self) -> Mapping[str, object]:
        order = message(Candidate(0, {}), self.places, (), self.limit, keep_going=True)
        stepped = self.places if self.lines else ()
        watch = sorted(self.functions) if self.watched else None
        return {**order, "watch": watch, "lines": self.lines, "stepped": stepped, "followed": self.lines}


class Pool:
    """Open with `open_pool`. Not for use from several threads.

    Only tests that have been observed (`observe`, `baseline`) are asked of candidates.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        expected: Mapping[str, Status] | None,
        bounds: Sequence[Bounds | None],
        *,
        deadly: frozenset[str] = frozenset(),
        seconds: Mapping[str, float] | None = None,
        within: float = math.inf,
    ) -> None:
        self._until = time.monotonic() + within
        self._workers = workers
        self._expected = expected
        self._deadly = deadly
        self._steps = list(bounds)
        self._cold = dict(seconds or {})
        self._state = PoolState()
        self._packs: list[Packed] = []
        self._found: dict[str, Status] = {}
        self._reach = ReachedCode()
        self._lined: set[str] = set()
        self._patterns: list[object] = []
        self._deaths = 0
        self.steps: Steps = {}
        """What `observe` saw of the failing tests, line by line of them."""
        self.loosened = ""
        """What the project's own tests need beyond the tightest sandbox; "" for nothing."""
        self._begin()

    def _begin(self) -> None:
        """As tightly as the project can be loaded at all. Raises RunnerError when it never can."""
        try:
            self._launch(self._steps[0])
        except RunnerError:
            if len(self._steps) == 1 or time.monotonic() > self._until:
                raise
            self._launch(self._steps[-1])  # raises where the sandbox is not to blame
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
        for worker in self._workers:
            worker.close()
            worker.bounds = bounds
            worker.launch()
        ready = [worker.ready(min(START, max(0.0, self._until - time.monotonic()))) for worker in self._workers]
        self._state.add(ready[0])
        # How long a test that hangs would take is unknown: assume as long as the slowest other, if that is short.
        usual = min(UNKNOWN, max(self._cold.values(), default=UNKNOWN))
        self._state.seconds = {name: self._cold.get(name, usual) for name in self._state.tests}
        self._packs, self._found, self._reach, self._lined, self.steps = [], {}, ReachedCode(), set(), {}
        self._state.observed.clear()
        self._state.unfit = frozenset()
        self.confined: tuple[str, ...] = (*self._workers[0].server.confined, "rlimits")
        """What confines the children here."""
        self.loosened = bounds.name if bounds else "not confined"

    @property
    def tests(self) -> tuple[str, ...]:
        """Ids of all collected tests, in collection order."""
        return self._state.tests

    @property
    def broken(self) -> Mapping[str, str]:
        """Nodes that could not be collected, and pytest's message."""
        return self._state.broken

    @property
    def unfit(self) -> frozenset[str]:
        """Tests whose outcome in a fork differs from the cold run's: they are never asked."""
        return self._state.unfit

    @property
    def retracted(self) -> frozenset[str]:
        """Tests whose direct call and pytest's protocol disagreed on some candidate; the protocol was believed."""
        return frozenset(self._state.retracted)

    def baseline(self) -> Mapping[str, Status]:
        """The servers' own statuses of all collected tests on the unchanged tree; what is observed is not run again."""
        if set(self.tests) - self._state.observed - self._deadly:
            self.observe((), None)
        return {**dict.fromkeys(self.broken, Status.ERROR), **self._found}

    def observe(self, failing: Sequence[str], others: Sequence[str] | None, seconds: float = AT_ONCE) -> Coverage:
        """Run tests on the unchanged tree: how they end in a fork, which functions they reach. Lines by test.

        `failing` tests come first and are watched line by line; where they behave differently from the cold run, the
        sandbox is loosened step by step, if that helps. Then `others` (None: all that are collected) for `seconds`,
        the nearest to `failing` first, watched inside the functions that `failing` reach. A test that dies, hangs or
        cannot be watched costs itself only.
        """
        until = time.monotonic() + seconds
        self._observe_failing(failing, until)
        self._loosen(failing, until)
        until = max(until, time.monotonic() + LEAST_OTHERS)
        rest = nearest(failing, self.tests if others is None else others)
        rest.sort(key=lambda name: self._state.seconds.get(name, UNKNOWN) > SLOW)
        places = [place for place in self._harmless(self._known(rest)) if self.tests[place] not in self._found]
        self._observe_others(places, self._reach.functions(failing), until)
        self._teach()
        return {test: lines for test, lines in self._reach.lines().items() if test in self._lined}

    def _loosen(self, failing: Sequence[str], until: float) -> None:
        """Loosen the sandbox step by step while some of `failing` end otherwise than in the cold run."""
        for bounds in self._steps[1:]:
            if self.unfit.isdisjoint(failing) or time.monotonic() > until:
                return
            before = self.unfit
            self._launch(bounds)
            self._observe_failing(failing, until)
            if before == self.unfit and bounds is self._steps[-1]:
                self._launch(self._steps[0])  # the sandbox is not to blame
                self._observe_failing(failing, until)

    def _observe_others(self, places: Sequence[int], functions: frozenset[Function], until: float) -> None:
        """What else was observed in a process that a test ended is observed again; that test alone."""
        waiting, alone = deque(places), list[int]()
        for order, answer in self._shared(self._portions(waiting, functions, until)):
            self._take(order, answer)
            if answer and answer.get("died"):
                alone.append(answer["running"])
                waiting.extendleft(reversed([place for place in order.places if place != answer["running"]]))
        self._observe_unwatched(place for place in alone if place >= 0)

    def _observe_failing(self, failing: Sequence[str], until: float) -> None:
        """All in one process first; each alone where that process dies, for those it had not come to."""
        places = self._harmless(self._known(one_of_each(failing)))
        chosen = self._known(to_watch([self.tests[place] for place in places], self._state.seconds))
        together = Order(tuple(sorted(chosen)), self._limit(chosen, LINES), lines=True)
        self._take_all([together] if chosen else [])
        unseen = (place for place in chosen if self.tests[place] not in self._reach.entered)
        alone = (Order((place,), self._limit([place], LINES), lines=True) for place in list(unseen))
        self._take_all(itertools.takewhile(lambda _: self._may_watch(until), alone))
        self._observe_unwatched([place for place in places if self.tests[place] not in self._found])
        for name in self._deadly & set(failing) & set(self._state.places):
            self._note(name, Status.ERROR)  # as the cold run found it: on candidates it is run
        self._teach()

    def _take_all(self, orders: Iterable[Order]) -> None:
        for order, answer in self._shared(orders):
            self._take(order, answer)

    def _observe_unwatched(self, places: Iterable[int]) -> None:
        """Each alone: one that still ends its process is an error here, as a cold run would call it."""
        self._take_all(Order((place,), self._limit([place], 1.0), watched=False) for place in places)

    def _may_watch(self, until: float) -> bool:
        return time.monotonic() < until and not self._state.never_hot

    def _portions(self, waiting: deque[int], functions: frozenset[Function], until: float) -> Iterator[Order]:
        """The tests that are `waiting`, in this order, as many as can be observed `until` then."""
        while waiting and self._may_watch(until) and self._deaths <= DEATHS:
            portion: list[int] = []
            room = PORTION
            while waiting and room > 0 and len(portion) < MOST:
                place = waiting.popleft()
                portion.append(place)
                room -= self._state.seconds[self.tests[place]]
            yield Order(tuple(sorted(portion)), self._limit(portion, FUNCTIONS), functions=functions)

    def _limit(self, places: Iterable[int], factor: float) -> float:
        return SLACK + factor * sum(self._state.seconds[self.tests[place]] for place in places)

    def _shared(self, orders: Iterable[Order]) -> Iterator[tuple[Order, Message]]:
        """The answers to `orders`, each carried out by the next free worker; empty where its server died."""
        source = iter(orders)
        free = list(self._workers)
        busy: dict[int, tuple[Worker, Order]] = {}
        while True:
            while free and (order := next(source, None)) is not None:
                worker = free.pop()
                if worker.down:
                    worker.restart()
                worker.server.hot.send(order.message())
                busy[worker.server.hot.fileno()] = (worker, order)
            if not busy:
                return
            for worker, order, answer in _answered(busy):
                free.append(worker)
                yield order, answer

    def _take(self, order: Order, answer: Message) -> None:
        """Keep what one process showed; of the one that died, what had ended before."""
        if "slow" in answer:
            self._state.never_hot = answer["slow"]
            self._observe_warm(order)
            return
        if not answer:
            return
        for name, status in self._state.statuses(answer).items():
            self._note(name, status)
        self._state.habits |= frozenset(answer["changed"])
        if answer["died"]:
            self._deaths += 1
            if not order.watched:
                self._note(self.tests[order.places[0]], Status.ERROR)
        elif order.watched and answer["result"]:
            self._learn(order, answer["result"])

    def _learn(self, order: Order, result: Message) -> None:
        """Keep what the tests of `order` reached."""
        packed = result["reach"]
        self._packs.append(packed)
        self._reach |= ReachedCode.of(self.tests, packed)
        if order.lines or order.functions:
            self._lined.update(self.tests[place] for place in order.places)
        self.steps = {**self.steps, **steps_of(self.tests, packed)}
        self._patterns = result["patterns"] or self._patterns

    def _observe_warm(self, order: Order) -> None:
        """The same tests where nothing can be forked after the import: without what they reach."""
        worker = self._workers[0]
        worker.preload(self._state.preload)
        names = [self.tests[place] for place in order.places]
        warm = message(Candidate(0, {}), (), (), order.limit + START, keep_going=True)
        worker.server.warm.send({**warm, "tests": names})
        answer = worker.server.warm.wait(order.limit + START + ANSWER)
        for name, status in self._state.statuses(answer).items():
            self._note(name, status)

    def _note(self, name: str, status: Status) -> None:
        """How a test ended here; it is unfit when it ended otherwise in the cold run."""
        self._found[name] = status
        self._state.observed.add(name)
        if self._expected is not None and self._expected.get(name) is not status:
            self._state.unfit |= {name}
        else:
            self._state.unfit -= {name}

    def _teach(self) -> None:
        """Send the servers which test reaches which function, and which tests to try as direct calls."""
        self._state.preload = {**self._state.preload, "patterns": self._patterns}
        order = {status: byte for byte, status in enumerate(STATUSES)}
        statuses = bytes(order[self._found.get(name)] for name in self.tests)
        learned = {
            **joined(self._packs),
            "patterns": self._patterns,
            "quick": self._state.quick(),
            "statuses": statuses.hex(),
            "patience": LEAST + TRIED,
        }
        for worker in self._workers:
            if worker.down:
                worker.restart()
            worker.learn(learned)

    def _harmless(self, places: Iterable[int]) -> list[int]:
        """Without the tests that hang or end their process: what is run beside them would end with them."""
        return [place for place in places if self.tests[place] not in self._deadly]

    def _known(self, names: Iterable[str]) -> list[int]:
        """Places of the tests that were collected."""
        return [self._state.places[name] for name in names if name in self._state.places]

    def probe(
        self, candidates: Sequence[Candidate], tests: Sequence[str], seconds: float, failing: Sequence[str] = ()
    ) -> Comparison:
        """Compare the answers of `candidates` to the calls that `tests` make, and to calls near them.

        Candidates that cannot be hot are absent; everything is when the probe died. `failing`: those of `tests` that
        fail. `seconds` of wall time are shared by all; an answer cut short is a shorter tuple.
        """
        answers = self._answers(candidates, tests, seconds, {"failing": self._known(failing)})
        return _comparison(answers)

    def answers(self, tests: Sequence[str], seconds: float) -> Mapping[str, Codes]:
        """What the program answers, asked twice in `seconds`, to the calls of `tests` and calls near them; by call.

        A call is named as it is in another version of the program. Nothing, when the probe died.
        """
        codes = self._answers((Candidate(1, {}),), tests, seconds)
        pairs = zip(codes.get("", ()), codes.get("1", ()), strict=False)
        return dict(zip(codes.get("?", ()), pairs, strict=False))

    def nearby(self, tests: Sequence[str], seconds: float, other: Mapping[str, bytes | None]) -> Nearby:
        """What the program answers to the calls of `tests` and to many of the same shape, and with `other` files.

        Nothing, when the probe died.
        """
        codes = self._answers((), tests, seconds, {"other": encoded(other)})
        calls, sizes = codes.get("?", ()), [int(size) for size in codes.get("*", ())]
        ends = list(itertools.accumulate(sizes, initial=len(sizes)))
        blocks = (tuple(calls[first:end]) for first, end in itertools.pairwise(ends))
        pairs = (zip(codes.get(one, ()), codes.get(two, ()), strict=False) for one, two in WAYS)
        answered = (dict(zip(calls, pair, strict=False)) for pair in pairs)
        return Nearby(dict(zip(calls, blocks, strict=False)), *answered)

    def _answers(
        self,
        candidates: Sequence[Candidate],
        tests: Sequence[str],
        seconds: float,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> Mapping[str, Sequence[str]]:
        places = self._quick(self._known(tests), seconds)
        worker = self._workers[0]
        if worker.down:
            worker.restart()
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
        answer = worker.server.hot.wait(3 * seconds + ANSWER)
        codes: Mapping[str, Sequence[str]] = answer["codes"]
        return codes

    def _quick(self, places: Sequence[int], seconds: float) -> list[int]:
        """Those of `places` that take `seconds` together, in this order; without the ones that end their process."""
        kept, spent = [], 0.0
        for place in self._harmless(places):
            spent += self._state.seconds.get(self.tests[place], 0.0)
            if spent <= seconds:
                kept.append(place)
        return kept

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`; lazily and unordered. The next one is pulled when a worker is free.

        Leaving the iterator early ends what is running. Raises RunnerError when the servers cannot be kept alive.
        """
        if not self._state.observed and self.tests:
            self.baseline()
        return Scheduler(self._workers, self._state, plan).run(candidates)


def _comparison(reply: Mapping[str, Sequence[str]]) -> Comparison:
    """What the server answered to a probe (agent/hot_server.py), by candidate number."""
    codes = {int(name or 0): tuple(row) for name, row in reply.items() if not name or name.isdecimal()}
    answers = {int(name[1:] or 0): row for name, row in reply.items() if name.startswith("=")}
    rows = zip(reply.get("@", ()), reply.get("$", ()), reply.get("%", ()), strict=True)
    asked = (
        Asked(int(place), call, module, {number: row[at] for number, row in answers.items()})
        for at, (place, call, module) in enumerate(rows)
    )
    return Comparison(codes, "".join(reply.get("^", ())), tuple(asked))


def _answered(busy: dict[int, tuple[Worker, Order]]) -> Iterator[tuple[Worker, Order, Message]]:
    """The workers of `busy` that have answered, taken out of it; all of them, as dead, after the longest time."""
    longest = max(order.limit for _, order in busy.values()) * PATIENCE + ANSWER
    ready, _, _ = select.select(list(busy), [], [], longest)
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
    freedom: Freedom = Freedom(),
    within: float = math.inf,
) -> Iterator[Pool]:
    """A pool of `workers` (default: one per processor), each in a view of its own with `patch` laid in.

    `expected`: the cold baseline's statuses; tests that end otherwise in a fork are left out (`Pool.unfit`).
    `deadly`: tests that hung or ended their process in the cold run; they are run on candidates only.
    `seconds`: what each test took there. `files`: the test files to collect (None: all). `freedom`: the sandbox's
    step to begin with, and what the tests need. `within`: seconds in which the servers must be ready.
    Raises RunnerError when the project cannot be collected, or the system cannot fork: see cold_pool.py.
    """
    if sys.platform == "win32":
        raise RunnerError("candidates are judged in forks, which Windows does not have")
    with contextlib.ExitStack() as stack:
        team = []
        for _ in range(workers or usual_workers()):
            team.append(Worker(partial(_start, views, patch, place, interpreter, config, files)))
            stack.callback(team[-1].close)
        ladder = steps(config, freedom.needs)
        allowed = ladder[freedom.step :] or ladder[-1:]
        yield Pool(team, expected, allowed, deadly=deadly, seconds=seconds, within=within)


@contextlib.contextmanager
def _start(  # noqa: PLR0917
    views: Views,
    patch: Patch,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    files: Sequence[str] | None,
    bounds: Bounds | None,
) -> Iterator[WorkerProcess]:
    """A worker's servers in a fresh view."""
    with (
        views.open(patch) as view,
        open_server(
            view,
            interpreter.path,
            cwd=place.prefix,
            origin=place.top,
            extra=config.pytest_args,
            bounds=bounds,
            files=files,
            strict=config.sandbox == "strict",
        ) as server,
    ):
        yield server
