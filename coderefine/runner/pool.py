"""Judges candidates by the hundred: servers that have the project loaded fork a limited child for each."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from coderefine.config import Config
from coderefine.core import Coverage, Patch, Status, Views
from coderefine.errors import RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Candidate, Codes, Judged, Plan
from coderefine.runner.ground import LEAST, TRIED, Ground, message
from coderefine.runner.reach import Reach, Steps, steps_of
from coderefine.runner.round import Round
from coderefine.runner.sandbox import Bounds, steps
from coderefine.runner.server import Server, encoded, open_server, usual_workers
from coderefine.runner.wire import Message
from coderefine.runner.worker import ANSWER, PATIENCE, Worker

__all__ = ["Candidate", "Judged", "Plan", "Pool", "open_pool"]

NOTHING: Mapping[str, object] = {"table": [], "tests": [], "unsure": []}
BASELINE = 600.0
"""CPU seconds for all tests of the unchanged tree, when nothing is known of them."""
USUAL, STRETCH = 3.0, 4.0
"""... else these seconds plus this times what the cold run took: watched tests run slower."""
MOST_DEADLY = 5
"""Tests found at the baseline that hang or end their process, before the pool gives up."""
MOST_SHARING = 80
"""Passing tests that are watched line by line: those nearest to failing ones; more do not change who is suspicious."""
TRACED, FEW = 0.7, 3
"""Seconds that the tests watched line by line took at the baseline, watched for functions only; and a second try."""
MOST_STEPPED = 40
"""Failing tests that are taken apart by their lines."""


class Pool:
    """Open with `open_pool`. Not for use from several threads."""

    def __init__(
        self,
        workers: Sequence[Worker],
        expected: Mapping[str, Status] | None,
        bounds: Sequence[Bounds | None],
        deadly: frozenset[str] = frozenset(),
        usual: float | None = None,
    ) -> None:
        self._patience = BASELINE if usual is None else USUAL + STRETCH * usual
        self._workers = workers
        self._expected = expected
        self._deadly = deadly
        self._steps = list(bounds)
        self._ground = Ground()
        self._baseline: dict[str, Status] | None = None
        self._reach: Reach | None = None
        self.steps: Steps = {}
        """What the last `trace` saw of the failing tests, line by line of them."""
        self.loosened = ""
        """What the project's own tests need beyond the tightest sandbox; "" for nothing."""
        self._begin()

    def _begin(self) -> None:
        """As tightly as the project can be loaded at all. Raises RunnerError when it never can."""
        try:
            self._launch(self._steps[0])
        except RunnerError:
            if len(self._steps) == 1:
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
        said = [worker.ready() for worker in self._workers]
        self._ground.hear(said[0])
        self.confined: tuple[str, ...] = (*said[0]["confined"], "rlimits")
        """What confines the children here."""
        self.loosened = bounds.name if bounds else "not confined"

    @property
    def tests(self) -> tuple[str, ...]:
        """Ids of all collected tests, in collection order."""
        return self._ground.tests

    @property
    def broken(self) -> Mapping[str, str]:
        """Nodes that could not be collected, and pytest's words about it."""
        return self._ground.broken

    @property
    def unfit(self) -> frozenset[str]:
        """Tests that speak differently in a fork than they did cold: they are never asked."""
        return self._ground.unfit

    @property
    def retracted(self) -> frozenset[str]:
        """Tests whose direct call and pytest's protocol disagreed on some candidate; the protocol was believed."""
        return frozenset(self._ground.retracted)

    def baseline(self) -> Mapping[str, Status]:
        """The servers' own statuses on the unchanged tree (run once: all tests, collection order).

        Where tests disagree with the cold run the sandbox is loosened step by step, if that helps them.
        """
        if self._baseline is None:
            self._baseline = self._measured()
            for bounds in self._steps[1:] if self.unfit else ():
                before, tight = self.unfit, self._workers[0].bounds
                self._launch(bounds)
                self._baseline = self._measured()
                if not self.unfit:
                    break
                if self.unfit == before and bounds is self._steps[-1]:
                    self._launch(tight)
                    self._baseline = self._measured()
        return self._baseline

    def _measured(self) -> dict[str, Status]:
        """Run everything on the unchanged tree; what is learned from it goes to all workers."""
        answer = self._survived()
        if "slow" in answer:
            self._ground.never_hot = answer["slow"]
            answer = self._warmed()
        told = answer.get("told", {})
        ran = [self.tests[place] for place in self._harmless(range(len(self.tests)))]
        self._ground.seconds = dict(zip(ran, told.get("seconds", ()), strict=False))
        self._reach = Reach.of(ran, told.get("reach"))
        self._ground.habits = frozenset(answer["changed"])
        self._ground.preload = {**self._ground.preload, "patterns": told.get("patterns", [])}
        learned = {
            **(told.get("reach") or NOTHING),
            "patterns": told.get("patterns", []),
            "quick": self._ground.quick(),
            "statuses": answer.get("results", ""),
            "patience": LEAST + TRIED,
        }
        for worker in self._workers:
            worker.learn(learned)
        found = {**dict.fromkeys(self.broken, Status.ERROR), **self._ground.statuses(answer)}
        found |= {name: Status.ERROR for name in self._deadly if name in self._ground.places}
        expected = self._expected if self._expected is not None else found
        self._ground.unfit = frozenset(name for name, status in found.items() if expected.get(name) is not status)
        return found

    def _survived(self) -> Message:
        """The answer about all tests; those that turn out to hang, or to end their process, are left out.

        Raises RunnerError when there are too many of them.
        """
        for _ in range(MOST_DEADLY):
            answer = self._watched(self._harmless(range(len(self.tests))), [])
            if not answer.get("died"):
                return answer
            running = answer.get("running", -1)
            if running < 0:
                return answer
            self._deadly |= {self.tests[running]}
        raise RunnerError(f"several tests end the test process or hang, {self.tests[running]} among them")

    def _harmless(self, places: Iterable[int]) -> list[int]:
        """Without the tests that hang or end their process: the baseline would end with them."""
        return [place for place in places if self.tests[place] not in self._deadly]

    def _warmed(self) -> Message:
        """The baseline of a project that cannot be forked after its import."""
        worker = self._workers[0]
        worker.preload(self._ground.preload)
        order = message(Candidate(0, {}), (), (), self._patience, keep_going=True)
        worker.server.warm.send({**order, "tests": [name for name in self.tests if name not in self._deadly]})
        return worker.server.warm.wait(self._longest)

    def trace(self, failing: Sequence[str]) -> Coverage:
        """Lines executed inside the functions that `failing` reach: by them, and by the nearest tests that share one.

        One more run of those tests; everything else was learned with the baseline. Empty when they cannot be watched.
        """
        self.baseline()
        assert self._reach is not None
        functions = self._reach.functions(failing)
        sharing = _nearest(failing, self._reach.tests(functions))
        places = self._known((*failing, *sharing[:MOST_SHARING]))
        stepped = set(self._known(failing)[:MOST_STEPPED])
        for chosen in self._portions(places) if functions else ():
            answer = self._watched(sorted(chosen), sorted(functions), sorted(stepped.intersection(chosen)))
            if told := answer.get("told"):  # nothing, when a test ended the process that watched it, or took too long
                self.steps = steps_of(self.tests, told.get("reach"))
                return Reach.of([self.tests[place] for place in sorted(chosen)], told.get("reach")).lines()
        return {}

    def _known(self, names: Iterable[str]) -> list[int]:
        """Places of the tests that were collected."""
        return [self._ground.places[name] for name in names if name in self._ground.places]

    def _portions(self, places: Sequence[int]) -> Iterator[list[int]]:
        """What to watch, most important first: what fits into the time, at least one test; then the first few alone."""
        fitting = self._quick(places, TRACED) or self._harmless(places)[:1]
        yield from [fitting] if fitting else []
        if len(fitting) > FEW:
            yield fitting[:FEW]

    def probe(self, candidates: Sequence[Candidate], tests: Sequence[str], seconds: float) -> Mapping[int, Codes]:
        """How `candidates` answer the calls that `tests` make, and calls near them; by candidate number.

        0 is the unchanged program. Candidates that cannot be hot are absent; everything is when the probe died.
        `seconds` of wall time are shared by all; an answer cut short is a shorter tuple.
        """
        codes = self._answers(candidates, tests, seconds)
        return {int(number or 0): tuple(told) for number, told in codes.items() if number != "?"}

    def answers(self, tests: Sequence[str], seconds: float) -> Mapping[str, Codes]:
        """What the program answers, asked twice in `seconds`, to the calls of `tests` and calls near them; by call.

        A call is named as it is in another version of the program. Nothing, when the probe died.
        """
        codes = self._answers((Candidate(1, {}),), tests, seconds)
        pairs = zip(codes.get("", ()), codes.get("1", ()), strict=False)
        return dict(zip(codes.get("?", ()), pairs, strict=False))

    def _answers(
        self, candidates: Sequence[Candidate], tests: Sequence[str], seconds: float
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
            }
        )
        answer = worker.server.hot.wait(3 * seconds + ANSWER)
        codes: Mapping[str, Sequence[str]] = answer["codes"]
        return codes

    def _quick(self, places: Sequence[int], seconds: float) -> list[int]:
        """Those of `places` that take `seconds` together, in this order; without the ones that end their process."""
        kept, spent = [], 0.0
        for place in self._harmless(places):
            spent += self._ground.seconds.get(self.tests[place], 0.0)
            if spent <= seconds:
                kept.append(place)
        return kept

    @property
    def _longest(self) -> float:
        """Wall seconds after which a server that runs everything counts as dead."""
        return self._patience * PATIENCE + ANSWER

    def _watched(
        self, places: Sequence[int], functions: Sequence[tuple[str, int, str]], stepped: Sequence[int] = ()
    ) -> Message:
        worker = self._workers[0]
        if worker.down:
            worker.restart()
        line = worker.server.hot
        order = message(Candidate(0, {}), places, (), self._patience, keep_going=True)
        line.send({**order, "watch": functions, "stepped": stepped})
        return line.wait(self._longest)

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`; lazily and unordered. The next one is pulled when a worker is free.

        Leaving the iterator early ends what is running. Raises RunnerError when the servers cannot be kept alive.
        """
        self.baseline()
        return Round(self._workers, self._ground, plan).run(candidates)


def _nearest(failing: Sequence[str], tests: Sequence[str]) -> list[str]:
    """The other `tests`: parameters of the failing functions first, then those of the same files, then the rest."""
    names = set(failing)
    functions = {name.split("[")[0] for name in failing}
    files = {name.split("::")[0] for name in failing}
    return sorted(
        (name for name in tests if name not in names),
        key=lambda name: (name.split("[")[0] not in functions, name.split("::")[0] not in files),
    )


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
    usual: float | None = None,
) -> Iterator[Pool]:
    """A pool of `workers` (default: one per processor), each in a view of its own with `patch` laid in.

    `expected`: the cold baseline's statuses; tests that speak differently in a fork are left out (`Pool.unfit`).
    `deadly`: tests that hung or ended their process in the cold run; they are run on candidates only.
    `usual`: seconds that all other tests took there; without it a baseline that hangs is given ten minutes.
    Raises RunnerError when the project cannot be collected, or the system cannot fork: see anypool.py.
    """
    if sys.platform == "win32":
        raise RunnerError("candidates are judged in forks, which Windows does not have")
    with contextlib.ExitStack() as stack:
        team = []
        for _ in range(workers or usual_workers()):
            team.append(Worker(partial(_start, views, patch, place, interpreter, config)))
            stack.callback(team[-1].close)
        yield Pool(team, expected, steps(config), deadly, usual)


@contextlib.contextmanager
def _start(  # noqa: PLR0917
    views: Views, patch: Patch, place: Place, interpreter: Interpreter, config: Config, bounds: Bounds | None
) -> Iterator[Server]:
    """A worker's servers in a fresh view."""
    with (
        views.open(patch) as view,
        open_server(view, interpreter.path, cwd=place.prefix, extra=config.pytest_args, bounds=bounds) as server,
    ):
        yield server
