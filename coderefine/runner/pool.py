"""Judges candidates by the hundred: servers that have the project loaded fork a limited child for each."""

from __future__ import annotations

import contextlib
import select
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from coderefine.config import Config
from coderefine.core import Coverage, Patch, Status, Views
from coderefine.errors import RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Candidate, Codes, Judged, Plan
from coderefine.runner.reach import Reach
from coderefine.runner.sandbox import Bounds, steps
from coderefine.runner.server import Server, encoded, open_server, usual_workers
from coderefine.runner.wire import Message
from coderefine.runner.worker import ANSWER, PATIENCE, Stage, Task, Worker

__all__ = ["Candidate", "Judged", "Plan", "Pool", "open_pool"]

STATUSES = (None, *(Status(word) for word in ("passed", "failed", "error", "skipped", "xfailed", "xpassed")))
"""Statuses by their byte in a hot server's answer; see inside/session.py."""
LEAST = 0.15
"""CPU seconds every child may use."""
ROOM = 6.0
"""... plus this times what the same tests took at the baseline."""
LONGER = 15.0
"""A hung candidate is tried once more with its limit times this."""
NOTHING: Mapping[str, object] = {"table": [], "tests": [], "unsure": []}
BASELINE = 600.0
"""CPU seconds for all tests of the unchanged tree, when nothing is known of them."""
USUAL, STRETCH = 3.0, 4.0
"""... else these seconds plus this times what the cold run took: watched tests run slower."""
MOST_DEADLY = 5
"""Tests found at the baseline that hang or end their process, before the pool gives up."""


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
        self._seconds: dict[str, float] = {}
        self._baseline: dict[str, Status] | None = None
        self._reach: Reach | None = None
        self._retried = 0.0
        self._never_hot = ""
        self.unfit: frozenset[str] = frozenset()
        """Tests that speak differently in a fork than they did cold: they are never asked."""
        self._habits: frozenset[str] = frozenset()
        self.loosened = ""
        """What the project's own tests need beyond the tightest sandbox; "" for nothing."""
        self._launch(self._steps[0])

    def _launch(self, bounds: Bounds | None) -> None:
        for worker in self._workers:
            worker.close()
            worker.bounds = bounds
            worker.launch()
        said = [worker.ready() for worker in self._workers]
        self._preload: Mapping[str, object] = said[0]["preload"]
        self._setup = float(said[0]["cpu"])
        self.confined: tuple[str, ...] = (*said[0]["confined"], "rlimits")
        """What confines the children here."""
        self.tests: tuple[str, ...] = tuple(said[0]["tests"])
        """Ids of all collected tests, in collection order."""
        self.broken: Mapping[str, str] = said[0]["broken"]
        """Nodes that could not be collected, and pytest's words about it."""
        self._places = {name: place for place, name in enumerate(self.tests)}
        self.loosened = bounds.name if bounds else "not confined"

    # -- the tree as it is ----------------------------------------------------------------------------

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
            self._never_hot = answer["slow"]
            answer = self._warmed()
        told = answer.get("told", {})
        ran = [self.tests[place] for place in self._harmless(range(len(self.tests)))]
        self._seconds = dict(zip(ran, told.get("seconds", ()), strict=False))
        self._reach = Reach.of(ran, told.get("reach"))
        self._habits = frozenset(answer["changed"])
        for worker in self._workers:
            worker.learn({**(told.get("reach") or NOTHING), "patterns": told.get("patterns", [])})
        found = {**dict.fromkeys(self.broken, Status.ERROR), **self._statuses(answer)}
        found |= {name: Status.ERROR for name in self._deadly if name in self._places}
        expected = self._expected if self._expected is not None else found
        self.unfit = frozenset(name for name, status in found.items() if expected.get(name) is not status)
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
        worker.preload(self._preload)
        message = self._message(Candidate(0, {}), (), (), self._patience, keep_going=True)
        worker.server.warm.send({**message, "tests": [name for name in self.tests if name not in self._deadly]})
        return worker.server.warm.wait(self._longest)

    def trace(self, failing: Sequence[str]) -> Coverage:
        """Lines executed inside the functions that `failing` reach: by them, and by all tests that share one.

        One more run of those tests; everything else was learned with the baseline.
        """
        self.baseline()
        assert self._reach is not None
        functions = self._reach.functions(failing)
        sharing = self._reach.tests(functions)
        places = sorted({self._places[name] for name in (*failing, *sharing) if name in self._places})
        places = self._harmless(places)
        if not places or not functions:
            return {}
        answer = self._watched(places, sorted(functions))
        return Reach.of([self.tests[place] for place in places], answer["told"].get("reach")).lines()

    def probe(self, candidates: Sequence[Candidate], tests: Sequence[str], seconds: float) -> Mapping[int, Codes]:
        """How `candidates` answer the calls that `tests` make, and calls near them; by candidate number.

        0 is the unchanged program. Candidates that cannot be hot are absent; everything is when the probe died.
        `seconds` of wall time are shared by all; an answer cut short is a shorter tuple.
        """
        places = self._quick([self._places[name] for name in tests if name in self._places], seconds)
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
        return {int(number or 0): tuple(codes) for number, codes in answer["codes"].items()}

    def _quick(self, places: Sequence[int], seconds: float) -> list[int]:
        """Those of `places` that take `seconds` together, in this order; without the ones that end their process."""
        kept, spent = [], 0.0
        for place in self._harmless(places):
            spent += self._seconds.get(self.tests[place], 0.0)
            if spent <= seconds:
                kept.append(place)
        return kept

    @property
    def _longest(self) -> float:
        """Wall seconds after which a server that runs everything counts as dead."""
        return self._patience * PATIENCE + ANSWER

    def _watched(self, places: Sequence[int], functions: Sequence[tuple[str, int, str]]) -> Message:
        worker = self._workers[0]
        if worker.down:
            worker.restart()
        line = worker.server.hot
        message = self._message(Candidate(0, {}), places, (), self._patience, keep_going=True)
        line.send({**message, "watch": functions})
        return line.wait(self._longest)

    # -- judging --------------------------------------------------------------------------------------

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`; lazily and unordered. The next one is pulled when a worker is free.

        Leaving the iterator early ends what is running. Raises RunnerError when the servers cannot be kept alive.
        """
        self.baseline()
        source = iter(candidates)
        self._retried, began = 0.0, time.monotonic()
        try:
            more = True
            while more or self._busy():
                while more and (worker := self._free()) is not None:
                    candidate = next(source, None)
                    more = candidate is not None
                    if candidate is not None:
                        self._begin(worker, candidate, plan)
                yield from self._answers(plan, began)
        finally:
            for worker in self._busy():
                worker.close()

    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _free(self) -> Worker | None:
        return next((worker for worker in self._workers if worker.task is None), None)

    def _begin(self, worker: Worker, candidate: Candidate, plan: Plan) -> None:
        first = self._asked(plan.first)
        asked, stage = (first, Stage.FIRST) if first else (self._then(candidate, plan), Stage.REACH)
        slow = self._never_hot if plan.fastest == "hot" else "warm was asked for"
        self._send(worker, Task(candidate, stage, asked, slow), plan)

    def _asked(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in self.unfit)

    def _then(self, candidate: Candidate, plan: Plan) -> tuple[str, ...]:
        then = plan.then(candidate) if callable(plan.then) else plan.then
        return self._asked((*self.tests, *self.broken) if then is None else then)

    def _send(self, worker: Worker, task: Task, plan: Plan) -> None:
        """Give `worker` the next child to run; a server that is gone is started again first."""
        hot = not task.slow and all(name in self._places for name in task.asked)
        if not hot and task.stage is Stage.REACH:
            task.stage, task.asked = Stage.ALL, self._everything(task.candidate, plan)
        task.limit = self._limit(task, hot=hot)
        keep_going = plan.keep_going and task.stage is Stage.FIRST
        try:
            if worker.down:
                worker.restart()
            if hot:
                worker.send(task, worker.server.hot, self._hot_message(task, plan, keep_going=keep_going))
            else:
                worker.preload(self._preload)
                worker.send(task, worker.server.warm, self._warm_message(task, plan, keep_going=keep_going))
        except RunnerError:
            worker.died()
            self._send(worker, task, plan)

    def _everything(self, candidate: Candidate, plan: Plan) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._asked(plan.first), *self._then(candidate, plan))))

    def _limit(self, task: Task, *, hot: bool) -> float:
        """CPU seconds for the child that runs `task`."""
        spent = sum(self._seconds.get(name, 0.0) for name in task.asked)
        return (LEAST + ROOM * spent + (0.0 if hot else 0.5 + 3.0 * self._setup)) * task.factor

    def _hot_message(self, task: Task, plan: Plan, *, keep_going: bool) -> Mapping[str, object]:
        places = [self._places[name] for name in task.asked]
        known = [self._places[name] for name in plan.known if name in self._places]
        message = self._message(task.candidate, places, known, task.limit, keep_going=keep_going)
        return {**message, "reach": task.stage is Stage.REACH}

    def _warm_message(self, task: Task, plan: Plan, *, keep_going: bool) -> Mapping[str, object]:
        message = self._message(task.candidate, (), (), task.limit, keep_going=keep_going)
        return {**message, "tests": list(task.asked), "known": sorted(plan.known)}

    def _message(
        self, candidate: Candidate, places: Sequence[int], known: Sequence[int], limit: float, *, keep_going: bool
    ) -> Mapping[str, object]:
        return {
            "kind": "judge",
            "number": candidate.number,
            "files": encoded(candidate.files),
            "tests": list(places),
            "known": list(known),
            "limit": limit,
            "keep_going": keep_going,
            "reach": False,
            "watch": None,
        }

    def _answers(self, plan: Plan, began: float) -> Iterator[Judged]:
        """Wait for some worker, and turn what it said into verdicts or next steps."""
        busy = {worker.line: worker for worker in self._busy() if worker.line is not None}
        ready, _, _ = select.select(list(busy), [], [], 1.0)
        for line in ready:
            worker = busy[line]
            try:
                heard = line.hear(0.0)
            except RunnerError:
                yield self._lost(worker, "the test servers died with it")
                continue
            for answer in heard:
                judged = self._next(worker, answer, plan, began)
                if judged is not None:
                    yield judged
        for worker in self._busy():
            if worker.task is not None and worker.task.late:
                yield self._lost(worker, "its test server no longer answers")

    def _lost(self, worker: Worker, why: str) -> Judged:
        task = worker.task
        assert task is not None
        worker.died()
        return Judged(task.candidate, task.statuses, _speed(task), plausible=False, reason=why, slow=task.slow)

    def _next(self, worker: Worker, answer: Message, plan: Plan, began: float) -> Judged | None:
        """The verdict on the worker's task, or None when another child of it runs now."""
        task, worker.task = worker.task, None
        assert task is not None
        if answer["kind"] == "ready":
            worker.revive()
            return Judged(task.candidate, task.statuses, _speed(task), plausible=False, reason="the test server died")
        if "slow" in answer:
            task.slow = answer["slow"]
            self._send(worker, task, plan)
            return None
        if set(answer["changed"]) - self._habits:
            worker.close()
        task.cpu += answer["cpu"]
        task.seconds += answer["wall"]
        if answer["hung"] and task.factor == 1.0 and self._may_retry(task, plan, began):
            task.factor = LONGER
            self._send(worker, task, plan)
            return None
        judged = self._verdict(task, answer, plan)
        if judged.plausible and self._advance(task, plan):
            self._send(worker, task, plan)
            return None
        return judged

    def _may_retry(self, task: Task, plan: Plan, began: float) -> bool:
        """Second tries stay within the plan's share of the time since `began`."""
        cost = task.limit * LONGER
        if self._retried + cost > plan.retry * len(self._workers) * (time.monotonic() - began):
            return False
        self._retried += cost
        return True

    def _advance(self, task: Task, plan: Plan) -> bool:
        """Move `task` to its next stage; False after the last."""
        task.factor = 1.0
        if task.stage is Stage.FIRST:
            rest = self._then(task.candidate, plan)
            task.stage, task.asked = Stage.REACH, tuple(name for name in rest if name not in plan.first)
            return bool(task.asked)
        if task.stage is Stage.REACH and plan.thorough:
            task.stage, task.asked = Stage.ALL, self._everything(task.candidate, plan)
            return bool(set(task.asked) - set(task.statuses))
        return False

    def _verdict(self, task: Task, answer: Message, plan: Plan) -> Judged:
        found = self._statuses(answer)
        asked = [self.tests[place] for place in answer["asked"]] if "asked" in answer else task.asked
        died = self._died(answer, found) if answer["died"] else ""
        task.statuses.update(found)
        bad = [f"{name} {status.value}" for name, status in found.items() if status.bad and name not in plan.known]
        gone = [f"{name} did not run" for name in (*answer.get("missing", ()), *asked) if name not in found]
        gone = [text for text in gone if text.removesuffix(" did not run") not in self.broken]
        reason = died or next(iter((*bad, *gone)), "")
        return Judged(
            task.candidate,
            dict(task.statuses),
            answer["speed"],
            not reason,
            task.cpu,
            task.seconds,
            reason,
            task.slow,
            bool(answer["hung"]),
        )

    def _died(self, answer: Message, found: dict[str, Status]) -> str:
        """The test in which the child ended is a failed one."""
        running = answer.get("running", -1)
        name = self.tests[running] if 0 <= running < len(self.tests) else ""
        if name:
            found.setdefault(name, Status.FAILED)
        return f"{name or 'the run'} {answer['died']}"

    def _statuses(self, answer: Message) -> dict[str, Status]:
        if "statuses" in answer:
            return {name: Status(status) for name, status in answer["statuses"].items()}
        results = bytes.fromhex(answer["results"])
        found = ((name, STATUSES[results[place]]) for place, name in enumerate(self.tests))
        return {name: status for name, status in found if status is not None}


def _speed(task: Task) -> str:
    return "warm" if task.slow else "hot"


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
