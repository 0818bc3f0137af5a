"""Judges candidates by the hundred: servers that have the project loaded fork a limited child for each."""

from __future__ import annotations

import contextlib
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.config import Config
from coderefine.core import Patch, Status, Views
from coderefine.errors import RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.server import START, Line, Server, encoded, open_server, usual_workers
from coderefine.runner.wire import Message

STATUSES = (None, *(Status(word) for word in ("passed", "failed", "error", "skipped", "xfailed", "xpassed")))
"""Statuses by their byte in a hot server's answer; see inside/session.py."""
LEAST = 0.15
"""CPU seconds every child may use."""
ROOM = 6.0
"""... plus this times what the same tests took at the baseline."""
LONGER = 15.0
"""A hung candidate is tried once more with its limit times this."""
ANSWER = 120.0
"""Seconds beyond a child's own limit after which its server counts as dead."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit to judge: repo-relative path -> whole new content (None deletes), laid over the pool's tree."""

    number: int
    files: Mapping[str, bytes | None]


Then = tuple[str, ...] | Callable[[Candidate], Sequence[str]] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a candidate has to show.

    `first`: ids that must pass, run alone first. `then`: ids to run afterwards, together with `first` in
    collection order and in a fresh child: a tuple, a function of the candidate, or None for all collected.
    `known`: ids that may stay bad. `keep_going`: run all of `first` even when one fails, so that behaviours
    can be compared. `retry`: share of the judging time that second tries of hung candidates may take.
    """

    first: tuple[str, ...] = ()
    then: Then = None
    known: frozenset[str] = frozenset()
    keep_going: bool = False
    retry: float = 0.2


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict. `statuses` holds the tests that ran; `cpu` and `seconds` are the children's.

    `plausible`: everything asked for ran and nothing outside `Plan.known` was bad. `reason` says why not, or
    why a slower speed was needed. `hung`: it was stopped by its time limit.
    """

    candidate: Candidate
    statuses: Mapping[str, Status]
    speed: str
    plausible: bool
    cpu: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    hung: bool = False


@dataclass(slots=True)
class _Task:
    """A candidate on its way through a worker: first its `first` tests, then all of them."""

    candidate: Candidate
    asked: tuple[str, ...]
    last: bool
    line: Line
    factor: float = 1.0
    cpu: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    sent: float = field(default_factory=time.monotonic)


class Pool:
    """Open with `open_pool`. Not for use from several threads."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = list(servers)
        self._readied: Message = _ready(self._servers[0])
        for server in self._servers[1:]:
            _ready(server)
        self.tests: tuple[str, ...] = tuple(self._readied["tests"])
        """Ids of all collected tests, in collection order."""
        self.broken: Mapping[str, str] = self._readied["broken"]
        """Nodes that could not be collected, and pytest's words about it."""
        self._places = {name: place for place, name in enumerate(self.tests)}
        self._seconds: dict[str, float] = {}
        self._baseline: dict[str, Status] | None = None
        self._preloaded: set[int] = set()
        self._tasks: dict[int, _Task] = {}
        self._retried = 0.0

    # -- the tree as it is ----------------------------------------------------------------------------

    def baseline(self) -> Mapping[str, Status]:
        """The servers' own statuses on the unchanged tree (run once, all tests, collection order)."""
        if self._baseline is None:
            line = self._servers[0].hot
            line.send(self._message(Candidate(0, {}), range(len(self.tests)), (), 600.0, keep_going=True, timed=True))
            answer = line.wait(600.0 + ANSWER)
            self._seconds = dict(zip(self.tests, answer["seconds"], strict=False))
            self._baseline = {**dict.fromkeys(self.broken, Status.ERROR), **self._statuses(answer)}
        return self._baseline

    # -- judging --------------------------------------------------------------------------------------

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`; lazily and unordered. The next one is pulled when a worker is free.

        Raises RunnerError when the servers cannot be kept alive.
        """
        self.baseline()
        source = iter(candidates)
        began = time.monotonic()
        self._retried = 0.0
        more = True
        while more or self._tasks:
            while more and len(self._tasks) < len(self._servers):
                candidate = next(source, None)
                more = candidate is not None
                if candidate is not None:
                    self._begin(candidate, plan)
            yield from self._answers(plan, began)

    def _begin(self, candidate: Candidate, plan: Plan) -> None:
        number = next(n for n in range(len(self._servers)) if n not in self._tasks)
        first = tuple(name for name in plan.first if name in self._places or name in self.broken)
        task = _Task(candidate, first, last=False, line=self._servers[number].hot)
        if not first:
            task = _Task(candidate, self._all(candidate, plan), last=True, line=self._servers[number].hot)
        self._send(number, task, plan)

    def _all(self, candidate: Candidate, plan: Plan) -> tuple[str, ...]:
        then = plan.then(candidate) if callable(plan.then) else plan.then
        if then is None:
            return (*self.tests, *self.broken)
        return tuple(dict.fromkeys((*plan.first, *then)))

    def _send(self, number: int, task: _Task, plan: Plan) -> None:
        """Raises RunnerError when the server is gone."""
        self._tasks[number] = task
        if task.line.name == "hot" and any(name not in self._places for name in task.asked):
            task.line, task.reason = self._servers[number].warm, "a module that could not be collected is asked for"
        limit = self._limit(task)
        if task.line.name == "warm":
            self._preload(number)
            task.line.send(self._warm_message(task, plan, limit))
        else:
            places = [self._places[name] for name in task.asked]
            known = [self._places[name] for name in plan.known if name in self._places]
            keep = plan.keep_going and not task.last
            task.line.send(self._message(task.candidate, places, known, limit, keep_going=keep))
        task.sent = time.monotonic()

    def _limit(self, task: _Task) -> float:
        spent = sum(self._seconds.get(name, 0.0) for name in task.asked)
        extra = 2.0 + 4.0 * float(self._readied.get("seconds", 0.5)) if task.line.name == "warm" else 0.0
        return (LEAST + ROOM * spent + extra) * task.factor

    def _message(
        self,
        candidate: Candidate,
        places: Sequence[int],
        known: Sequence[int],
        limit: float,
        *,
        keep_going: bool,
        timed: bool = False,
    ) -> Mapping[str, object]:
        return {
            "kind": "judge",
            "number": candidate.number,
            "files": encoded(candidate.files),
            "tests": list(places),
            "known": list(known),
            "limit": limit,
            "keep_going": keep_going,
            "timed": timed,
        }

    def _warm_message(self, task: _Task, plan: Plan, limit: float) -> Mapping[str, object]:
        return {
            "kind": "judge",
            "number": task.candidate.number,
            "files": encoded(task.candidate.files),
            "tests": list(task.asked),
            "known": list(plan.known),
            "limit": limit,
            "keep_going": plan.keep_going and not task.last,
        }

    def _preload(self, number: int) -> None:
        """Have the worker's warm server import the third-party modules the project uses, once."""
        if number in self._preloaded:
            return
        self._preloaded.add(number)
        line = self._servers[number].warm
        line.send({"kind": "preload", "modules": self._readied["preload"]})
        line.wait(START)

    def _answers(self, plan: Plan, began: float) -> Iterator[Judged]:
        """Wait for some worker, and turn what it said into verdicts or next steps."""
        lines = {task.line: number for number, task in self._tasks.items()}
        ready, _, _ = select.select(list(lines), [], [], 1.0)
        for line in ready:
            number = lines[line]
            for answer in line.hear(0.0):
                judged = self._next(number, answer, plan, began)
                if judged is not None:
                    yield judged

    def _next(self, number: int, answer: Message, plan: Plan, began: float) -> Judged | None:
        task = self._tasks.pop(number)
        if "cold" in answer:
            task.line, task.reason = self._servers[number].warm, answer["cold"]
            self._send(number, task, plan)
            return None
        if answer["kind"] == "ready":
            return Judged(task.candidate, {}, task.line.name, plausible=False, reason="the test server died with it")
        task.cpu += answer["cpu"]
        task.seconds += answer["wall"]
        if answer["hung"] and task.factor == 1.0 and self._may_retry(task, plan, began):
            task.factor = LONGER
            self._send(number, task, plan)
            return None
        judged = self._verdict(task, answer, plan)
        if judged.plausible and not task.last:
            rest = self._all(task.candidate, plan)
            if set(rest) - set(task.asked):
                task.asked, task.last, task.factor = rest, True, 1.0
                self._send(number, task, plan)
                return None
        return judged

    def _may_retry(self, task: _Task, plan: Plan, began: float) -> bool:
        """Second tries stay within the plan's share of the time since `began`."""
        cost = self._limit(task) * LONGER
        if self._retried + cost > plan.retry * len(self._servers) * (time.monotonic() - began):
            return False
        self._retried += cost
        return True

    def _verdict(self, task: _Task, answer: Message, plan: Plan) -> Judged:
        statuses = dict(answer["statuses"]) if "statuses" in answer else self._statuses(answer)
        statuses = {name: Status(status) for name, status in statuses.items()}
        bad = [name for name, status in statuses.items() if status.bad and name not in plan.known]
        reason = task.reason
        unrun = [name for name in task.asked if name not in statuses and name not in self.broken]
        if answer["died"]:
            reason = self._died(answer, statuses)
        elif bad:
            reason = f"{bad[0]} {statuses[bad[0]].value}"
        elif unrun or answer.get("missing"):
            reason = f"{(unrun or answer['missing'])[0]} did not run"
        plausible = not answer["died"] and not bad and not unrun
        return Judged(
            task.candidate, statuses, answer["speed"], plausible, task.cpu, task.seconds, reason, bool(answer["hung"])
        )

    def _died(self, answer: Message, statuses: dict[str, Status]) -> str:
        """The test during which the child ended is a failed one."""
        running = answer.get("running", -1)
        name = self.tests[running] if 0 <= running < len(self.tests) else ""
        if name and name not in statuses:
            statuses[name] = Status.FAILED
        return f"{name or 'the run'} {answer['died']}"

    def _statuses(self, answer: Message) -> dict[str, Status]:
        results = bytes.fromhex(answer["results"])
        found = ((name, STATUSES[results[place]]) for place, name in enumerate(self.tests))
        return {name: status for name, status in found if status is not None}


def _ready(server: Server) -> Message:
    """What the hot server says first. Raises RunnerError when it could not collect at all."""
    server.warm.wait(START)
    message = server.hot.wait(START)
    if message["kind"] != "ready":
        raise RunnerError(f"pytest ended with exit {message.get('code')} before it could run a test")
    return message


@contextlib.contextmanager
def open_pool(
    views: Views,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    *,
    patch: Patch = Patch(),
    workers: int | None = None,
) -> Iterator[Pool]:
    """A pool of `workers` (default: one per processor), each in a view of its own with `patch` laid in.

    Raises RunnerError when the project cannot be collected, or the system cannot fork.
    """
    if sys.platform == "win32":
        raise RunnerError("candidates are judged in forks, which Windows does not have")
    with contextlib.ExitStack() as stack:
        servers = []
        for _ in range(workers or usual_workers()):
            view = stack.enter_context(views.open(patch))
            args = (*config.pytest_args, "-p", "no:cacheprovider", "--continue-on-collection-errors")
            opened = open_server(view, interpreter.path, cwd=place.prefix, args=args, top=view.top)
            servers.append(stack.enter_context(opened))
        yield Pool(servers)
