"""The client of a cluster: send the tree, ask the workers, check their answers.

A faulty worker may cost time, but cannot change a verdict: failures are confirmed at home (on this machine), and if the
workers give no answer, all tests run at home. Single tests always run at home, and so does the final proof unless
`proof` is "cluster". A lost scheduler ends the run. The search uses the workers through candidates.py.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from coderefine.cluster.candidates import SpreadPool
from coderefine.cluster.environments import Environment, LockFile, describe
from coderefine.cluster.shards import SuiteRecord
from coderefine.cluster.suite_run import SuiteRun
from coderefine.cluster.trees import TreeStore, cache
from coderefine.cluster.worker import Job, PoolJob
from coderefine.cluster.workers import Workers
from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Finding, Listen, Patch, Severity, View, Views
from coderefine.core.plurals import counted, listed
from coderefine.errors import GitError, SurroundingsError, UsageError
from coderefine.project import Interpreter, Place, Protection
from coderefine.project.protection import protected_name
from coderefine.runner.cold import RunOptions, run_tests
from coderefine.runner.cold_pool import AnyPool, open_any_pool
from coderefine.runner.pool import Pool

T = TypeVar("T")
LOCAL = re.compile(r"local(?::([1-9]\d*))?")
REMOTE = re.compile(r"(tcp|tls)://")
STARTED_WITHIN = 30.0
"""Seconds within which the scheduler must answer and the first worker must register."""
AT_ONCE = 16
"""Maximum number of test runs (see `Cluster.submit`) at the same time."""
SHOWN = 3
"""Maximum number of differences that are named when a worker is refused."""


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at `address`: tcp://…, tls://…, a scheduler file, or local[:N].

    Raises UsageError if Dask is missing or `address` is invalid, SurroundingsError if no scheduler or worker answers.
    """
    dask, distributed = _dask(address)
    for name in ("distributed", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # relevant errors are raised
    with ExitStack() as stack:
        try:
            if found := LOCAL.fullmatch(address):
                number = int(found[1]) if found[1] else None
                # Dask samples each worker a hundred times a second, which takes a tenth of its time with small tests.
                stack.enter_context(dask.config.set({"distributed.worker.profile.enabled": False}))
                free = {"dashboard": False, "dashboard_address": ":0"}  # another cluster may use the default port
                local = distributed.LocalCluster(n_workers=number, threads_per_worker=1, scheduler_kwargs=free)
                where = {"address": stack.enter_context(local)}
            else:
                where = {"address" if REMOTE.match(address) else "scheduler_file": address}
            client = distributed.Client(**where, timeout=STARTED_WITHIN, set_as_default=False, direct_to_workers=True)
            stack.callback(_close, client)
            client.wait_for_workers(1, timeout=STARTED_WITHIN)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise SurroundingsError(f"no cluster at {address}: {error or 'no worker is there'}") from error
        yield client


def _close(client: Any) -> None:
    with suppress(Exception):  # a scheduler that is lost already, or does not answer
        client.close(timeout=STARTED_WITHIN)


def _dask(address: str) -> tuple[Any, Any]:
    """Import and return `dask` and `distributed`. Raises UsageError if Dask is missing or `address` is invalid."""
    if not (LOCAL.fullmatch(address) or REMOTE.match(address) or Path(address).is_file()):
        raise UsageError(f"--cluster {address!r} is not a tcp:// or tls:// address, a scheduler file or local[:N]")
    try:
        import dask
        import distributed
    except ImportError:
        raise UsageError("--cluster needs Dask: pip install 'coderefine[cluster]'") from None
    return dask, distributed


@dataclass(slots=True)
class Cluster:
    """Workers that have the project's environment; the method `run_tests` replaces `runner.cold.run_tests`.

    `home`: the environment of this machine. `base`: the path of the workers' interpreter. `lock`: the lock file from
    which workers build an environment, if any. `strict`: whether the sandbox must have all guards. `fit`: the
    environments of the workers that can run the tests, by address.
    """

    workers: Workers
    home: Environment
    base: str
    lock: LockFile | None
    strict: bool
    listen: Listen
    fit: dict[str, Environment] = field(default_factory=dict)
    sending: threading.Lock = field(default_factory=threading.Lock)
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(AT_ONCE))

    @classmethod
    def of(
        cls, client: Any, place: Place, interpreter: Interpreter, config: Config, listen: Listen = lambda _: None
    ) -> Cluster:
        """Return a cluster whose workers are not checked yet. Raises UsageError if the lock file cannot be read."""
        own = str(interpreter.path)
        home, base = describe(own), config.cluster_python or own
        lock = LockFile.read(place.root / config.cluster_install, home) if config.cluster_install else None
        return cls(Workers(client), home, base, lock, config.sandbox == "strict", listen)

    def check(self) -> None:
        """Check the workers.

        Raises SurroundingsError if a worker's environment differs from this machine's, or if workers answer, but no
        worker can run the tests.
        """
        self.admit()
        out = self.workers.out.values()
        if grave := [why for why in out if "differs" in why or not (self.fit or "cannot answer" in why)]:
            raise SurroundingsError(f"{grave[0]}; `coderefine doctor --cluster` shows all workers")

    def environments(self) -> dict[str, Environment]:
        """Return the environments of the workers that have not been checked yet."""
        new = [address for address in self.workers.alive() if address not in self.fit]
        return self.workers.environments(new, self.base, self.lock)

    def admit(self) -> None:
        """Check new workers; leave out, with a note, workers that cannot run the tests as this machine does."""
        for address, environment in self.environments().items():
            why = self.unfit(environment)
            if why:
                self.workers.out[address] = why = f"worker {address} {why}"
                self.listen(Event("note", f"left out: {why}"))
            else:
                self.fit[address] = environment

    def unfit(self, environment: Environment) -> str:
        """Return why a worker with `environment` cannot run the tests as this machine does; "" if it can."""
        if environment.fault:
            return environment.fault
        if found := self.home.differences(environment):
            return f"differs: {listed(found, SHOWN)}"
        lacking = environment.lacking if self.strict else ()
        return f'lacks {", ".join(lacking)} for sandbox = "strict"' if lacking else ""

    def run_tests(  # noqa: PLR0917 - as the runner's
        self,
        view: View,
        place: Place,
        interpreter: Interpreter,
        config: Config,
        ask: Ask,
        listen: Listen = lambda _: None,
        options: RunOptions = RunOptions(),
    ) -> Check:
        """Run the project's tests on the workers; see `runner.cold.run_tests`. Raises LostError."""

        def at_home(asked: Ask) -> Check:
            return run_tests(view, place, interpreter, config, asked, listen, options)

        proof = ask.proof and config.proof == "local"
        if proof or ask.tests is not None or ask.record:  # `record` is about the permissions of this machine
            return at_home(ask)
        began = time.monotonic()
        own = self._own(interpreter, config)
        job = Job("", view.patch, place.prefix, *own, ask, options)
        deadly = self.workers.deadly
        check, why = (None, deadly) if deadly else self._sent(job, place, config, at_home)
        if check is None:
            listen(Event("note", f"all tests ran here: {why}"))
            check = at_home(ask)
            findings: tuple[Finding, ...] = ()
            if case := check.cases.get(self.workers.last_test):  # it ran when the last of several workers died
                why = self.workers.deadly
                findings = (Finding("pytest", "workers-died", case.path, why, None, case.id, severity=Severity.SOFT),)
            return replace(check, findings=findings)
        note = f"{counted(len(check.cases), 'test')} ran on the cluster ({why})"
        return replace(check, seconds=time.monotonic() - began, notes=(*check.notes, note))

    def submit(self, run: Callable[[], T]) -> Future[T]:
        """Call `run` in a thread. `run` uses `run_tests`; idle workers can begin with these tests at once."""
        return self.threads.submit(run)

    def close(self) -> None:
        """Cancel or end the submitted calls, because their results are not needed any more."""
        self.workers.closed = True
        self.threads.shutdown(cancel_futures=True)

    @contextmanager
    def open_pool(
        self, views: Views, place: Place, interpreter: Interpreter, config: Config, **settings: Any
    ) -> Iterator[AnyPool]:
        """Open a pool on this machine like `open_any_pool`; for plans with `many`, workers judge candidates, too."""
        with open_any_pool(views, place, interpreter, config, **settings) as pool:
            if not isinstance(pool, Pool):
                yield pool
                return
            with views.open(settings["patch"]) as view:
                patch = view.patch
            names = ("expected", "deadly", "seconds", "files", "imports", "freedom")
            own = self._own(interpreter, config)
            given = {name: settings[name] for name in names if name in settings}
            job = PoolJob("", patch, place.prefix, *own, uuid4().hex, **given)
            spread = SpreadPool(pool, self.workers, job, lambda: self._bring(place), self.listen)
            pool.elsewhere = spread.judge
            try:
                yield pool
            finally:
                spread.close()

    def _own(self, interpreter: Interpreter, config: Config) -> tuple[Interpreter, Config]:
        """Return the workers' interpreter and configuration, without settings that may be secret."""
        plain = replace(config, base_url=None, extra_headers={}, commands=(), criteria=())
        return replace(interpreter, path=Path(self.lock.python if self.lock else self.base)), plain

    def _bring(self, place: Place) -> tuple[str, list[str]]:
        """Send the tree; return its id and the workers that have it. Raises LostError, GitError, OSError."""
        store = TreeStore()
        with self.sending:
            self.admit()
            tree = store.add(place.top, _name(place))
            stores = {address: environment.store for address, environment in self.fit.items()}
            return tree, self.workers.send(store, tree, stores)

    def _sent(
        self, job: Job, place: Place, config: Config, at_home: Callable[[Ask], Check]
    ) -> tuple[Check | None, str]:
        """Send the tree to the workers and run the tests there.

        Return the result of the workers and the number of shards; or None and the reason that there is no result.
        """
        try:
            tree, able = self._bring(place)
        except (GitError, OSError) as error:  # a disk is full
            return None, f"the tree cannot be sent: {error}"
        if not able:
            return None, "; ".join(dict.fromkeys(self.workers.out.values())) or "no worker is left"
        file = cache() / f"{_name(place)}.json"
        record = SuiteRecord.load(file).of(_tests(job.patch, tree, place, config))
        return SuiteRun(self.workers, replace(job, tree=tree), able, record, file, at_home).check()


def _name(place: Place) -> str:
    """Return the project's name in the cache."""
    return hashlib.sha256(str(place.root).encode()).hexdigest()[:16]


def _tests(patch: Patch, tree: str, place: Place, config: Config) -> str:
    """Return a digest of the tests, their data and the configuration in `tree` with `patch`."""
    protection = Protection.of(place, config)
    files = TreeStore().listing(tree) | {
        path: hashlib.sha256(data or b"").hexdigest() for path, data in patch.files.items()
    }
    kept = {path: content for path, content in files.items() if protection.is_test(path) or protected_name(path)}
    return hashlib.sha256(json.dumps(sorted(kept.items())).encode()).hexdigest()
