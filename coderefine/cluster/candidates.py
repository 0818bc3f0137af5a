"""Candidates of the search on the workers of a cluster, in batches.

Each worker opens a pool like the pool of this machine, and keeps it for the search. While no worker's pool is open,
candidates are judged on this machine. If a test passes with a candidate on a worker, this machine judges the candidate
once more, and this verdict counts: a faulty worker can cost time or refuse candidates, but cannot cause a wrong repair.
A candidate that hangs on a worker may get a longer run, by the rules of `runner.scheduler`.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from coderefine.cluster.worker import BATCH, BatchOrder, PoolJob, close_pool, judge, open_warm
from coderefine.cluster.workers import Workers
from coderefine.core import Event, Listen
from coderefine.core.plurals import counted
from coderefine.errors import GitError
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.pool import Pool
from coderefine.runner.pool_worker import PATIENCE
from coderefine.runner.scheduler import LONGER, allows_longer

T = TypeVar("T")
FIRST, MOST = 8, 200
"""Maximum number of candidates in the first batch of a worker, and in its later batches."""
AHEAD = 2
"""Maximum number of batches that a worker has at a time; more than one, so that it never waits for the next batch."""
DEAR = 5.0
"""CPU seconds above which a longer run takes place on this machine, because the search can end it only here."""
LATE = 10.0
"""Seconds without an answer after which a worker is left out, and its candidates are judged elsewhere.

The seconds of the longest test, multiplied by LATE, are added.
"""


@dataclass(frozen=True, slots=True)
class WorkerBatch:
    """Candidates that were sent to a worker, by number. `least`: lower bound of the CPU limits, in seconds.

    `patience`: seconds within which the worker must answer. `longer`: whether the batch is the longer run of one
    candidate that hung; the CPU limit is then multiplied by LONGER.
    """

    candidates: dict[int, Candidate]
    least: float
    patience: float
    longer: bool = False


@dataclass(slots=True)
class PoolWorker:
    """A worker that judges candidates. `opening`: the future of its pool; None once the pool is open.

    `size`: maximum number of candidates in its next batch. `patience`: seconds within which it must answer a batch.
    `batches`: the batches that it has not answered yet, by future.
    """

    opening: Any
    size: int
    patience: float
    since: float = 0.0
    """When the worker last answered, or got a batch while it had no other batch (monotonic)."""
    batches: dict[Any, WorkerBatch] = field(default_factory=dict)

    @property
    def has_room(self) -> bool:
        """Return whether the worker can get another batch; during a longer run it cannot: the batch would wait."""
        return len(self.batches) < AHEAD and not any(batch.longer for batch in self.batches.values())

    @property
    def late(self) -> bool:
        if not self.batches or any(future.done() for future in self.batches):
            return False
        return time.monotonic() - self.since > max(batch.patience for batch in self.batches.values())


@dataclass(slots=True)
class CandidateSource:
    """Iterator over the candidates to judge: first `back`, which workers did not judge, then `given`, read lazily."""

    given: Iterator[Candidate]
    back: deque[Candidate] = field(default_factory=deque)
    ended: bool = False

    def __iter__(self) -> CandidateSource:
        return self

    def __next__(self) -> Candidate:
        if self.back:
            return self.back.popleft()
        if not self.ended and (candidate := next(self.given, None)) is not None:
            return candidate
        self.ended = True
        raise StopIteration

    @property
    def empty(self) -> bool:
        return self.ended and not self.back


@dataclass(slots=True)
class SpreadPool:
    """Judges the candidates of `pool`, the pool of this machine, on `workers`, too.

    `bring`: a function that sends the tree, and returns the tree's id and the workers that have it.
    """

    pool: Pool
    workers: Workers
    job: PoolJob
    bring: Callable[[], tuple[str, Sequence[str]]]
    listen: Listen
    team: dict[str, PoolWorker] = field(default_factory=dict)
    opening: Future[dict[str, PoolWorker]] | None = None
    here: deque[Candidate] = field(default_factory=deque)
    """Candidates to judge on this machine."""
    stuck: deque[Candidate] = field(default_factory=deque)
    """Candidates that hung on a worker and are judged on this machine, but without a longer run."""
    longer: deque[Judged] = field(default_factory=deque)
    """Candidates that hung on a worker and will get a longer run on a worker."""
    hung: deque[Judged] = field(default_factory=deque)
    """Candidates that hung and will not get a longer run; they wait, because the limit may still be raised."""
    refused: deque[Judged] = field(default_factory=deque)
    """Verdicts that workers gave and that are not yielded yet; all of them are refusals."""
    source: CandidateSource = field(default_factory=lambda: CandidateSource(iter(())))
    away: int = 0
    """Number of candidates that workers refused."""
    began: float = 0.0
    """When judging the candidates of the present plan began (monotonic)."""
    judging: float = 0.0
    """Seconds of judging in all earlier plans; they are added up because a search has many short plans."""
    retried: float = 0.0
    """CPU seconds that were allowed for longer runs in all plans."""
    least: float = 0.0
    """The value of `pool.least`, the lower bound of the CPU limits, when the candidates in `hung` hung."""

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`, lazily and unordered, like `Pool.judge`. Raises LostError."""
        plan, self.source = replace(plan, many=False), CandidateSource(iter(candidates))
        self.began, self.least = time.monotonic(), self.pool.least
        if self.opening is None:
            self.opening = self._open()
        try:
            while self.here or self.stuck or self.hung or self._is_left_there():
                if time.monotonic() >= plan.ends:
                    break
                yield from self._judged_round(plan)
        finally:
            self.judging += time.monotonic() - self.began
            for waiting in (self.here, self.stuck, self.longer, self.hung, self.refused):
                waiting.clear()
            for worker in self.team.values():
                _taken_back(worker)

    def _judged_round(self, plan: Plan) -> Iterator[Judged]:
        """Judge this machine's candidates, exchange candidates with the workers, and yield all verdicts."""
        for candidates, rule in ((self._own(), plan), (_taken_from(self.stuck), replace(plan, retry=0.0))):
            for judged in self.pool.judge(candidates, rule, lambda: self._exchange(plan)):
                yield judged
                yield from _taken_from(self.refused)
        self._exchange(plan)
        self._end_hung()
        if self.team and not (self.refused or self.here or self.stuck):
            self.workers.wait()
        yield from _taken_from(self.refused)

    def _is_left_there(self) -> bool:
        return not self.source.empty or bool(self.longer) or any(worker.batches for worker in self.team.values())

    def close(self) -> None:
        """Let the workers close their pools, and report how many candidates they refused."""
        from distributed import fire_and_forget

        for address in self.team:
            with suppress(Exception):  # a worker, or the connection, is lost
                fire_and_forget(self.workers.submit(address, close_pool, self.job.key))
        if self.away:
            self.listen(Event("note", f"{counted(self.away, 'candidate')} ran on the cluster"))

    def _open(self) -> Future[dict[str, PoolWorker]]:
        """Start a thread that sends the tree and lets the workers open their pools; return the future of the team."""
        fit, expected = self.pool.fit, self.job.expected
        failing = tuple(name for name in fit if name in expected and expected[name].bad)
        self.job = replace(self.job, failing=failing, others=tuple(set(fit).difference(failing)))
        longest = max((self.job.seconds.get(name, 0.0) for name in fit), default=0.0)
        size, patience = max(1, min(FIRST, round(BATCH / max(longest, 0.001)))), LATE * (1.0 + longest)

        def opened() -> dict[str, PoolWorker]:
            tree, able = self.bring()
            job = replace(self.job, tree=tree)
            opening = ((address, self.workers.submit(address, open_warm, job)) for address in able)
            return {address: PoolWorker(future, size, patience) for address, future in opening}

        threads = ThreadPoolExecutor(1)
        try:
            return threads.submit(opened)
        finally:
            threads.shutdown(wait=False)

    def _own(self) -> Iterator[Candidate]:
        """Yield the candidates to judge on this machine: those in `here`; all candidates while no worker is ready."""
        while self.here or not self._ready():
            if (candidate := self.here.popleft() if self.here else next(self.source, None)) is None:
                return
            yield candidate

    def _ready(self) -> dict[str, PoolWorker]:
        """Return the workers whose pools are open; leave out workers that do not answer."""
        self.workers.check_connection()
        if not self.team and self.opening and self.opening.done():
            self.team, self.opening = self._opened(self.opening), Future()
        alive = self.workers.alive()
        for address, worker in tuple(self.team.items()):
            if address not in alive or worker.late:
                self._leave_out(address, "it does not answer")
            elif worker.opening:
                self._begin(address, worker)
        return {address: worker for address, worker in self.team.items() if not worker.opening}

    def _opened(self, opening: Future[dict[str, PoolWorker]]) -> dict[str, PoolWorker]:
        try:
            return opening.result()
        except (GitError, OSError) as error:  # a disk is full
            self.listen(Event("note", f"no candidates run on workers: the tree cannot be sent: {error}"))
            return {}

    def _begin(self, address: str, worker: PoolWorker) -> None:
        """Use the worker once its pool is open, if the failing tests have the same results there as on this machine."""
        tests = self._result(worker.opening) if worker.opening.done() else None
        if tests is None:
            return
        if isinstance(tests, str):
            self._leave_out(address, tests)
        elif lacking := next((name for name in self.job.failing if name not in tests), ""):
            self._leave_out(address, f"{lacking} has another result there")
        else:
            worker.opening = None

    def _result(self, future: Any) -> Any:
        """Return the result of the finished `future`, or its error as text. Raises LostError."""
        try:
            return future.result()
        except Exception as error:
            self.workers.check_connection()
            return repr(error)

    def _leave_out(self, address: str, why: str) -> None:
        self.source.back.extend(_taken_back(self.team.pop(address)))
        self.listen(Event("note", f"no candidates run on worker {address}: {why}"))

    def _exchange(self, plan: Plan) -> None:
        """Process the answers of the workers, and send each worker its next batches."""
        self._take_answers(plan)
        if self.pool.least > self.least:  # the limit was raised, so candidates that hung may end now
            self.least = self.pool.least
            self.source.back.extend(one.candidate for one in _taken_from(self.hung))
        ready = self._ready()
        if not ready:
            self.source.back.extend(one.candidate for one in _taken_from(self.longer))
        for address, worker in ready.items():
            while worker.has_room and (batch := self._next_batch(worker)):
                if not worker.batches:
                    worker.since = time.monotonic()
                # Without `ends`, which is a time of this machine's clock.
                there = replace(plan, retry=math.inf if batch.longer else 0.0, ends=math.inf)
                order = BatchOrder(self.job.key, tuple(batch.candidates.values()), there, batch.least)
                worker.batches[self.workers.submit(address, judge, order)] = batch

    def _next_batch(self, worker: PoolWorker) -> WorkerBatch | None:
        """Return the next batch for `worker`; None if there is none."""
        if self.longer:
            one = self.longer.popleft()
            patience = worker.patience + PATIENCE * LONGER * one.limit
            return WorkerBatch({one.candidate.number: one.candidate}, self.least, patience, longer=True)
        some = {candidate.number: candidate for candidate in islice(self.source, worker.size)}
        return WorkerBatch(some, self.least, worker.patience) if some else None

    def _take_answers(self, plan: Plan) -> None:
        for address, worker in tuple(self.team.items()):
            for future in [one for one in worker.batches if one.done()]:
                answer = self._result(future)
                if isinstance(answer, str):
                    self._leave_out(address, answer)
                    break
                batch, worker.since = worker.batches.pop(future), time.monotonic()
                if not batch.longer:
                    worker.size = max(1, min(MOST, round(BATCH * len(answer.judged) / answer.seconds)))
                self.pool.least = max(self.pool.least, answer.least)
                for one in answer.judged:
                    candidate = batch.candidates.pop(one.candidate.number)
                    self._take(replace(one, candidate=candidate), batch, plan)
                self.source.back.extend(batch.candidates.values())

    def _take(self, judged: Judged, batch: WorkerBatch, plan: Plan) -> None:
        """Process a verdict of a worker; a candidate that hung may get a longer run."""
        if judged.hung and batch.least < self.pool.least:
            self.source.back.append(judged.candidate)
        elif judged.hung and plan.retry and not batch.longer:
            self._try_longer(judged, plan)
        else:
            self._decide(judged)

    def _try_longer(self, judged: Judged, plan: Plan) -> None:
        """Let a candidate that hung run longer if `plan` allows it, by the rule of `runner.scheduler`."""
        cost = judged.limit * LONGER
        servers = len(self.team) if cost <= DEAR else 1
        seconds = self.judging + time.monotonic() - self.began
        if not allows_longer(plan, cost, self.retried, servers * seconds):
            self.hung.append(judged)
            return
        self.retried += cost
        if cost <= DEAR:
            self.longer.append(judged)
        else:
            self.here.append(judged.candidate)

    def _decide(self, judged: Judged) -> None:
        """Accept the worker's verdict if all tests in it failed; otherwise judge the candidate on this machine."""
        if not judged.plausible and all(status.bad for status in judged.statuses.values()):
            self.away += 1
            self.refused.append(judged)
        else:
            (self.stuck if judged.hung else self.here).append(judged.candidate)

    def _end_hung(self) -> None:
        """Decide on the candidates that hung, once no other candidate can raise the limit."""
        if not (self.here or self.stuck or self._is_left_there()):
            for judged in _taken_from(self.hung):
                self._decide(judged)


def _taken_from(waiting: deque[T]) -> Iterator[T]:
    """Yield and remove the items of `waiting`, including items that are added meanwhile."""
    while waiting:
        yield waiting.popleft()


def _taken_back(worker: PoolWorker) -> list[Candidate]:
    """Cancel the batches of `worker` and return their candidates."""
    for future in worker.batches:
        future.cancel()
    found = [candidate for batch in worker.batches.values() for candidate in batch.candidates.values()]
    worker.batches.clear()
    return found
