"""Pools of candidates on a worker: opened once for a search, kept between its batches, closed with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import takewhile

from coderefine.cluster.trees import TreeStore
from coderefine.cluster.worker import here
from coderefine.config import Config
from coderefine.core import Freedom, Patch, Status
from coderefine.errors import CriticError, RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.pool import Pool, open_pool
from coderefine.workspace import Grants, open_views

IDLE = 60.0
"""Seconds without a batch after which a pool is closed: its client is gone."""
OBSERVING = 10.0
"""Most seconds for observing the tests on the unchanged tree."""


@dataclass(frozen=True, slots=True)
class PoolJob:
    """A pool that a worker opens. `failing`, `others`: the tests that the client's own pool runs on candidates.

    The rest is as in `runner.pool.open_pool`; `prefix`: of the project in the tree.
    """

    key: str
    prefix: str
    interpreter: Interpreter
    config: Config
    patch: Patch
    expected: Mapping[str, Status]
    seconds: Mapping[str, float]
    files: Sequence[str] | None
    freedom: Freedom
    deadly: frozenset[str] = frozenset()
    tree: str = ""
    failing: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class WarmPool:
    """An open pool, and the timer that closes it."""

    pool: Pool
    stack: ExitStack
    timer: threading.Timer
    turn: threading.Lock


_pools: dict[str, WarmPool] = {}


def open_warm(job: PoolJob) -> tuple[str, ...] | str:
    """Open a pool of one server and observe the tests; return those that it runs on candidates, or why there is none.

    Raises the error of what this worker lacks: the tree, space on its disk, a sandbox.
    """
    top = TreeStore().checkout(job.tree)
    place = Place(top, top / job.prefix)
    with ExitStack() as stack:
        try:
            grants = Grants(job.config.network, job.config.pass_env)
            views = stack.enter_context(open_views(place, kind="copy", grants=grants))
            opened = open_pool(
                views,
                place,
                here(job.interpreter),
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


def judge(key: str, candidates: Sequence[Candidate], plan: Plan, seconds: float) -> tuple[float, list[Judged]]:
    """Judge `candidates` in the pool `key`, none of them after `seconds`; return the seconds and the verdicts.

    The files of the candidates stay here: the client has them. Raises KeyError if the pool is closed.
    """
    warm = _pools[key]
    with warm.turn:
        warm.timer.cancel()
        began = time.monotonic()
        try:
            some = takewhile(lambda _: time.monotonic() < began + seconds, candidates)
            judged = list(warm.pool.judge(some, plan))
        finally:
            warm.timer = _closing(key)
    bare = [replace(one, candidate=Candidate(one.candidate.number, {})) for one in judged]
    return time.monotonic() - began, bare


def close(key: str) -> None:
    """Close the pool `key`, unless it is closed."""
    if warm := _pools.pop(key, None):
        with warm.turn:
            warm.timer.cancel()
            warm.stack.close()


def _closing(key: str) -> threading.Timer:
    timer = threading.Timer(IDLE, close, (key,))
    timer.daemon = True
    timer.start()
    return timer
