"""What coderefine costs before it does anything: `python -m tests.bench.start.run [--rounds N] [--install]`.

Medians, interleaved, so that a busy machine slows both sides: `--version` beside a bare Python, `check` beside the
slowest of the three tools it runs, and (with --install) the megabytes that installing adds to a virtualenv.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from coderefine.config import toml
from tests.support.command import ROOT
from tests.support.repo import make_repo

PEAK = "import atexit; atexit.register(lambda: print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]))"
"""Prints the KiB the process itself had at most; what `wait4` says includes us, who started it."""
BARE = (sys.executable, "-c", PEAK)
FILES = toml(ROOT / "coderefine/cli/demo.toml")
START = "import sys; sys.argv[1:] = ['--version']; from coderefine.cli import main; main()"
VERSION = (sys.executable, "-c", f"{PEAK}; {START}")
CHECK = (sys.executable, "-m", "coderefine", "check", "-q")
ALONE = {
    "pytest": (sys.executable, "-m", "pytest", "-q"),
    "ruff": (sys.executable, "-m", "ruff", "check"),
    "radon": (sys.executable, "-m", "radon", "cc", "."),
}


@dataclass(frozen=True, slots=True)
class Spent:
    """Of one run: wall seconds, CPU seconds of it and its children, and the last word it printed."""

    wall: float
    cpu: float
    said: str


def spent(argv: Sequence[str], cwd: Path) -> Spent:
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(wall, cpu, (done.stdout.split() or [""])[-1])


def medians(commands: Mapping[str, Sequence[str]], cwd: Path, rounds: int) -> dict[str, Spent]:
    """Medians by name; the commands take turns, after one round that warms the caches."""
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, argv in commands.items():
            cost = spent(argv, cwd)
            if turn:
                found[name].append(cost)
    return {name: _median(costs) for name, costs in found.items()}


def _median(costs: Sequence[Spent]) -> Spent:
    walls, cpus = ([getattr(cost, name) for cost in costs] for name in ("wall", "cpu"))
    return Spent(statistics.median(walls), statistics.median(cpus), costs[-1].said)


def version(cwd: Path, rounds: int) -> None:
    found = medians({"bare": BARE, "coderefine": VERSION}, cwd, rounds)
    bare, full = found["bare"], found["coderefine"]
    more = f"{full.wall - bare.wall:+.3f} wall, {full.cpu - bare.cpu:+.3f} CPU beyond bare Python"
    print(f"--version   {full.wall:.3f} s ({more}), {(int(full.said) - int(bare.said)) / 1024:+.1f} MiB", flush=True)


def check(label: str, top: Path, rounds: int) -> None:
    found = medians({**ALONE, "check": CHECK}, top, rounds)
    slowest = max(ALONE, key=lambda name: found[name].wall)
    alone = "  ".join(f"{name} {found[name].wall:.2f}" for name in ALONE)
    ratio = found["check"].wall / found[slowest].wall
    cpu = f"CPU {found['check'].cpu:.2f} beside {sum(found[name].cpu for name in ALONE):.2f} for all three"
    print(f"{label:<11} check {found['check'].wall:.2f} s   {alone}   = {ratio:.2f} x {slowest};  {cpu}", flush=True)


def clean(folder: Path, tests: int) -> Path:
    """A project without findings: `tests` quick tests in files of thirty, each with a module of its own."""
    files = {"pyproject.toml": FILES["pyproject.toml"], ".gitignore": FILES[".gitignore"], "shop/__init__.py": ""}
    for part in range(-(-tests // 30)):
        body = "".join(f"\n\ndef times_{n}(value):\n    return value * {n}\n" for n in range(30))
        files[f"shop/part_{part}.py"] = f'"""Part {part}."""\n{body}'
        calls = "".join(f"\n\ndef test_{n}():\n    assert part_{part}.times_{n}(2) == {2 * n}\n" for n in range(30))
        files[f"tests/test_part_{part}.py"] = f"from shop import part_{part}\n{calls}"
    return make_repo(folder, files)


def size(folder: Path) -> None:
    """What `pip install .` adds to a fresh virtualenv, and the fixed packages without what they bring along."""
    requirements = tomlkit.parse((ROOT / "pyproject.toml").read_text("utf-8")).unwrap()["project"]["dependencies"]
    names = [re.split(r"[<>=;\s]", line)[0] for line in requirements if "python_version" not in line]
    whole = _installed(folder / "whole", [str(ROOT)])
    fixed = _installed(folder / "fixed", names)
    print(f"install     {whole} MB added; its packages without coderefine itself {fixed} MB ({', '.join(names)})")


def _installed(folder: Path, what: Sequence[str]) -> int:
    subprocess.run((sys.executable, "-m", "venv", folder), check=True)
    before = _megabytes(folder)
    pip = (str(folder / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)
    subprocess.run(pip, check=True, stdout=subprocess.DEVNULL)
    return _megabytes(folder) - before


def _megabytes(folder: Path) -> int:
    said = subprocess.run(("du", "-sm", folder), check=True, capture_output=True, text=True)
    return int(said.stdout.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--install", action="store_true")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VIRTUAL_ENV"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="start-") as name:
        folder = Path(name)
        version(folder, given.rounds)
        check("demo", make_repo(folder / "demo", FILES), max(5, given.rounds // 2))
        check(f"{given.tests} tests", clean(folder / "clean", given.tests), max(5, given.rounds // 2))
        if given.install:
            size(folder)


if __name__ == "__main__":
    main()
