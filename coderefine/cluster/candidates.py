"""Candidates of the search on the workers of a cluster, in batches.

Each worker opens a pool like this machine's own and keeps it for the search. Until the first one is ready, and whenever
none is left, candidates are judged here. One that a worker says makes a test pass is judged here once more, and this
verdict is used: a worker can cost time and refuse candidates, but repair nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from coderefine.cluster import warm_pools
from coderefine.cluster.warm_pools import PoolJob
from coderefine.cluster.workers import Workers
from coderefine.core import Event, Listen
from coderefine.core.plurals import counted
from coderefine.errors import GitError
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.pool import Pool
from coderefine.runner.scheduler import LONGER

BATCH = 0.5
"""Seconds that a batch should take."""
FIRST, MOST = 8, 200
"""Most candidates in a worker's first batch, and in another one."""
AHEAD = 2
"""Batches that a worker has at a time, so that it need not wait for the next one."""
LATE = 10.0
"""Seconds without an answer after which a worker gets nothing more, and what it had is judged elsewhere.

So many times the duration of the longest test are added.
"""


@dataclass(slots=True)
class PoolWorker:
    """A worker. `opening`: of its pool, None once that is open. `size`: of its next batch; `batches`: what it has.

    `patience`: seconds within which it must answer.
    """

    opening: Any
    size: int
    patience: float
    since: float = 0.0
    """When it answered last, or had nothing (monotonic)."""
    batches: dict[Any, dict[int, Candidate]] = field(default_factory=dict)

    @property
    def late(self) -> bool:
        waits = bool(self.batches) and not any(future.done() for future in self.batches)
        return waits and time.monotonic() - self.since > self.patience


@dataclass(slots=True)
class CandidateSource:
    """The candidates to judge: those that workers gave `back`, then those `given`, as they are asked for."""

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
    """Judges the candidates of `pool` on `workers`. `bring`: sends the tree; returns its id and the workers with it."""

    pool: Pool
    workers: Workers
    job: PoolJob
    bring: Callable[[], tuple[str, Sequence[str]]]
    listen: Listen
    team: dict[str, PoolWorker] = field(default_factory=dict)
    opening: Future[dict[str, PoolWorker]] | None = None
    here: deque[Candidate] = field(default_factory=deque)
    """Candidates to judge on this machine."""
    refused: deque[Judged] = field(default_factory=deque)
    """Verdicts of workers that are not yielded yet."""
    source: CandidateSource = field(default_factory=lambda: CandidateSource(iter(())))
    away: int = 0
    """Number of candidates that workers refused."""
    began: float = 0.0
    retried: float = 0.0
    """CPU seconds for candidates that were judged here because a worker had stopped them for their time."""

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`, lazily and unordered, like `Pool.judge`. Raises LostError."""
        plan, self.source = replace(plan, many=False), CandidateSource(iter(candidates))
        if self.opening is None:
            self.began, self.opening = time.monotonic(), self._open()
        try:
            while self._is_left():
                # A candidate that hangs may take half a minute here: the workers must not wait for it.
                for judged in self.pool.judge(self._own(), plan, lambda: self._exchange(plan)):
                    yield judged
                    yield from self._taken()
                self._exchange(plan)
                if self.team and not (self.refused or self.here):
                    self.workers.wait()
                yield from self._taken()
        finally:
            self.here.clear()
            self.refused.clear()
            for worker in self.team.values():
                _taken_back(worker)

    def _taken(self) -> Iterator[Judged]:
        while self.refused:
            yield self.refused.popleft()

    def _is_left(self) -> bool:
        return not self.source.empty or bool(self.here) or any(worker.batches for worker in self.team.values())

    def close(self) -> None:
        """Close the pools, and report how many candidates the workers judged."""
        from distributed import fire_and_forget

        for address in self.team:
            with suppress(Exception):  # a worker, or the connection, is lost
                fire_and_forget(self.workers.submit(address, warm_pools.close, self.job.key))
        if self.away:
            self.listen(Event("note", f"{counted(self.away, 'candidate')} ran on the cluster"))

    def _open(self) -> Future[dict[str, PoolWorker]]:
        """Send the tree and let the workers open their pools, in a thread: candidates are judged here meanwhile."""
        fit, expected = self.pool.fit, self.job.expected
        failing = tuple(name for name in fit if name in expected and expected[name].bad)
        self.job = replace(self.job, failing=failing, others=tuple(set(fit).difference(failing)))
        longest = max((self.job.seconds.get(name, 0.0) for name in fit), default=0.0)
        size, patience = max(1, min(FIRST, round(BATCH / max(longest, 0.001)))), LATE * (1.0 + longest)

        def opened() -> dict[str, PoolWorker]:
            tree, able = self.bring()
            job = replace(self.job, tree=tree)
            opening = ((address, self.workers.submit(address, warm_pools.open_warm, job)) for address in able)
            return {address: PoolWorker(future, size, patience) for address, future in opening}

        threads = ThreadPoolExecutor(1)
        try:
            return threads.submit(opened)
        finally:
            threads.shutdown(wait=False)

    def _own(self) -> Iterator[Candidate]:
        """Yield the candidates to judge here: all, as long as no worker is ready."""
        while self.here or not self._ready():
            if (candidate := self.here.popleft() if self.here else next(self.source, None)) is None:
                return
            yield candidate

    def _ready(self) -> dict[str, PoolWorker]:
        """Return the workers that judge candidates; leave out those that do not answer."""
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
        """Use the worker once its pool is open, if the failing tests end there as here."""
        tests = self._result(worker.opening) if worker.opening.done() else None
        if tests is None:
            return
        if isinstance(tests, str):
            self._leave_out(address, tests)
        elif lacking := next((name for name in self.job.failing if name not in tests), ""):
            self._leave_out(address, f"{lacking} ends otherwise there")
        else:
            worker.opening = None

    def _result(self, future: Any) -> Any:
        """Return the result of `future`, which is done; a text if it failed. Raises LostError."""
        try:
            return future.result()
        except Exception as error:
            self.workers.check_connection()
            return repr(error)

    def _leave_out(self, address: str, why: str) -> None:
        self.source.back.extend(_taken_back(self.team.pop(address)))
        self.listen(Event("note", f"no candidates run on worker {address}: {why}"))

    def _exchange(self, plan: Plan) -> None:
        """Take the answers of the workers, and give each its next batches."""
        self.refused.extend(self._answers(plan))
        # What hangs there is judged here once more, as time allows.
        there = replace(plan, retry=0.0)
        for address, worker in self._ready().items():
            while len(worker.batches) < AHEAD and (some := tuple(islice(self.source, worker.size))):
                if not worker.batches:
                    worker.since = time.monotonic()
                future = self.workers.submit(address, warm_pools.judge, self.job.key, some, there, BATCH)
                worker.batches[future] = {candidate.number: candidate for candidate in some}

    def _answers(self, plan: Plan) -> Iterator[Judged]:
        """Yield the refusals of the workers; what they do not refuse is judged here."""
        for address, worker in tuple(self.team.items()):
            for future in [one for one in worker.batches if one.done()]:
                answer = self._result(future)
                if isinstance(answer, str):
                    self._leave_out(address, answer)
                    break
                (seconds, judged), batch = answer, worker.batches.pop(future)
                worker.since = time.monotonic()
                worker.size = max(1, min(MOST, round(BATCH * len(judged) / seconds)))
                for one in judged:
                    candidate = batch.pop(one.candidate.number)
                    if self._refused(one, plan):
                        self.away += 1
                        yield replace(one, candidate=candidate)
                    else:
                        self.here.append(candidate)
                self.source.back.extend(batch.values())

    def _refused(self, judged: Judged, plan: Plan) -> bool:
        """Return whether the verdict of a worker is the last one."""
        if judged.hung and self.retried <= plan.retry * (time.monotonic() - self.began):
            self.retried += judged.cpu * LONGER
            return False
        return not judged.plausible and all(status.bad for status in judged.statuses.values())


def _taken_back(worker: PoolWorker) -> list[Candidate]:
    """Return the candidates that `worker` has, and cancel them."""
    for future in worker.batches:
        future.cancel()
    found = [candidate for batch in worker.batches.values() for candidate in batch.values()]
    worker.batches.clear()
    return found
