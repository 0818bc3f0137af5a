# ruff: noqa: E501 (rows of a report, programs in strings)
"""Repair rate on faults injected into real packages by tests/bench/repair/mutator.py.

    python -m tests.bench.repair.injected [--faults N] [--seed S] [--seconds T] [--only PACKAGE] [--slice SECONDS]
    python -m tests.bench.repair.injected --report [--seed S] [--misses]

Source distributions come from the package registry through pip, into a cache folder; nothing is committed.
Each result is one row of a JSONL file in /tmp; faults that have a row are not run again, so a run may be cut in slices.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.repair.engine import Ended, repair
from tests.bench.repair.mutator import Fault, faults

CACHE = Path(tempfile.gettempdir()) / "coderefine-bench-sdists"
ROWS = Path(tempfile.gettempdir()) / "coderefine-bench-injected.jsonl"


@dataclass(frozen=True)
class Row:
    """One trial. Verdict: unnoticed, identical, plausible, partial, none."""

    seed: int
    package: str
    kind: str
    path: str
    line: int
    start: int
    old: str
    new: str
    verdict: str
    seconds: float
    tried: int
    listed: bool
    said: str
    patched: str

    @property
    def key(self) -> tuple[int, str, str, int, str]:
        return self.seed, self.package, self.path, self.start, self.new


def rows() -> list[Row]:
    return [Row(**json.loads(line)) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


@dataclass(frozen=True)
class Package:
    """A distribution, the files faults go into, and the tests that judge (relative to the sdist's top)."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


PACKAGES = (
    Package("inflection==0.5.1", ("inflection/__init__.py",), ("test_inflection.py",)),
    Package("jsonpointer==3.12", ("jsonpointer.py",), ("tests.py",)),
    Package(
        "toolz==1.2.0",
        ("toolz/itertoolz.py", "toolz/dicttoolz.py", "toolz/recipes.py"),
        ("toolz/tests/test_itertoolz.py", "toolz/tests/test_dicttoolz.py", "toolz/tests/test_recipes.py"),
    ),
    Package(
        "boltons==26.2.0",
        ("boltons/strutils.py", "boltons/mathutils.py", "boltons/listutils.py"),
        ("tests/test_strutils.py", "tests/test_mathutils.py", "tests/test_listutils.py"),
    ),
    Package("parse==1.22.4", ("parse/__init__.py",), ("tests",)),
    Package(
        "tabulate==0.10.0",
        ("tabulate/__init__.py",),
        ("test/test_output.py", "test/test_internal.py", "test/test_input.py"),
    ),
)


def unpacked(package: Package) -> Path:
    """The package's tree in the cache."""
    name, version = package.name.split("==")
    CACHE.mkdir(exist_ok=True)
    found = sorted(CACHE.glob(f"{name.replace('-', '_')}-{version}.tar.gz")) or sorted(
        CACHE.glob(f"{name}-{version}.tar.gz")
    )
    if not found:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--no-binary",
                name,
                "-d",
                str(CACHE),
                package.name,
            ],
            check=True,
            timeout=300,
        )
        return unpacked(package)
    top = CACHE / found[0].name.removesuffix(".tar.gz")
    if not top.exists():
        with tarfile.open(found[0]) as archive:
            archive.extractall(CACHE, filter="data")
    return top


def prepare(package: Package, folder: Path) -> Path:
    """A small git repository with the package's code and the chosen tests."""
    source, top = unpacked(package), folder / package.name.split("==")[0]
    subprocess.run(["cp", "-r", str(source), str(top)], check=True)
    for name in ("tox.ini", "setup.cfg", "pytest.ini", "pyproject.toml", "conftest.py"):
        (top / name).unlink(missing_ok=True)
    names = " ".join(package.tests)
    path = "src" if (top / "src").exists() else "."
    (top / "pyproject.toml").write_text(
        f'[tool.pytest.ini_options]\ntestpaths = {json.dumps(names.split())}\npythonpath = ["{path}"]\npython_files = ["test*.py"]\naddopts = "-p no:doctest"\n'
    )
    subprocess.run("git init -q && git add -A && git commit -q -m start", shell=True, cwd=top, check=True)
    return top


def outcome(top: Path, timeout: float = 60.0) -> tuple[int, float]:
    """pytest's exit code and wall seconds."""
    began = time.monotonic()
    try:
        code = subprocess.run(
            [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"],
            cwd=top,
            timeout=timeout,
            capture_output=True,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        code = 99
    return code, time.monotonic() - began


def same(one: str, two: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(two))


def trial(top: Path, fault: Fault, seconds: float) -> tuple[str, Ended, bool]:
    """identical, plausible, partial or none; the run; and whether the right edit is among the other patches."""
    path = top / fault.path
    original = path.read_text("utf-8")
    path.write_text(fault.apply(original), "utf-8")
    try:
        ended = repair(top, seconds=seconds)
    finally:
        path.write_text(original, "utf-8")
    listed = any(
        set(patch.files) == {fault.path} and same((patch.files[fault.path] or b"").decode(), original)
        for patch in ended.others
    )
    if ended.patch is None:
        return "none", ended, listed
    text = (ended.patch.files.get(fault.path) or b"").decode()
    if ended.plausible:
        return (
            ("identical" if set(ended.patch.files) == {fault.path} and same(text, original) else "plausible"),
            ended,
            listed,
        )
    return "partial", ended, listed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=16, help="per package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--slice", type=float, default=1e9, help="begin no fault after so many seconds")
    parser.add_argument("--only", default="")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--misses", action="store_true")
    args = parser.parse_args()
    if not args.report:
        run(args)
    report([row for row in rows() if row.seed == args.seed and row.verdict != "unnoticed"], misses=args.misses)


def run(args: argparse.Namespace) -> None:
    """Package by package in turns, so that a cut run has all packages in it."""
    args.until = time.monotonic() + args.slice
    with tempfile.TemporaryDirectory() as folder:
        ready = []
        for package in PACKAGES:
            if args.only and not any(word in package.name for word in args.only.split(",")):
                continue
            top = prepare(package, Path(folder))
            code, took = outcome(top)
            print(f"# {package.name}: exit {code}, {took:.1f} s", flush=True)
            if code == 0:
                ready.append((top, package, drawn(top, package, args)))
        for turn in range(args.faults):
            for top, package, chosen in ready:
                one_more(top, package, chosen, turn, args)


def drawn(top: Path, package: Package, args: argparse.Namespace) -> list[Fault]:
    found = [
        fault
        for name in package.files
        for fault in faults(name, (top / name).read_text("utf-8"), args.faults * 3, args.seed)
    ]
    random.Random(args.seed).shuffle(found)
    return found


def one_more(top: Path, package: Package, chosen: list[Fault], turn: int, args: argparse.Namespace) -> None:
    """Goes on with `chosen` until the package has `turn` + 1 faults that a test notices."""
    done = {row.key: row for row in rows()}
    counted = 0
    for fault in chosen:
        key = (args.seed, package.name, fault.path, fault.start, fault.new)
        if key not in done:
            if time.monotonic() > args.until:
                return
            done[key] = tried(top, package, fault, args)
        counted += done[key].verdict != "unnoticed"
        if counted > turn:
            return


def tried(top: Path, package: Package, fault: Fault, args: argparse.Namespace) -> Row:
    original = (top / fault.path).read_text("utf-8")
    verdict, ended, listed = stopped(top, fault, args.seconds)
    patched = ""
    if ended.patch is not None:
        faulty = fault.apply(original).splitlines()
        after = (ended.patch.files.get(fault.path) or b"").decode().splitlines()
        patched = "\n".join(list(difflib.unified_diff(faulty, after, lineterm="", n=0))[2:])[:2000]
    row = Row(
        args.seed,
        package.name,
        fault.kind,
        fault.path,
        fault.line,
        fault.start,
        fault.old,
        fault.new,
        verdict if ended.failing else "unnoticed",
        ended.seconds,
        ended.tried,
        listed,
        ended.patch.summary if ended.patch else ended.note,
        patched,
    )
    with ROWS.open("a") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    print(shown(row), flush=True)
    return row


def stopped(top: Path, fault: Fault, seconds: float) -> tuple[str, Ended, bool]:
    """`trial`, given up where baseline and search together take far longer than the budget; that counts as no repair."""
    limit = int(2 * seconds + 30)

    def ring(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(limit)
    try:
        return trial(top, fault, seconds)
    except TimeoutError:
        return "none", Ended(("?",), None, (), float(limit), 0, plausible=False, note="overran"), False
    finally:
        signal.alarm(0)


def shown(row: Row) -> str:
    return f"{row.verdict:10} {row.seconds:5.1f} s {row.tried:5} {'listed' if row.listed else '':6} {row.kind:18} {row.path}:{row.line} {row.old[:50]!r} -> {row.new[:40]!r}  | {row.said[:120]}"


def report(found: list[Row], *, misses: bool) -> None:
    if misses:
        for row in found:
            if row.verdict != "identical":
                print(f"{shown(row)}\n{row.patched}\n")
    by_kind: dict[str, list[str]] = defaultdict(list)
    for row in found:
        by_kind[row.kind].append(row.verdict)
    for kind, verdicts in sorted(by_kind.items()):
        print(
            f"{kind:20} {len(verdicts):3}  plausible {sum(v in ('identical', 'plausible') for v in verdicts):3}  identical {verdicts.count('identical'):3}"
        )
    total = len(found) or 1
    good = sorted(row.seconds for row in found if row.verdict in ("identical", "plausible"))
    identical = sum(row.verdict == "identical" for row in found)
    print(
        f"{len(found)} faults in {len({row.package for row in found})} packages: plausible {len(good)} ({len(good) / total:.0%}), identical to the original {identical} ({identical / total:.0%}), original listed among the others {sum(row.listed for row in found)}"
    )
    if good:
        print(f"seconds to the patch: median {statistics.median(good):.1f}, p90 {good[int(0.9 * len(good))]:.1f}")


if __name__ == "__main__":
    main()
