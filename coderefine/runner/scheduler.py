"""Judge the candidates of one plan: distribute them to the workers, stage by stage."""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from coderefine.core import Status
from coderefine.errors import RunnerError
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.client_channel import Message
from coderefine.runner.pool_state import PoolState, message
from coderefine.runner.pool_worker import CandidateRun, Stage, Worker

LONGER = 15.0
"""Factor by which the time limit is raised when a hung candidate is run once more."""
MARGIN = 1.5
"""If a hung candidate ends in its second run, the limit of all candidates becomes MARGIN times its CPU time."""
OFTEN, SELDOM = 0.1, 1.0
"""Maximum seconds of one wait for answers: OFTEN if there is a function `meanwhile` to call, else SELDOM."""


def allows_longer(plan: Plan, cost: float, retried: float, seconds: float) -> bool:
    """Return whether a hung candidate may run again, with the longer limit of `cost` CPU seconds.

    If `Plan.retry` is 0, no such run is allowed; otherwise, the first one always is. A further run is allowed if `cost`
    plus `retried`, the CPU seconds of the earlier runs, is at most `Plan.retry` times `seconds`, the duration of all
    runs of candidates.
    """
    return retried + cost <= plan.retry * seconds or (not retried and plan.retry > 0)


class Scheduler:
    """Schedules the candidates of one plan; the workers' servers must have run the baseline."""

    def __init__(
        self, workers: Sequence[Worker], state: PoolState, plan: Plan, meanwhile: Callable[[], None] | None = None
    ) -> None:
        """Create a scheduler. `meanwhile` is called again and again, also while a candidate takes long."""
        self._workers = workers
        self._state = state
        self._plan = plan
        self._look, self._meanwhile = (OFTEN, meanwhile) if meanwhile else (SELDOM, lambda: None)
        self._hung: list[tuple[CandidateRun, Judged]] = []
        """Candidates that hung; their verdicts are yielded at the end, because the limit may have been too low."""
        self._again: deque[CandidateRun] = deque()
        """Candidates that hung and are judged once more, because the limit was raised."""

    def run(self, candidates: Iterable[Candidate]) -> Iterator[Judged]:
        """Judge `candidates` and yield their verdicts as they are ready; see `Pool.judge`."""
        source: Iterator[Candidate] | None = iter(candidates)
        try:
            while source is not None or self._again or self._busy():
                if time.monotonic() >= self._plan.ends:
                    return  # without verdicts on those that hung, because it is unknown whether they would end
                source = source if self._fill(source) else None
                if self._busy():  # select without sockets would wait for its whole timeout
                    yield from self._answers()
            yield from (judged for _, judged in self._hung)
        finally:
            for worker in self._busy():
                worker.close()

    def _fill(self, source: Iterator[Candidate] | None) -> bool:
        """Give a candidate to each worker that has none; return False if there are not enough candidates."""
        for worker in self._workers:
            if worker.task is not None:
                continue
            if self._again:
                self._send(worker, self._again.popleft())
            elif source is None or (candidate := next(source, None)) is None:
                return False
            else:
                first = self._first(candidate)
                asked, stage = (first, Stage.FIRST) if first else (self._then(candidate), Stage.REACH)
                slow = self._state.never_hot if self._plan.fastest == "hot" else "warm was requested"
                self._send(worker, CandidateRun(candidate, stage, asked, slow))
        return True

    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _first(self, candidate: Candidate) -> tuple[str, ...]:
        return self._state.fit(candidate.first or self._plan.first)

    def _then(self, candidate: Candidate) -> tuple[str, ...]:
        then = self._plan.then(candidate) if callable(self._plan.then) else self._plan.then
        return self._state.fit((*self._state.tests, *self._state.broken) if then is None else then)

    def _send(self, worker: Worker, task: CandidateRun) -> None:
        """Send `worker` the next run of `task`; restart its servers first if they have ended."""
        hot = not task.slow and all(name in self._state.places for name in task.asked)
        if not hot and task.stage is Stage.REACH:
            every = (*self._first(task.candidate), *self._then(task.candidate))
            task.stage, task.asked = Stage.ALL, tuple(dict.fromkeys(every))
        task.limit = self._state.limit(task.asked, hot=hot) * task.factor
        keep_going = self._plan.keep_going and task.stage is Stage.FIRST
        try:
            if worker.down:
                worker.restart()
            if hot:
                worker.send(task, worker.server.hot, self._hot_message(task, keep_going=keep_going))
            else:
                worker.preload(self._state.preload)
                known = sorted(self._plan.known)
                order = message(task.candidate, task.asked, known, task.limit, keep_going=keep_going)
                worker.send(task, worker.server.warm, order)
        except RunnerError:
            worker.died()
            self._send(worker, task)

    def _hot_message(self, task: CandidateRun, *, keep_going: bool) -> Mapping[str, object]:
        places = [self._state.places[name] for name in task.asked]
        known = [self._state.places[name] for name in self._plan.known if name in self._state.places]
        order = message(task.candidate, places, known, task.limit, keep_going=keep_going)
        return {**order, "reach": task.stage is Stage.REACH, "direct": task.stage is not Stage.ALL}

    def _answers(self) -> Iterator[Judged]:
        """Wait a short time for answers; yield the verdicts, also those on candidates of lost workers.

        An answer that is not yet a verdict starts the next run of its candidate.
        """
        busy = {worker.line: worker for worker in self._busy() if worker.line is not None}
        left = max(0.0, self._plan.ends - time.monotonic())
        ready, _, _ = select.select(list(busy), [], [], min(self._look, left))
        self._meanwhile()
        for line in ready:
            worker = busy[line]
            try:
                received = line.receive(0.0)
            except RunnerError:
                yield self._lost(worker, "the test servers died with it")
                continue
            for answer in received:
                judged = self._next(worker, answer)
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

    def _next(self, worker: Worker, answer: Message) -> Judged | None:
        """Return the verdict on the worker's task, or None after starting another run of it."""
        task, worker.task = worker.task, None
        assert task is not None
        if answer["kind"] == "ready":
            worker.close()  # its view may still contain the candidate: use a new view
            return Judged(task.candidate, task.statuses, _speed(task), plausible=False, reason="the test server died")
        judged = self._settled(worker, task, answer)
        if judged is None:
            self._send(worker, task)
        elif judged.hung and task.factor == 1.0 and self._plan.retry:
            self._hung.append((task, judged))
            return None
        return judged

    def _settled(self, worker: Worker, task: CandidateRun, answer: Message) -> Judged | None:
        """Return the verdict from one child's answer, or None if `task` needs another run."""
        if "slow" in answer:
            task.slow = answer["slow"]
            return None
        if set(answer["changed"]) - self._state.habits:
            worker.close()
        task.cpu += answer["cpu"]
        task.seconds += answer["wall"]
        self._state.judging += answer["wall"]
        if answer["hung"] and self._runs_again(task):
            return None
        if task.factor > 1.0 and not answer["hung"]:
            self._raise_limit(MARGIN * answer["cpu"])
        judged = self._verdict(task, answer)
        return None if judged.plausible and self._advance(task, judged.rough) else judged

    def _runs_again(self, task: CandidateRun) -> bool:
        """Return whether a hung task runs again: the limit was raised since it began, or a longer limit is allowed."""
        if task.limit < self._state.least:
            return True
        if task.factor > 1.0 or not self._may_retry(task):
            return False
        task.factor = LONGER
        return True

    def _may_retry(self, task: CandidateRun) -> bool:
        cost = task.limit * LONGER
        allowed = allows_longer(self._plan, cost, self._state.retried, self._state.judging)
        self._state.retried += cost if allowed else 0.0
        return allowed

    def _raise_limit(self, seconds: float) -> None:
        """Allow every child at least `seconds`, and judge again the candidates that hung.

        A test that fails at once in the unchanged tree may take much longer with a candidate that gets further.
        """
        if seconds > self._state.least:
            self._state.least = seconds
            self._again += [task for task, _ in self._hung]
            self._hung.clear()

    def _advance(self, task: CandidateRun, rough: str) -> bool:
        """Move `task` to its next stage; return False after the last stage.

        After a `rough` verdict, repeat the same stage in the warm server.
        """
        task.factor = 1.0
        if rough:
            task.slow = rough
            return True
        if task.stage is Stage.FIRST:
            rest, first = self._then(task.candidate), set(self._first(task.candidate))
            task.stage, task.asked = Stage.REACH, tuple(name for name in rest if name not in first)
            return bool(task.asked)
        return False

    def _verdict(self, task: CandidateRun, answer: Message) -> Judged:
        found = self._state.statuses(answer)
        died = self._died(answer, found) if answer["died"] else ""
        task.statuses.update(found)
        failures = (name for name, status in found.items() if status.bad and name not in self._plan.known)
        failed = next((f"{name} {found[name].value}" for name in failures), "")
        reason = died or failed or self._gone(task, answer, found) or str(answer["result"].get("void", ""))
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
            answer.get("rough", ""),
            task.limit,
        )

    def _gone(self, task: CandidateRun, answer: Message, found: Mapping[str, Status]) -> str:
        """Return a description of a requested test that has no status, "" if there is none.

        Tests that were not collected at the baseline are not required.
        """
        asked = [self._state.tests[place] for place in answer["asked"]] if "asked" in answer else task.asked
        wanted = (*answer.get("missing", ()), *asked)
        gone = (name for name in wanted if name not in found and name not in self._state.broken)
        return next((f"{name} did not run" for name in gone), "")

    def _died(self, answer: Message, found: dict[str, Status]) -> str:
        """Describe the crash of a child; mark the running test as failed in `found`."""
        running = answer.get("running", -1)
        name = self._state.tests[running] if 0 <= running < len(self._state.tests) else ""
        if name:
            found.setdefault(name, Status.FAILED)
        return f"{name or 'the run'} {answer['died']}"


def _speed(task: CandidateRun) -> str:
    return "warm" if task.slow else "hot"
