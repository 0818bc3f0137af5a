"""The workers of a cluster and their jobs.

Workers that are silent, die or fail are left out. A late job is also started on a second worker. Every wait has a
limit. A lost scheduler is an error; any other problem only costs time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from coderefine import proc
from coderefine.cluster import environments, worker
from coderefine.cluster.environments import BUILDING, Environment, LockFile
from coderefine.cluster.trees import TreeStore
from coderefine.cluster.worker import Job
from coderefine.core import Check
from coderefine.errors import ProcessError, SurroundingsError

ANSWER = 30.0
"""Seconds within which the scheduler or a worker must answer a small question."""
BYTES_A_SECOND = 1 << 20
"""Minimum speed of sending a tree."""
SILENT = 15.0
"""Seconds without a heartbeat after which a worker is left out, and its job is given to another worker."""
LOOKS, POLL = (2.0, 30.0), 0.25
"""Minimum and maximum seconds between two checks of the heartbeats; maximum seconds between checks of the answers."""
LATE = 20.0
"""Seconds after which an idle worker also starts a running job, if this job takes twice as long as expected."""
TRIES = 3
"""If this number of workers die or fail with the same job, no more tests run on the workers."""
GRACE = 60.0
"""Seconds to wait for the answer of a check in addition to its time limit."""
LOST = "the scheduler is lost: nothing was written; run the same command again"


def pause(workers: int) -> float:
    """Return the seconds between two checks of the heartbeats, which cost the scheduler time for each worker."""
    least, most = LOOKS
    return min(most, max(least, workers / 10))


class LostError(SurroundingsError):
    """The connection to the scheduler is lost."""


@dataclass(slots=True)
class Running:
    """A job that a worker has run since `began` (monotonic)."""

    index: int
    worker: str
    began: float


@dataclass(slots=True)
class Workers:
    """The workers of `client`. `out`: address -> why it is left out; `beats`: address -> (last heartbeat, when seen).

    `looked`: when the heartbeats were last read. `trees`: pairs of a tree and a store that is known to have it.
    `busy`: the workers that have a job. `closed`: whether the run is over. `deadly`: why no more tests run on the
    workers (several died); `last_test`: the test that ran when the last of them died, if known.
    """

    client: Any
    out: dict[str, str] = field(default_factory=dict)
    beats: dict[str, tuple[float, float]] = field(default_factory=dict)
    looked: float = 0.0
    deadly: str = ""
    last_test: str = ""
    closed: bool = False
    trees: set[tuple[str, tuple[str, str]]] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    turn: threading.Lock = field(default_factory=threading.Lock)
    answered: threading.Event = field(default_factory=threading.Event)

    def submit(self, address: str, function: Callable[..., object], *args: object) -> Any:
        """Call `function` on one worker, and return the future."""
        future = self.client.submit(function, *args, workers=[address], allow_other_workers=False, pure=False)
        future.add_done_callback(lambda _: self.answered.set())
        return future

    def wait(self) -> None:
        """Wait until a call ends, at most POLL seconds: another waiting thread may have cleared the signal."""
        self.answered.wait(POLL)
        self.answered.clear()

    def alive(self) -> list[str]:
        """Return the workers that the scheduler still reaches and that are not left out. Raises LostError."""
        now = time.monotonic()
        if now - self.looked > pause(len(self.beats)):
            try:
                asked = self.client.scheduler.identity
                found = self.client.sync(asked, n_workers=-1, callback_timeout=ANSWER)["workers"]
            except (OSError, TimeoutError, CancelledError) as error:
                raise LostError(LOST) from error
            old, self.looked = self.beats, time.monotonic()
            beats = {address: facts["last_seen"] for address, facts in found.items()}
            self.beats = {
                address: old[address] if address in old and old[address][0] == beat else (beat, self.looked)
                for address, beat in beats.items()
            }
        latest = self.looked - SILENT
        return [address for address, (_, seen) in self.beats.items() if seen >= latest and address not in self.out]

    def environments(self, addresses: Iterable[str], python: str, lock: LockFile | None) -> dict[str, Environment]:
        """Return each worker's environment for tests; see `environments.describe`."""
        asked = {address: self.submit(address, environments.describe, python, lock) for address in addresses}
        latest, found = time.monotonic() + ANSWER + (2 * BUILDING if lock else 0.0), {}
        for address, future in asked.items():
            try:
                found[address] = future.result(max(0.1, latest - time.monotonic()))
            except Exception as error:  # noqa: PERF203 - too old, without coderefine, dead: it cannot take part
                found[address] = Environment(fault=f"cannot answer: {error!r}")
        return found

    def send(self, store: TreeStore, tree: str, stores: Mapping[str, tuple[str, str]]) -> list[str]:
        """Send `tree` to each store that lacks it; return the workers whose store has it. Raises LostError.

        Only missing objects are sent, directly to the workers and never through the scheduler. `stores`: the store of
        each worker.
        """
        groups: dict[tuple[str, str], list[str]] = {}
        for address in self.alive():
            if address in stores:
                groups.setdefault(stores[address], []).append(address)
        with ThreadPoolExecutor(16) as threads:
            reached = list(threads.map(lambda where: self._brought(store, tree, where, groups[where]), groups))
        return [address for group in reached for address in group]

    def _brought(self, store: TreeStore, tree: str, where: tuple[str, str], group: Sequence[str]) -> Sequence[str]:
        """Send `tree` to `where`, the common store of `group`; return the workers of the group that are not left out.

        A store that is known to have the tree is not queried, because a worker that runs tests answers late.
        """
        if (tree, where) in self.trees:
            return group
        for number, address in enumerate(group):
            try:
                trees = self.submit(address, worker.known).result(ANSWER)
                if tree not in trees:
                    pack = store.pack(tree, trees)
                    limit = ANSWER + len(pack) / BYTES_A_SECOND
                    data = self.client.sync(  # Client.scatter itself has no limit for a worker that does not answer
                        self.client._scatter, [pack], workers=[address], direct=True, hash=False, callback_timeout=limit
                    )
                    self.submit(address, worker.receive, tree, data[0]).result(limit)
            except Exception as error:  # noqa: PERF203 - any error
                self.check_connection()
                self.out[address] = f"the tree cannot be sent there: {error!r}"
            else:
                self.trees.add((tree, where))
                return group[number:]
        return ()

    def answer(self, future: Any, address: str) -> Check | str | None:
        """Return the answer in `future`; if there is none, leave the worker `address` out and return None."""
        try:
            answer: Check | str = future.result(GRACE)
        except Exception as error:
            self.check_connection()
            self.out[address] = f"no answer: {error!r}"
            return None
        return answer

    def end(self, topic: str) -> str:
        """Let no more tests run on the workers, because several workers failed with the same job; return this reason.

        `topic`: the topic of the job's reports.
        """
        try:
            events = self.client.sync(self.client.scheduler.events, topic=topic, callback_timeout=ANSWER)
        except (OSError, TimeoutError, CancelledError) as error:
            raise LostError(LOST) from error
        self.last_test = events[-1][1] if events else ""
        self.deadly = f"{TRIES} workers died or failed with the same tests"
        if self.last_test:
            self.deadly += f", the last one when it ran {self.last_test}"
        return self.deadly

    def check_connection(self) -> None:
        """Raise LostError if the scheduler is lost, ProcessError if the run is being stopped."""
        if self.client.status != "running":
            raise LostError(LOST)
        if self.closed or proc.is_stopped():
            raise ProcessError("the run is being stopped")


@dataclass(slots=True)
class Batch:
    """Jobs that may run on the workers with the addresses `among`.

    `expected`: expected seconds of each job. `waiting`: indices of the jobs to start. `failed`: how often a worker
    failed with a job, by the job's index. `latest`: when to stop waiting (monotonic). `found`: the answers, by index.
    """

    workers: Workers
    jobs: Sequence[Job]
    among: Sequence[str]
    expected: Sequence[float]
    waiting: deque[int] = field(default_factory=deque)
    running: dict[Any, Running] = field(default_factory=dict)
    failed: Counter[int] = field(default_factory=Counter)
    latest: float = 0.0
    found: dict[int, Check | str] = field(default_factory=dict)

    def answers(self) -> list[Check | str]:
        """Run the jobs and return a check for each; if there is none, the reason as a text. Raises LostError.

        If a worker dies, is silent or fails, its job is given to another worker. A job that takes too long is started
        once more, and its first answer counts.
        """
        why = ""
        self.waiting.extend(range(len(self.jobs)))
        try:
            while len(self.found) < len(self.jobs) and not why:
                self.workers.check_connection()
                usable = [address for address in self.workers.alive() if address in self.among]
                self._collect(usable)
                self._start(usable)
                if time.monotonic() > self.latest or not usable:
                    why = "the workers have no answer in time" if usable else "no worker is left"
                self._wait()
        finally:
            for future, has in self.running.items():
                future.cancel(force=True)
                self.workers.busy.discard(has.worker)
        return [self.found.get(index, why) for index in range(len(self.jobs))]

    def _wait(self) -> None:
        if len(self.found) < len(self.jobs):
            self.workers.wait()

    def _collect(self, usable: Sequence[str]) -> None:
        """Store the answers; queue again the jobs of workers that failed or are not `usable` any more."""
        for future in [one for one, has in self.running.items() if one.done() or has.worker not in usable]:
            has = self.running.pop(future)
            self.workers.busy.discard(has.worker)
            answer = self.workers.answer(future, has.worker) if future.done() else None
            if answer is not None:
                self.found.setdefault(has.index, answer)
                continue
            future.cancel(force=True)
            self.failed[has.index] += 1
            self.waiting.append(has.index)
            if self.failed[has.index] == TRIES:
                self.found.setdefault(has.index, self.workers.end(self._topic(has.index)))

    def _start(self, usable: Sequence[str]) -> None:
        """Give each idle worker a job.

        The time limit of this batch starts again while none of its jobs runs: then other batches use all workers.
        """
        if not self.running:
            self.latest = time.monotonic() + self.jobs[0].ask.timeout + GRACE
        for address in usable:
            with self.workers.turn:
                if address in self.workers.busy or (index := self._next()) is None:
                    continue
                self.workers.busy.add(address)
            job = replace(self.jobs[index], topic=self._topic(index) if self.failed[index] else "")
            future = self.workers.submit(address, worker.run, job)
            self.running[future] = Running(index, address, time.monotonic())

    def _topic(self, index: int) -> str:
        return f"coderefine-{id(self)}-{index}"

    def _next(self) -> int | None:
        """Return the index of a waiting job, or else of the oldest job that only one worker runs, if it is late."""
        while self.waiting:
            if (index := self.waiting.popleft()) not in self.found:
                return index
        copies = Counter(one.index for one in self.running.values() if one.index not in self.found)
        single = [one for one in self.running.values() if copies[one.index] == 1]
        oldest = min(single, key=lambda one: one.began, default=None)
        late = oldest and time.monotonic() - oldest.began > max(LATE, 2 * self.expected[oldest.index])
        return oldest.index if oldest and late else None
