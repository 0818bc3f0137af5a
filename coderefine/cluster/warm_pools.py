"""Pools that judge candidates on a worker: opened once for a search, kept between its batches, closed at its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import takewhile

from coderefine.cluster.worker import TreeJob
from coderefine.core import Freedom, Status
from coderefine.errors import CriticError, RunnerError
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.pool import Pool, open_pool

IDLE = 60.0
"""Seconds without a batch after which a pool is closed, because its client has probably ended."""
OBSERVING = 10.0
"""Maximum seconds for observing the tests on the unchanged tree."""


@dataclass(frozen=True, slots=True)
class PoolJob(TreeJob):
    """A request to a worker: open a pool with the name `key`.

    `failing`, `others`: the failing tests and the other tests that the client's pool runs on candidates. Other fields:
    as in `runner.pool.open_pool`.
    """

    key: str
    expected: Mapping[str, Status]
    seconds: Mapping[str, float]
    files: Sequence[str] | None
    freedom: Freedom
    deadly: frozenset[str] = frozenset()
    failing: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """Candidates for the pool `key`; none is begun after `seconds`. `least`: lower bound of the CPU limits, in seconds.

    This is not a collection, because Dask would search a collection for futures and sizes, which takes a long time.
    """

    key: str
    candidates: tuple[Candidate, ...]
    plan: Plan
    seconds: float
    least: float


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """Verdicts without the files of their candidates, which the client has. `seconds`: how long the batch took.

    `least`: the lower bound of the CPU limits from now on; a longer run may have raised it.
    """

    seconds: float
    least: float
    judged: tuple[Judged, ...]


@dataclass(slots=True)
class WarmPool:
    """An open pool, and the timer that closes it."""

    pool: Pool
    stack: ExitStack
    timer: threading.Timer
    turn: threading.Lock


_pools: dict[str, WarmPool] = {}


def open_warm(job: PoolJob) -> tuple[str, ...] | str:
    """Open a pool with one server and observe the tests; return the tests that it can run, or why there is no pool.

    Other errors are raised, for example if this worker lacks the tree, disk space or a sandbox.
    """
    place, interpreter = job.here()
    with ExitStack() as stack:
        try:
            views = stack.enter_context(job.views(place))
            opened = open_pool(
                views,
                place,
                interpreter,
                job.config,
                patch=job.patch,
                workers=1,
                expected=job.expected,
                deadly=job.deadly,
                seconds=job.seconds,
                files=job.files,
                freedom=job.freedom,
            )
            pool = stack.enter_context(opened)
            pool.observe(job.failing, job.others, OBSERVING)
        except (RunnerError, CriticError) as error:
            return str(error)
        _pools[job.key] = WarmPool(pool, stack.pop_all(), _closing(job.key), threading.Lock())
    return pool.fit


def judge(order: BatchOrder) -> BatchAnswer:
    """Judge candidates in an open pool. Raises KeyError if it is closed."""
    warm = _pools[order.key]
    with warm.turn:
        warm.timer.cancel()
        began = time.monotonic()
        warm.pool.least = max(warm.pool.least, order.least)
        try:
            some = takewhile(lambda _: time.monotonic() < began + order.seconds, order.candidates)
            judged = list(warm.pool.judge(some, order.plan))
        finally:
            warm.timer = _closing(order.key)
    bare = tuple(replace(one, candidate=Candidate(one.candidate.number, {})) for one in judged)
    return BatchAnswer(time.monotonic() - began, warm.pool.least, bare)


def close(key: str) -> None:
    """Close the pool `key` if it is open."""
    if warm := _pools.pop(key, None):
        with warm.turn:
            warm.timer.cancel()
            warm.stack.close()


def _closing(key: str) -> threading.Timer:
    timer = threading.Timer(IDLE, close, (key,))
    timer.daemon = True
    timer.start()
    return timer
