"""Predict what a cluster of many workers does, from costs measured on this machine's one and two workers.

    python -m tests.bench.cluster.simulate --out chart.svg --delay 0.02 --loss 0.01

The costs: seconds of a run apart from its tests, CPU of its client, seconds for each megabyte of a tree that is sent,
CPU of the scheduler for a task, a heartbeat and a look at the workers. First the model must reproduce runs on one and
on two workers that it was not made from, within 15 %; if it does not, it says no more (exit 1). With `--delay` (seconds
each way) and `--loss` (share of the packets) the workers are in a network namespace, behind such a network.
"""

from __future__ import annotations

import argparse
import heapq
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from coderefine.cluster.client import connect
from coderefine.cluster.shards import SuiteRecord, divide
from coderefine.cluster.workers import pause
from tests.bench.cluster.tree import make_tree, sent
from tests.support.command import end, start
from tests.support.dask import SHOP, Dask, open_cluster
from tests.support.repo import make_repo
from tests.support.slow_network import slow_network

SUITE = {f"tests/test_{number}.py": seconds for number, seconds in enumerate((4.0, 1.0, 2.5, 3.0, 1.5, 4.0, 2.0, 2.0))}
"""What the calibration does not see: the files of the suite that is predicted, and what they take."""
LIMIT, TASKS, REPEATS = 0.15, 300, 3
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
FILES, HOUR = 4000, 3600.0
TREE = 5.0
"""Megabytes of the pack of a large tree (10,000 files of 2 KB: 8)."""
REPOSITORIES, EACH = (1, 10, 100, 1000, 10_000), 60.0
"""Numbers of repositories of a fleet, and the seconds that the tests of each take."""


@dataclass(frozen=True)
class Costs:
    """Seconds. `run`: wall time of a run of one empty test; `file`: of one more file; `client`: CPU of a run's client.

    `send`: wall time for a megabyte to one worker; `task`, `heartbeat`, `look`: the scheduler's CPU.
    """

    run: float
    file: float
    client: float
    send: float
    task: float
    heartbeat: float
    look: float

    def heartbeats(self, workers: int) -> float:
        """Return the scheduler's CPU for heartbeats, by second; their interval is that of distributed/scheduler.py."""
        interval = 0.5 if workers <= 10 else 1.0 if workers < 50 else 2.0 if workers < 200 else workers / 200 + 1
        return workers * self.heartbeat / interval


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def repository(folder: Path, suite: dict[str, float]) -> Path:
    test = "import time\n\n\ndef test_it():\n    time.sleep({})\n"
    files = {name: test.format(seconds) for name, seconds in suite.items()}
    return make_repo(folder, {"pyproject.toml": SHOP["pyproject.toml"], **files})


@contextmanager
def learned(dask: Dask, top: Path, suite: dict[str, float]) -> Iterator[None]:
    """Let the client know the suite already, so that it is divided at once, and the workers the tree."""
    dask.check(top)
    (file,) = (dask.folder / "client" / "coderefine" / "cluster").glob("*.json")
    replace(SuiteRecord.load(file), seconds=suite, independent=True).save(file)
    yield
    file.unlink()


def timed(dask: Dask, top: Path, suite: dict[str, float]) -> tuple[float, float]:
    """Return the least wall seconds of `check` on the cluster, and its CPU seconds: others load the machine."""
    walls, used = [], []
    with learned(dask, top, suite):
        for _ in range(REPEATS):
            began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            said = end(start("check", "--gate", "pytest", "--cluster", dask.address, cwd=top, env=dask.env))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert "ran on the cluster" in said.out + said.err, said.err
            walls.append(time.monotonic() - began)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(walls), min(used)


def measured(folder: Path, **where: Any) -> tuple[Costs, dict[int, float]]:
    """Return the costs, and how long a run of SUITE takes on one and on two workers; `where`: as in open_cluster."""
    short, empty = {"tests/test_short.py": 0.0}, dict.fromkeys(SUITE, 0.0)
    small, many = repository(folder / "small", short), repository(folder / "many", empty)
    large = repository(folder / "large", SUITE)
    walls = {}
    with open_cluster(folder / "one", ("one",), **where) as dask:
        make_tree(folder / "tree", 2000)
        size, took = sent(dask, folder / "tree")
        send = took["send"] / size * 1e6
        run, client = timed(dask, small, short)
        file = (timed(dask, many, empty)[0] - run) / (len(empty) - 1)
        walls[1], _ = timed(dask, large, SUITE)
        one = idle(dask)
    with open_cluster(folder / "two", **where) as dask:
        walls[2], _ = timed(dask, large, SUITE)
        task, look = scheduling(dask)
        heartbeat = max(0.0, idle(dask) - one) / 2  # a worker sends two a second
    return Costs(run, max(0.0, file), client, send, task, heartbeat, look), walls


def idle(dask: Dask) -> float:
    """Return the CPU seconds that the scheduler uses by second while nothing runs."""
    scheduler = psutil.Process(dask.processes["scheduler"].pid)
    before = cpu(scheduler)
    time.sleep(20.0)
    return (cpu(scheduler) - before) / 20.0


def scheduling(dask: Dask) -> tuple[float, float]:
    """Return the scheduler's CPU for a task and a look at one worker."""
    scheduler = psutil.Process(dask.processes["scheduler"].pid)
    job = json.dumps({"what": "x" * 2000})  # about as long as a Job
    with connect(dask.address) as client:
        client.gather([client.submit(len, job, pure=False) for _ in range(20)])
        resting = idle(dask)
        began, before = time.monotonic(), cpu(scheduler)
        client.gather([client.submit(len, job, pure=False) for _ in range(TASKS)])
        task = (cpu(scheduler) - before - resting * (time.monotonic() - began)) / TASKS
        began, before = time.monotonic(), cpu(scheduler)
        for _ in range(TASKS):
            client.scheduler_info(n_workers=-1)
        look = (cpu(scheduler) - before - resting * (time.monotonic() - began)) / TASKS / 2
    return task, look


def one_run(costs: Costs, seconds: Sequence[float], workers: int, tree: float = 0.0) -> float:
    """Return the wall seconds of one run of a suite with files of `seconds` on `workers`.

    `tree`: megabytes that each worker lacks of the tree, on a machine of its own; the client sends them one by one.
    """
    shards = divide({str(index): one for index, one in enumerate(seconds)}, workers)
    share = 1.0 - min(
        0.95, costs.heartbeats(workers) + workers * costs.look / pause(workers)
    )  # what is left of the scheduler
    submitted, ends = costs.send * tree * workers, [0.0]
    for shard in shards:
        submitted += costs.task / share
        ends.append(submitted + costs.file * len(shard) + sum(seconds[int(index)] for index in shard))
    return costs.run + max(ends) + costs.task * len(shards) / share


def fleet(costs: Costs, repositories: int, workers: int, cores: int) -> tuple[float, float]:
    """Return the wall seconds of a fleet of suites of EACH s, whole on one worker each, and the scheduler's load."""
    clients, free, last = [0.0] * cores, [0.0] * workers, 0.0
    for _ in range(repositories):
        ready = heapq.heappop(clients) + costs.client
        heapq.heappush(clients, ready)
        at = max(ready, heapq.heappop(free))
        done = at + max(0.0, costs.run - costs.client) + EACH
        heapq.heappush(free, done)
        last = max(last, done)
    running = repositories * (EACH + costs.run) / last
    looks = running * workers * costs.look / pause(workers)  # each client looks at all workers
    return last, costs.heartbeats(workers) + looks + repositories * 3 * costs.task / last


def batch(costs: Costs, workers: int) -> float:
    """Return the least seconds of tests a task for which the scheduler is at most 50 % busy; infinity if none is."""
    left = 0.5 - costs.heartbeats(workers) - workers * costs.look / pause(workers)
    return workers * costs.task / left if left > 0 else float("inf")


def chart(points: Sequence[tuple[int, float]], file: Path) -> None:
    """Draw speed-up (left axis, logarithmic) and efficiency (right axis) by number of workers."""
    import math

    width, height, pad = 640, 360, 50
    most = math.log(points[-1][0])

    def line(values: Sequence[float], colour: str, name: str, place: int) -> str:
        at = [
            f"{pad + (width - 2 * pad) * math.log(workers) / most:.1f},{height - pad - (height - 2 * pad) * value:.1f}"
            for (workers, _), value in zip(points, values, strict=True)
        ]
        text = f'<text x="{pad + 10}" y="{pad + 18 * place}" fill="{colour}">{name}</text>'
        return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(at)}"/>{text}'

    ups = [math.log(max(1.0, up)) / most for _, up in points]
    lines = line(ups, "#0b62a8", "speed-up (logarithmic, top = number of workers)", 0)
    lines += line([up / workers for workers, up in points], "#b3500b", "efficiency (top = 100 %)", 1)
    marks = "".join(
        f'<text x="{pad + (width - 2 * pad) * math.log(workers) / most:.1f}" y="{height - 28}" '
        f'text-anchor="middle">{workers}</text>'
        for workers, _ in points[::2]
    )
    frame = (
        f'<rect x="{pad}" y="{pad}" width="{width - 2 * pad}" height="{height - 2 * pad}" fill="none" stroke="#888"/>'
    )
    title = f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">workers; a suite of one hour</text>'
    style = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12"'
    size = f'viewBox="0 0 {width} {height}"'
    file.write_text(
        f'<svg {style} {size}><rect width="100%" height="100%" fill="#fff"/>{frame}{lines}{marks}{title}</svg>\n'
    )


def agrees(costs: Costs, walls: dict[int, float]) -> bool:
    """Print the predictions for one and two workers beside what was measured; return whether they are near enough."""
    errors = []
    for workers, wall in walls.items():
        predicted = one_run(costs, tuple(SUITE.values()), workers)
        errors.append(abs(predicted - wall) / wall)
        print(f"{workers} worker(s): predicted {predicted:.1f} s, measured {wall:.1f} s, {errors[-1]:.1%} off")
    return max(errors) <= LIMIT


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path)
    asked.add_argument("--client-cores", type=int, default=8)
    asked.add_argument("--delay", type=float, default=0.0)
    asked.add_argument("--loss", type=float, default=0.0)
    given = asked.parse_args()
    with ExitStack() as stack:
        where: dict[str, Any] = {}
        if given.delay or given.loss:
            network = stack.enter_context(slow_network(given.delay, given.loss))
            where = {"host": network.here, "inside": network.inside}
        costs, walls = measured(Path(stack.enter_context(tempfile.TemporaryDirectory())), **where)
    print({name: round(value, 6) for name, value in asdict(costs).items()})
    if not agrees(costs, walls):
        print(f"more than {LIMIT:.0%} off: nothing is said about more workers")
        return 1
    hour = [HOUR / FILES] * FILES
    alone = one_run(costs, hour, 1)
    points = [(workers, alone / one_run(costs, hour, workers)) for workers in WORKERS]
    for workers, up in points:
        least = batch(costs, workers)
        first = alone / one_run(costs, hour, workers, TREE)
        print(
            f"{workers:5} workers: speed-up {up:7.1f}, efficiency {up / workers:5.1%}, batch {least:.2f} s; "
            f"speed-up {first:.1f} if none has the tree"
        )
    for repositories in REPOSITORIES:
        for workers in (1, 100, 5000):
            wall, load = fleet(costs, repositories, workers, given.client_cores)
            print(f"{repositories:6} repositories, {workers:5} workers: {wall:9.0f} s, scheduler {load:5.1%} busy")
    if given.out:
        chart(points, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
