"""Judge patches of the small projects here and on workers; count equal verdicts, candidates a second and CPU seconds.

    python -m tests.bench.cluster.agreement --cold 10 --seconds 20

Candidates: the reference repair, small wrong versions (judge.mutants) of it and of the program, and of these again,
plausible or not, with the outcome of every test that ran. `--cold`: whole cold runs of some of them in each project.
`--seconds`: for each rate. Counted are the verdicts within them: a candidate that hangs is run longer, and the wait for
one such run after the end would be a tenth of a short measurement and nothing of a search. It is printed beside the
rate. Where client, scheduler and workers share the processors, their CPU bounds what a second worker can bring.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from coderefine import proc
from coderefine.cluster.candidates import SpreadPool
from coderefine.cluster.client import Cluster, connect
from coderefine.cluster.workers import Workers
from coderefine.config import Config
from coderefine.core import Ask, Check, Freedom, Patch, Views
from coderefine.judge import mutants
from coderefine.project import Interpreter, Place, interpreter, locate
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.cold import run_tests
from coderefine.runner.pool import Pool
from coderefine.workspace import open_views
from tests.support.dask import Dask, open_cluster
from tests.support.projects import Project, describe, names
from tests.support.repo import make_repo

WORKERS = ("one", "two")
UNWATCHED = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""As README advises."""
TWICE = 2
"""Number of wrong versions with a second mistake, for each with one."""
TIMED = "calc"
"""The project whose candidates are timed: most of them repair nothing, as in a search."""


class CountingWorkers(Workers):
    """Counts the tasks."""

    tasks = 0

    def submit(self, *args: Any) -> Any:
        CountingWorkers.tasks += 1
        return super().submit(*args)


@dataclass(frozen=True)
class Case:
    """A project of which `baseline` is the cold run, open on `cluster`."""

    place: Place
    python: Interpreter
    config: Config
    views: Views
    cluster: Cluster
    baseline: Check
    candidates: Sequence[Candidate]

    @classmethod
    @contextmanager
    def open(cls, project: Project, folder: Path, address: str) -> Iterator[Case]:
        top = make_repo(folder / project.name, project.files())
        place, config = locate([top / project.root], top), Config(python=sys.executable)
        python = interpreter(place, config, os.environ)
        with connect(address) as client, open_views(place) as views:
            cluster = Cluster.of(client, place, python, config)
            cluster.workers = CountingWorkers(client)
            cluster.check()
            with views.open() as view:
                baseline = run_tests(view, place, python, config, Ask())
            repair = project.repaired()
            program = {path: data for path, data in project.files().items() if path in repair}
            near = [{**repair, **one.files} for one in mutants(Patch(repair), dict.fromkeys(repair))]
            wrong = [one.files for one in mutants(Patch(program), dict.fromkeys(program))]
            twice = (mutants(Patch(files), dict.fromkeys(files), TWICE) for files in wrong)
            texts = [repair, *near, *wrong, *(one.files for some in twice for one in some)]
            yield cls(
                place, python, config, views, cluster, baseline,
                [Candidate(number, files) for number, files in enumerate(texts)],
            )  # fmt: skip

    @contextmanager
    def pool(self, workers: int = 2) -> Iterator[tuple[Pool, Plan]]:
        cases = self.baseline.cases
        opened = self.cluster.open_pool(
            self.views, self.place, self.python, self.config,
            patch=Patch(), expected={name: case.status for name, case in cases.items()},
            seconds={name: case.seconds for name, case in cases.items()},
            deadly=frozenset(), files=None, freedom=Freedom(), workers=workers,
        )  # fmt: skip
        failing = [name for name, case in cases.items() if case.status.bad]
        with opened as pool:
            assert isinstance(pool, Pool)
            pool.observe(failing, [name for name in cases if name not in failing])
            yield pool, Plan(first=tuple(failing[:3]), keep_going=True)


def spread_of(pool: Pool) -> SpreadPool:
    assert pool.elsewhere
    return pool.elsewhere.__self__  # type: ignore[attr-defined,no-any-return]


def wait(pool: Pool, plan: Plan, wrong: Candidate) -> None:
    """Judge until each worker is ready."""
    spread = spread_of(pool)
    endless = itertools.repeat(wrong)
    many = replace(plan, many=True)
    until = time.monotonic() + 60.0
    while time.monotonic() < until and not (len(spread.team) == len(spread.workers.alive()) == len(spread._ready())):
        list(pool.judge(itertools.islice(endless, 1), many))


def compare(case: Case, total: Counter[str]) -> None:
    """Judge all candidates here and there."""
    with case.pool() as (pool, plan):
        wait(pool, plan, case.candidates[-1])
        spread = spread_of(pool)
        before = spread.away
        there = by_number(pool.judge(iter(case.candidates), replace(plan, many=True)))
        total["refused by workers"] += spread.away - before
        here = by_number(pool.judge(iter(case.candidates), plan))
    for number, one in here.items():
        other = there.get(number)
        equal = other is not None and (one.plausible, one.statuses) == (other.plausible, other.statuses)
        total["equal" if equal else "different"] += 1
        total["plausible"] += one.plausible
        if not equal:
            print(f"  candidate {number} of {case.place.top.name}: {one} here, {other} there", flush=True)


def by_number(judged: Iterator[Judged]) -> dict[int, Judged]:
    return {one.candidate.number: replace(one, candidate=Candidate(0, {})) for one in judged}


def compare_cold(case: Case, most: int, total: Counter[str]) -> None:
    """Run all tests with some of the candidates here and there."""
    step = max(1, len(case.candidates) // max(1, most))
    for candidate in case.candidates[::step][:most]:
        found = []
        for run in (run_tests, case.cluster.run_tests):
            with case.views.open(Patch(candidate.files)) as view:
                found.append(run(view, case.place, case.python, case.config, Ask()))
        one, two = ({name: test.status for name, test in check.cases.items()} for check in found)
        total["cold equal" if (one, found[0].complete) == (two, found[1].complete) else "cold different"] += 1


def rates(case: Case, seconds: float, dask: Dask) -> None:
    """Print candidates a second here and on the workers, and the CPU of all."""
    workers = len(dask.processes) - 1
    with case.pool(workers) as (pool, plan):
        print(f"{workers} server(s) here: {measure(pool, plan, case, seconds, dask)[0]}")
    with case.pool(workers) as (pool, plan):
        wait(pool, plan, case.candidates[-1])
        tasks, away = CountingWorkers.tasks, spread_of(pool).away
        text, used, judged = measure(pool, replace(plan, many=True), case, seconds, dask)
        tasks, away = CountingWorkers.tasks - tasks, spread_of(pool).away - away
    print(f"{workers} worker(s) of the cluster: {text}")
    print(f"  client {1000 * used['client'] / tasks:.1f} ms for each of {tasks} tasks; {judged - away} judged here")
    print(f"  a second worker on {proc.processors()} processors: at most {bound(used):.2f} times as many")


def measure(pool: Pool, plan: Plan, case: Case, seconds: float, dask: Dask) -> tuple[str, dict[str, float], int]:
    """Return the rate as a text, the CPU seconds of each part, and the number of candidates that were judged."""
    before = spent(dask)
    own, began = own_cpu(), time.monotonic()
    ended = [time.monotonic() - began for _ in pool.judge(repeated(case, seconds), plan)]
    own, took = own_cpu() - own, time.monotonic() - began
    used = {"client": own, **{part: after - before[part] for part, after in spent(dask).items()}}
    each = ", ".join(f"{part} {1000 * cpu / len(ended):.2f}" for part, cpu in used.items())
    rate = sum(one < seconds for one in ended) / seconds
    text = f"{rate:.1f} candidates/s, and {took - seconds:.1f} s until the last of {len(ended)} ended"
    return f"{text}\n  ms CPU a candidate: {each}", used, len(ended)


def repeated(case: Case, seconds: float) -> Iterator[Candidate]:
    """Yield the candidates again and again for `seconds`."""
    until = time.monotonic() + seconds
    endless = itertools.chain.from_iterable(itertools.repeat(case.candidates[1:]))
    numbered = (replace(one, number=number) for number, one in enumerate(endless))
    return itertools.takewhile(lambda _: time.monotonic() < until, numbered)


def bound(cpu: Mapping[str, float]) -> float:
    """Return how many times one worker's candidates two can judge if no processor ever waits."""
    worker, everything, processors = cpu["workers"], sum(cpu.values()), proc.processors()
    return max(worker, everything / processors) / max(worker / 2, everything / processors)


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def spent(dask: Dask) -> dict[str, float]:
    """Return the CPU seconds so far of the client's servers, the scheduler and the workers, with their servers."""
    families = {name: family(process.pid) for name, process in dask.processes.items()}
    servers = set(family(os.getpid())[1:]).difference(*families.values())
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = {name: cpu_of(*processes) for name, processes in families.items()}
    return {
        "its servers": ended.ru_utime + ended.ru_stime + cpu_of(*servers),
        "scheduler": used.pop("scheduler"),
        "workers": sum(used.values()),
    }


def family(pid: int) -> list[psutil.Process]:
    """Return the process, and those below it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def cpu_of(*processes: psutil.Process) -> float:
    """Return the CPU seconds of the processes and of their children that have ended."""
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):  # it has ended
            total += sum(process.cpu_times()[:4])
    return total


def main() -> None:
    """Compare all projects, then measure, and print."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--cold", type=int, default=3)
    asked.add_argument("--seconds", type=float, default=20.0)
    asked.add_argument("--only", default="")
    given = asked.parse_args()
    folder, total = Path(tempfile.mkdtemp(prefix="cluster-agreement-")), Counter[str]()
    os.environ["XDG_CACHE_HOME"] = str(folder / "client")
    with open_cluster(folder / "dask", WORKERS) as dask:
        for project in (describe(name) for name in names() if given.only in name):
            with Case.open(project, folder, dask.address) as case:
                compare(case, total)
                compare_cold(case, given.cold, total)
                print(f"{project.name}: {len(case.candidates)} candidates; {dict(total)}", flush=True)
    for number in (1, 2) if given.seconds else ():
        with (
            open_cluster(folder / f"dask{number}", WORKERS[:number], settings=UNWATCHED) as dask,
            Case.open(describe(TIMED), folder / str(number), dask.address) as case,
        ):
            rates(case, given.seconds, dask)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
