"""The functions that run on workers: they store trees, run tests and judge candidates, but give no verdict on a patch.

A pool that judges candidates is opened once for a search, kept between its batches, and closed at its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from itertools import takewhile

from coderefine.cluster.trees import TreeStore, cache
from coderefine.config import Config
from coderefine.core import Ask, Check, Freedom, Listen, Patch, Status, Views
from coderefine.errors import CriticError, RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.cold import RunOptions, run_tests
from coderefine.runner.pool import Pool, open_pool
from coderefine.workspace import Grants, open_views
from coderefine.workspace.patched_tree import read
from coderefine.workspace.private_views import SnapshotViews

IDLE = 60.0
"""Seconds without a batch after which a pool is closed, because its client has probably ended."""
OBSERVING = 10.0
"""Maximum seconds for observing the tests on the unchanged tree."""


@dataclass(frozen=True, slots=True)
class TreeJob:
    """The project that a worker runs: the folder `prefix` in `tree`, with `patch`; see `runner.cold.run_tests`.

    `interpreter`: its path is relative to the worker's cache if the workers build an environment.
    """

    tree: str
    patch: Patch
    prefix: str
    interpreter: Interpreter
    config: Config

    def here(self) -> tuple[Place, Interpreter]:
        """Return the project and its interpreter on this worker. Raises GitError or OSError if that is not possible."""
        top = TreeStore().checkout(self.tree)
        return Place(top, top / self.prefix), replace(self.interpreter, path=cache() / self.interpreter.path)

    def views(self, place: Place) -> AbstractContextManager[Views]:
        """Open private views of the tree at `place`, which `here` returned."""
        # Copies, because their path comes first on the import path: an editable install names the client's tree.
        return open_views(place, kind="copy", grants=Grants(self.config.network, self.config.pass_env))


@dataclass(frozen=True, slots=True)
class Job(TreeJob):
    """A request to a worker: run the tests of `ask`. The other fields are as in `runner.cold.run_tests`.

    `topic`: Dask's topic to which the worker reports the running test, at most ten times a second ("": no reports).
    """

    ask: Ask
    options: RunOptions
    topic: str = ""


def known() -> frozenset[str]:
    """Return the ids of the trees that this worker has."""
    return TreeStore().known()


def receive(tree: str, pack: bytes) -> None:
    TreeStore().receive(tree, pack)


def reporter(topic: str) -> Listen:
    """Return a function that reports the running test to the scheduler under `topic`; for "", it does nothing."""
    if not topic:
        return lambda _: None
    from distributed import get_worker

    worker = get_worker()
    return lambda event: worker.log_event(topic, event.text) if event.text else None


def run(job: Job) -> Check | str:
    """Run the tests in a private view of the tree; return the check, or why no worker can give one.

    Other errors are raised, for example if this worker lacks the tree, disk space or a sandbox.
    """
    place, interpreter = job.here()
    try:
        with job.views(place) as views, SnapshotViews(views, {}).open(job.patch) as view:
            check = run_tests(view, place, interpreter, job.config, job.ask, reporter(job.topic), job.options)
            paths = {case.path for case in check.cases.values() if case.path}
            given = {path: job.patch.files.get(path, read(place.top, place.top, path)) for path in paths}
            changed = [path for path in paths if view.read(path) != given[path]]
            # In this case the tests run at home, where such a change is judged.
            return f"the tests changed {changed[0]}" if changed else check
    except (CriticError, RunnerError) as error:
        return str(error)


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
    imports: Sequence[str] = ()
    failing: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


BATCH = 0.5
"""Seconds that a batch should take."""


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """Candidates for the pool `key`; none is begun after BATCH seconds. `least`: lower bound of the CPU limits (s).

    This is not a collection, because Dask would search a collection for futures and sizes, which takes a long time.
    """

    key: str
    candidates: tuple[Candidate, ...]
    plan: Plan
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
            names = ("patch", "expected", "deadly", "seconds", "files", "imports", "freedom")
            given = {name: getattr(job, name) for name in names}
            pool = stack.enter_context(open_pool(views, place, interpreter, job.config, workers=1, **given))
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
            some = takewhile(lambda _: time.monotonic() < began + BATCH, order.candidates)
            judged = list(warm.pool.judge(some, order.plan))
        finally:
            warm.timer = _closing(order.key)
    bare = tuple(replace(one, candidate=Candidate(one.candidate.number, {})) for one in judged)
    return BatchAnswer(time.monotonic() - began, warm.pool.least, bare)


def close_pool(key: str) -> None:
    """Close the pool `key` if it is open."""
    if warm := _pools.pop(key, None):
        with warm.turn:
            warm.timer.cancel()
            warm.stack.close()


def _closing(key: str) -> threading.Timer:
    timer = threading.Timer(IDLE, close_pool, (key,))
    timer.daemon = True
    timer.start()
    return timer
