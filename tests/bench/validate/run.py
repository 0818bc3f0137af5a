"""Candidates judged per second: the pool beside cold `python -m pytest -x` and mutmut 3, on the same packages.

    python -m tests.bench.validate.run --packages inflection==0.5.1 parse==1.22.4 --mutants 400 --mutmut

Source distributions come from the package registry (tests included) and go to a temporary folder; nothing is kept.
Prints per package: candidates/s of each tool in interleaved rounds (median), CPU-ms per candidate, and on how many
candidates the pool's verdict differs from cold pytest's. Exit 1 when any differs. "What is hot" are the edits of
functions that did not run at import and do not hang: those that mutmut's own way of switching mutants reaches, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.config import Config
from coderefine.project import interpreter, locate
from coderefine.runner.pool import Candidate, Judged, Plan, open_pool
from coderefine.workspace import open_views
from tests.bench.validate.mutate import Mutant, mutants
from tests.support.repo import git

PACKAGES = ("inflection==0.5.1", "parse==1.22.4", "semver==3.1.1")
WORKERS = 2
NOT_OURS = re.compile(r"(^|/)(tests?|docs?|dev|examples?|build)/|(^|/)(test_|setup|conftest|noxfile|__main__)")
QUIET = ("-q", "-x", "-p", "no:cacheprovider", "--no-cov")
"""The pool drops a project's --cov options itself."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An unpacked package in a repository of its own; `python` has pytest and what the package needs."""

    name: str
    top: Path
    python: Path
    modules: tuple[str, ...]

    def mutants(self, count: int, seed: int) -> list[tuple[str, Mutant]]:
        """`count` mutants drawn from all modules."""
        found = [(path, mutant) for path in self.modules for mutant in mutants((self.top / path).read_text("utf-8"))]
        random.Random(seed).shuffle(found)
        return found[:count]


@dataclass(slots=True)
class Round:
    """One tool's work: verdict (True: survived) by mutant number, wall seconds, CPU seconds."""

    verdicts: dict[int, bool] = field(default_factory=dict)
    seconds: float = 0.0
    cpu: float = 0.0
    reasons: dict[int, str] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return len(self.verdicts) / self.seconds if self.seconds else 0.0

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu / len(self.verdicts) if self.verdicts else 0.0


# -- subjects ---------------------------------------------------------------------------------------------


def environment(folder: Path, extra: Sequence[str]) -> Path:
    """A virtual environment with pytest and `extra`; its python."""
    subprocess.run((sys.executable, "-m", "venv", str(folder)), check=True)
    python = folder / "bin" / "python"
    subprocess.run(
        (str(python), "-m", "pip", "install", "-q", "pytest", "pytest-cov", *extra),
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return python


def unpack(name: str, folder: Path, python: Path) -> Subject:
    """Download the sdist of `name`; a repository with it, committed."""
    folder.mkdir(parents=True)
    options = ("download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), name)
    subprocess.run((str(python), "-m", "pip", *options), check=True, stderr=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    top = next(path for path in folder.iterdir() if path.is_dir())
    git(top, "init", "-q")
    git(top, "add", "-A", "-f")
    git(top, "-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-q", "-m", "start")
    return Subject(name, top, python, tuple(sorted(_modules(top))))


def _modules(top: Path) -> Iterator[str]:
    """The package's own modules: no tests, no packaging, nothing tiny."""
    for path in top.rglob("*.py"):
        name = path.relative_to(top).as_posix()
        if not NOT_OURS.search(name) and path.stat().st_size > 1000:
            yield name


# -- tools ------------------------------------------------------------------------------------------------


def pool_round(subject: Subject, chosen: Sequence[tuple[str, Mutant]]) -> tuple[Round, list[Judged], float]:
    """Judge all with the pool; the round, the verdicts, and the seconds it took to get ready."""
    place = locate([subject.top], subject.top)
    config = Config(python=str(subject.python))
    python = interpreter(place, config, os.environ)
    candidates = [Candidate(number, {path: mutant.text.encode()}) for number, (path, mutant) in enumerate(chosen)]
    done = Round()
    began = time.monotonic()
    with open_views(place) as views, open_pool(views, place, python, config, workers=WORKERS) as pool:
        baseline = pool.baseline()
        known = frozenset(name for name, status in baseline.items() if status.bad)
        setup = time.monotonic() - began
        began = time.monotonic()
        verdicts = list(pool.judge(candidates, Plan(known=known)))
        done.seconds = time.monotonic() - began
    for judged in verdicts:
        done.verdicts[judged.candidate.number] = judged.plausible
        done.reasons[judged.candidate.number] = f"{judged.speed}: {judged.reason or judged.slow}"
        done.cpu += judged.cpu
    return done, verdicts, setup


def cold_round(subject: Subject, chosen: Sequence[tuple[str, Mutant]], numbers: Sequence[int]) -> Round:
    """`python -m pytest -x` per candidate, in as many copies of the tree as there are workers."""
    done = Round()
    copies = [subject.top.parent / f"copy{number}" for number in range(WORKERS)]
    for copy in copies:
        shutil.copytree(subject.top, copy, dirs_exist_ok=True)
    before = os.times()
    began = time.monotonic()
    with ThreadPoolExecutor(WORKERS) as threads:
        for part in threads.map(lambda at: _cold(subject, chosen, numbers[at::WORKERS], copies[at]), range(WORKERS)):
            done.verdicts.update(part)
    done.seconds = time.monotonic() - began
    after = os.times()
    done.cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return done


def _cold(
    subject: Subject, chosen: Sequence[tuple[str, Mutant]], numbers: Sequence[int], copy: Path
) -> Mapping[int, bool]:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    found = {}
    for number in numbers:
        path, mutant = chosen[number]
        original = (copy / path).read_bytes()
        (copy / path).write_bytes(mutant.text.encode())
        try:
            argv = (str(subject.python), "-m", "pytest", *QUIET)
            code = subprocess.run(argv, cwd=copy, env=env, capture_output=True, timeout=20, check=False).returncode
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            (copy / path).write_bytes(original)
        found[number] = code == 0
    return found


def mutmut_round(subject: Subject, folder: Path) -> Round:
    """mutmut on its own mutants of the same package: how many it judged, in how long."""
    tree = folder / "mutmut"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(subject.top, tree)
    sources = sorted({path.split("/")[0] for path in subject.modules})
    config = f"\n[mutmut]\nsource_paths={chr(10).join('    ' + name for name in ['', *sources])}\n"
    config += "pytest_add_cli_args=\n    --no-cov\n"
    (tree / "setup.cfg").write_text(
        ((tree / "setup.cfg").read_text() if (tree / "setup.cfg").exists() else "") + config
    )
    done = Round()
    began = time.monotonic()
    mutmut = subject.python.with_name("mutmut")
    argv = (str(mutmut), "run", "--max-children", str(WORKERS))
    run = subprocess.run(argv, cwd=tree, capture_output=True, text=True, check=False)
    done.seconds = time.monotonic() - began
    rate = re.findall(r"([\d.]+) mutations/second", run.stdout)
    counted = 0
    for meta in (tree / "mutants").rglob("*.meta"):
        counted += sum(code is not None for code in json.loads(meta.read_text())["exit_code_by_key"].values())
    done.verdicts = dict.fromkeys(range(counted), True)
    if rate and float(rate[-1]):
        done.seconds = counted / float(rate[-1])  # its own figure leaves its set-up out, as ours does
    if not counted:
        print("  mutmut said:", (run.stdout + run.stderr).strip().splitlines()[-3:])
    return done


# -- report -----------------------------------------------------------------------------------------------


def bench(subject: Subject, options: argparse.Namespace, folder: Path) -> int:
    """One package: rounds, figures; how many verdicts differ from cold."""
    chosen = subject.mutants(options.mutants, options.seed)
    inside = [number for number, (_, mutant) in enumerate(chosen) if not mutant.at_import]
    numbers = list(range(len(chosen)))
    sample = numbers if options.cold is None else numbers[: options.cold]
    print(f"{subject.name}: {len(chosen)} candidates, {len(chosen) - len(inside)} of them at import", flush=True)
    pools, hots, colds, mutmuts = [], [], [], []
    cold = Round()
    share = max(1, -(-len(sample) // options.rounds))
    for number in range(options.rounds):
        done, verdicts, setup = pool_round(subject, chosen)
        pools.append(done)
        hot = [chosen[judged.candidate.number] for judged in verdicts if judged.speed == "hot" and not judged.hung]
        only, _, _ = pool_round(subject, hot)
        hots.append(only)
        part = cold_round(subject, chosen, sample[number * share : (number + 1) * share])
        colds.append(part)
        cold.verdicts.update(part.verdicts)
        if options.mutmut:
            mutmuts.append(mutmut_round(subject, folder))
    _table(setup, pools, hots, colds, mutmuts)
    return _agreement(chosen, pools[-1], verdicts, cold)


def _table(
    setup: float, pools: Sequence[Round], hots: Sequence[Round], colds: Sequence[Round], mutmuts: Sequence[Round]
) -> None:
    base = statistics.median(item.rate for item in colds)
    theirs = statistics.median(item.rate for item in mutmuts) if mutmuts else 0.0
    print(f"  pool ready after {setup:.1f} s")
    print(f"  {'':24}{'cand/s':>8}{'CPU-ms':>8}{'x cold':>8}{'x mutmut':>9}")
    rows = (("pool, all", pools), ("pool, what is hot", hots), ("cold pytest -x", colds), ("mutmut", mutmuts))
    for name, rounds in rows:
        if rounds:
            rate = statistics.median(item.rate for item in rounds)
            cpu = statistics.median(item.cpu_ms for item in rounds)
            times = f"{rate / theirs:9.1f}" if theirs else f"{'-':>9}"
            print(f"  {name:24}{rate:8.1f}{cpu:8.1f}{rate / base if base else 0:8.1f}{times}")


def _agreement(chosen: Sequence[tuple[str, Mutant]], done: Round, verdicts: Sequence[Judged], cold: Round) -> int:
    speeds: dict[str, int] = {}
    for judged in verdicts:
        speeds[judged.speed] = speeds.get(judged.speed, 0) + 1
    differ = [number for number, survived in cold.verdicts.items() if done.verdicts[number] != survived]
    print(f"  speeds {speeds}, hung {sum(judged.hung for judged in verdicts)}, survived {sum(done.verdicts.values())}")
    print(f"  verdicts equal to cold pytest: {len(cold.verdicts) - len(differ)} of {len(cold.verdicts)}")
    for number in differ:
        path, mutant = chosen[number]
        print(f"    {path}:{mutant.line} {mutant.what}: cold {'pass' if cold.verdicts[number] else 'fail'}, ", end="")
        print(f"pool {'pass' if done.verdicts[number] else 'fail'} ({done.reasons[number]})")
    return len(differ)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    parser.add_argument("--mutants", type=int, default=350)
    parser.add_argument("--cold", type=int, default=None, help="how many of them are judged cold (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutmut", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment(folder / "env", ("mutmut",) if options.mutmut else ())
        wrong = 0
        for at, package in enumerate(options.packages):
            wrong += bench(unpack(package, folder / str(at), python), options, folder / str(at))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
