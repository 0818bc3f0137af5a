"""The client of a cluster: send the tree, ask the workers, check their answers.

A worker's answer may cost time, never a verdict: failures are confirmed at home, and whenever a worker, or the cluster,
has no answer, the tests run at home. A lost scheduler ends the run.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coderefine import proc
from coderefine.cluster import worker
from coderefine.cluster.shards import SuiteRecord, merged, same
from coderefine.cluster.trees import TreeStore, cache
from coderefine.cluster.worker import Environment, Job
from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Listen, View
from coderefine.core.plurals import counted
from coderefine.errors import ProcessError, SurroundingsError, UsageError
from coderefine.project import Interpreter, Place
from coderefine.runner.cold import run_tests

LOCAL = re.compile(r"local(?::([1-9]\d*))?")
REMOTE = re.compile(r"(tcp|tls)://")
STARTED_WITHIN = 30.0
"""Seconds within which the scheduler must answer and the first worker must be there."""
LOST = "the scheduler is lost: nothing was written; run the same command again"
POLL = 0.2
GRACE = 60.0
"""Seconds that a worker's answer may come later than the check may take."""
SHOWN = 3
"""Number of differences that a refusal names."""


class LostError(SurroundingsError):
    """The connection to the scheduler is lost."""


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at `address`: tcp://…, tls://…, a scheduler file, or local[:N].

    Raises UsageError without Dask, SurroundingsError if nobody answers.
    """
    distributed = _dask(address)
    for name in ("distributed", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters becomes an error of ours
    with ExitStack() as stack:
        try:
            if found := LOCAL.fullmatch(address):
                number = int(found[1]) if found[1] else None
                local = distributed.LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None)
                where = {"address": stack.enter_context(local)}
            else:
                where = {"address" if REMOTE.match(address) else "scheduler_file": address}
            client = distributed.Client(**where, timeout=STARTED_WITHIN, set_as_default=False, direct_to_workers=True)
            stack.enter_context(client)
            client.wait_for_workers(1, timeout=STARTED_WITHIN)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise SurroundingsError(f"no cluster at {address}: {error or 'no worker is there'}") from error
        yield client


def _dask(address: str) -> Any:
    """Import Dask for `address`. Raises UsageError."""
    if not (LOCAL.fullmatch(address) or REMOTE.match(address) or Path(address).is_file()):
        raise UsageError(f"--cluster {address!r} is no tcp:// or tls:// address, scheduler file or local[:N]")
    try:
        import distributed
    except ImportError:
        raise UsageError("--cluster needs Dask: pip install 'coderefine[cluster]'") from None
    return distributed


def environments(client: Any, python: str) -> Mapping[str, Environment]:
    """Return what each worker, by address, would run tests in."""
    asked = {
        address: client.submit(worker.describe, python, workers=[address], pure=False)
        for address in client.scheduler_info(n_workers=-1)["workers"]
    }
    found = {}
    for address, future in asked.items():
        try:
            found[address] = future.result(STARTED_WITHIN)
        except Exception as error:  # noqa: PERF203 - too old, without coderefine, dead: it cannot take part
            found[address] = Environment(fault=f"cannot answer: {error!r}")
    return found


@dataclass(slots=True)
class Cluster:
    """Workers that have the project's environment; `run_tests` is used in place of the runner's."""

    client: Any
    workers: Mapping[str, Environment]
    python: str

    @classmethod
    def of(cls, client: Any, interpreter: Interpreter, config: Config, python: str | None) -> Cluster:
        """Check the workers. Raises SurroundingsError if one differs from home, or none may run the tests.

        `python`: the interpreter on the workers (default: at the same path as here).
        """
        home, there = worker.describe(str(interpreter.path)), python or str(interpreter.path)
        workers = environments(client, there)
        for address, environment in workers.items():
            if found := home.differences(environment):
                more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
                raise SurroundingsError(
                    f"worker {address} differs: {', '.join(found[:SHOWN])}{more}; "
                    "`coderefine doctor --cluster` shows all workers"
                )
        if config.sandbox == "strict":
            workers = {key: one for key, one in workers.items() if not one.lacking}
        if not workers:
            raise SurroundingsError('no worker can keep sandbox = "strict": `coderefine doctor --cluster` says why')
        return cls(client, workers, there)

    def run_tests(  # noqa: PLR0917 - as the runner's
        self,
        view: View,
        place: Place,
        interpreter: Interpreter,
        config: Config,
        ask: Ask,
        listen: Listen = lambda _: None,
        *,
        limit: float | None = None,
        slowest: float = 0.0,
        doubted: tuple[str, ...] = (),
        canary: bool = True,
    ) -> Check:
        """Run the project's tests on the workers; see `runner.cold.run_tests`. Raises LostError."""

        def at_home(asked: Ask) -> Check:
            return run_tests(
                view, place, interpreter, config, asked, listen,
                limit=limit, slowest=slowest, doubted=doubted, canary=canary,
            )  # fmt: skip

        began = time.monotonic()
        name = hashlib.sha256(str(place.root).encode()).hexdigest()[:16]
        python = replace(interpreter, path=Path(self.python))
        job = Job("", view.patch, place.prefix, python, config, ask, limit, slowest, doubted, canary)
        try:
            job = replace(job, tree=self._send(place.top, name))
        except CancelledError as error:
            raise LostError(LOST) from error
        except Exception as error:  # a disk is full, a worker died
            check, why = None, f"the tree cannot be sent: {error}"
        else:
            check, why = self._asked(job, cache() / f"{name}.json")
        if check and check.complete:
            check = _confirmed(check, ask, at_home)
            why = why if check else "other failures on the workers than here"
        if check is None or not check.complete:
            listen(Event("note", f"all tests ran here: {why if check is None else 'not all ran on the workers'}"))
            return at_home(ask)
        note = f"{counted(len(check.cases), 'test')} ran on the cluster ({why})"
        return replace(check, seconds=time.monotonic() - began, notes=(*check.notes, note))

    def _asked(self, job: Job, file: Path) -> tuple[Check | None, str]:
        """Return what the workers say, and how they were asked; or None, and why there is no answer.

        The first run of a project's tests is whole, and once more in shards, to see whether these end alike.
        """
        record, partial = SuiteRecord.load(file), job.ask.tests is not None or job.ask.files is not None
        shards = record.shards(len(self.workers)) if record.independent and not partial else []
        check, why = self._sharded(job, shards)
        if check and check.complete and not partial and record.independent is not False:
            self._compared(job, check, record.learn(check)).save(file)
        return check, why

    def _compared(self, job: Job, check: Check, record: SuiteRecord) -> SuiteRecord:
        """Return `record` with whether shards end like `check`, a whole run, if that is not known yet."""
        shards = record.shards(len(self.workers))
        if record.independent is not None or len(shards) < 2:
            return record
        again, _ = self._sharded(job, shards)
        return replace(record, independent=None if again is None else same(check, again))

    def _sharded(self, job: Job, shards: Sequence[tuple[str, ...]]) -> tuple[Check | None, str]:
        """Ask for each shard; the first one also has all tests that no shard names. Without shards ask for all."""
        jobs = _divided(job, shards)
        answers = self._answers(jobs)
        if fault := next((answer for answer in answers if isinstance(answer, str)), ""):
            return None, fault
        return merged([answer for answer in answers if isinstance(answer, Check)]), counted(len(jobs), "shard")

    def _answers(self, jobs: Sequence[Job]) -> list[Check | str]:
        """Run `jobs` on the workers and wait; an error, or the death of three workers, is a text. Raises LostError."""
        options = {"workers": list(self.workers), "allow_other_workers": False, "pure": False}
        futures = [self.client.submit(worker.run, job, **options) for job in jobs]
        latest = time.monotonic() + jobs[0].ask.timeout + GRACE
        while not all(future.done() for future in futures) and time.monotonic() < latest:
            if self.client.status != "running":
                raise LostError(LOST)
            if proc.is_stopped():
                self.client.cancel(futures, force=True)
                raise ProcessError("the run is being stopped")
            time.sleep(POLL)
        return [_answer(future) for future in futures]

    def _send(self, top: Path, name: str) -> str:
        """Bring the tree at `top` to every store of the workers that lacks it; return its id.

        It goes to the workers themselves, as what is missing of it, never through the scheduler.
        """
        store = TreeStore()
        tree = store.add(top, name)
        receivers = {environment.store: address for address, environment in self.workers.items()}
        known = self.client.run(worker.known, workers=list(receivers.values()))
        for address, trees in known.items():
            if tree not in trees:
                [pack] = self.client.scatter([store.pack(tree, trees)], workers=[address], direct=True, hash=False)
                self.client.submit(worker.receive, tree, pack, workers=[address], pure=False).result()
        return tree


def _divided(job: Job, shards: Sequence[tuple[str, ...]]) -> list[Job]:
    others = [path for shard in shards[1:] for path in shard]
    root = "" if job.prefix == "." else f"{job.prefix}/"
    ignored = tuple(f"--ignore={path.removeprefix(root)}" for path in others)
    first = replace(job, config=replace(job.config, pytest_args=(*job.config.pytest_args, *ignored)))
    return [first, *(replace(job, ask=replace(job.ask, files=shard)) for shard in shards[1:])]


def _confirmed(check: Check, ask: Ask, at_home: Callable[[Ask], Check]) -> Check | None:
    """Run the test files with failures at home; return `check` with these results, or None if they differ."""
    failing = tuple(dict.fromkeys(case.path for case in check.cases.values() if case.status.bad))
    if not failing:
        return check
    home = at_home(replace(ask, files=failing))
    there = {id: case for id, case in check.cases.items() if case.path in failing}
    return replace(check, cases={**check.cases, **home.cases}) if same(replace(check, cases=there), home) else None


def _answer(future: Any) -> Check | str:
    """Return a worker's answer; whatever it raises is no verdict. Raises LostError."""
    if not future.done():
        future.cancel(force=True)
        return "a worker has no answer in time"
    try:
        answer: Check | str = future.result(GRACE)
    except CancelledError as error:  # Dask cancels what it has asked for when it loses the scheduler
        raise LostError(LOST) from error
    except Exception as error:
        died = type(error).__name__ == "KilledWorker"
        return "a task killed every worker that ran it" if died else f"a worker has no answer: {error!r}"
    return answer
