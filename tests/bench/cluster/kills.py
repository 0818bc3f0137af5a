"""Kill workers and the scheduler at random while `check` and `fix` run on them; count wrong verdicts and lost runs.

    python -m tests.bench.cluster.kills --minutes 20 --seed 1 --scheduler 5

Half of the faults of workers are SIGKILL, half SIGSTOP; a new worker takes the place of each. Every fifth run loses the
scheduler instead: it must end with exit 2 and a whole journal, and a resumed `fix` must write the same patch.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.support.command import Ended, coderefine, end, start
from tests.support.dask import SHOP, Dask, open_cluster, wait
from tests.support.repo import make_repo, write

QUICK = {name: text.replace("0.36", "0.4") for name, text in SHOP.items()}
VERSIONS = {"right": SHOP["shop.py"], "wrong": "def total(prices):\n    return sum(prices) - 1\n"}
LONGEST = 240.0
"""Seconds after which a run counts as lost."""


def statuses(out: str) -> dict[str, str]:
    return {one["id"]: one["status"] for one in json.loads(out)["checks"][0]["tests"]}


def disturb(dask: Dask, process: subprocess.Popen[str], names: count[int], chance: random.Random) -> Counter[str]:
    """Kill or stop random workers until `process` ends, and start new ones; return what was done."""
    done: Counter[str] = Counter()
    until = time.monotonic() + LONGEST
    while time.monotonic() < until and process.poll() is None:
        time.sleep(chance.uniform(0.5, 6.0))
        victim = chance.choice([name for name in dask.processes if name != "scheduler"])
        how = chance.choice((signal.SIGKILL, signal.SIGSTOP))
        dask.stop(victim, how)
        if how is signal.SIGSTOP:  # for longer than a silent worker is waited for, or not
            time.sleep(chance.choice((0.5, 3.0, 18.0)))
            dask.stop(victim, chance.choice((signal.SIGCONT, signal.SIGKILL)))
        done[how.name] += 1
        if victim not in dask.processes:
            dask.worker(f"w{next(names)}")
    return done


@dataclass
class Soak:
    """Runs on the repository `top` with `dask`; `local`: what `check` says here, by version; `patch`: that of `fix`.

    `scheduler`: in every how many runs the scheduler is killed.
    """

    dask: Dask
    top: Path
    local: Mapping[str, Ended]
    patch: str
    chance: random.Random
    scheduler: int
    names: count[int] = field(default_factory=count)
    total: Counter[str] = field(default_factory=Counter)

    def run(self, number: int) -> None:
        """Disturb one run and judge how it ended."""
        scheduler, fix = number % self.scheduler == 0, number % (2 * self.scheduler) == 0
        name = "wrong" if fix else self.chance.choice(sorted(VERSIONS))
        write(self.top, {"shop.py": VERSIONS[name], "number.txt": str(number)})
        argv = ("fix", "--no-model", "--diff") if fix else ("check", "--format", "json")
        process = start(*argv, "--gate", "pytest", "--cluster", self.dask.address, cwd=self.top, env=self.dask.env)
        if scheduler:
            time.sleep(self.chance.uniform(1.0, 12.0))
            self.dask.stop("scheduler")
            self.total["scheduler"] += 1
        else:
            self.total += disturb(self.dask, process, self.names, self.chance)
        self.total["runs"] += 1
        try:
            said = end(process, LONGEST)
        except AssertionError as error:
            self.total["lost runs"] += 1
            print(f"run {number}: lost: {str(error)[-2000:]}", flush=True)
            return
        finally:
            if scheduler:
                restart(self.dask, self.names)
        if wrong := self.wrong(said, name, lost=scheduler and said.code == 2, fix=fix):
            self.total["wrong verdicts"] += 1
            print(f"run {number}: {wrong}: exit {said.code}\n{said.out[-1500:]}\n{said.err[-1500:]}", flush=True)

    def wrong(self, said: Ended, name: str, *, lost: bool, fix: bool) -> str:
        """Return what is wrong with the end of a run; "" if nothing is. `lost`: it ended with the scheduler."""
        self.total["ended with the scheduler"] += lost
        if fix:
            # A run that ended before it began has no record, and is started again.
            again = coderefine("resume", cwd=self.top, env=self.dask.env) if lost else said
            return "" if again.out == self.patch or "no run" in again.err else f"another patch: {again.out} {again.err}"
        if lost or (said.code == self.local[name].code and statuses(said.out) == statuses(self.local[name].out)):
            return ""
        return "another verdict"


def main() -> None:
    """Run for the given time and print the counts."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=10.0)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--scheduler", type=int, default=5)
    given = asked.parse_args()
    folder, local = Path(tempfile.mkdtemp(prefix="cluster-kills-")), {}
    top = make_repo(folder / "shop", QUICK)
    for name, text in VERSIONS.items():
        write(top, {"shop.py": text})
        local[name] = coderefine("check", "--gate", "pytest", "--format", "json", cwd=top)
    patch = coderefine("fix", "--gate", "pytest", "--no-model", "--diff", cwd=top).out
    latest = time.monotonic() + 60 * given.minutes
    with open_cluster(folder / "dask") as dask:
        soak = Soak(dask, top, local, patch, random.Random(given.seed), given.scheduler)
        for number in count(1):
            if time.monotonic() > latest:
                break
            soak.run(number)
            print(f"{number}: {dict(soak.total)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    print({name: soak.total[name] for name in ("runs", "wrong verdicts", "lost runs", *sorted(soak.total))})


def restart(dask: Dask, names: count[int]) -> None:
    """Start everything anew at the same address."""
    for name in tuple(dask.processes):
        dask.stop(name)
    dask.scheduler()
    fresh = [f"w{next(names)}" for _ in range(2)]
    for name in fresh:
        dask.worker(name)
    wait(lambda: all(map(dask.registered, fresh)))


if __name__ == "__main__":
    main()
