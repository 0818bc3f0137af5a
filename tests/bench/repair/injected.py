# ruff: noqa: E501 (rows of a report, programs in strings)
"""Repair rate on faults injected into real packages by tests/bench/repair/mutator.py.

    python -m tests.bench.repair.injected [--faults N] [--seed S] [--seconds T] [--only PACKAGE]

Source distributions come from the package registry through pip, into a cache folder; nothing is committed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.bench.repair.engine import Ended, repair
from tests.bench.repair.mutator import Fault, faults

CACHE = Path(tempfile.gettempdir()) / "coderefine-bench-sdists"


@dataclass(frozen=True)
class Package:
    """A distribution, the files faults go into, and the tests that judge (relative to the sdist's top)."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


PACKAGES = (
    Package("inflection==0.5.1", ("inflection/__init__.py",), ("test_inflection.py",)),
    Package("jsonpointer==3.12", ("jsonpointer.py",), ("tests.py",)),
    Package("semver==3.1.1", ("src/semver/version.py",), ("tests",)),
    Package("python-slugify==9.2.0", ("slugify/slugify.py", "slugify/special.py"), ("test.py",)),
    Package(
        "toolz==1.2.0",
        ("toolz/itertoolz.py", "toolz/dicttoolz.py", "toolz/recipes.py"),
        ("toolz/tests/test_itertoolz.py", "toolz/tests/test_dicttoolz.py", "toolz/tests/test_recipes.py"),
    ),
    Package(
        "humanize==4.17.0",
        ("src/humanize/number.py", "src/humanize/filesize.py", "src/humanize/lists.py", "src/humanize/time.py"),
        ("tests/test_number.py", "tests/test_filesize.py", "tests/test_lists.py", "tests/test_time.py"),
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
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    results: list[tuple[Fault, str, float, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            if args.only and not any(word in package.name for word in args.only.split(",")):
                continue
            top = prepare(package, Path(folder))
            code, took = outcome(top)
            print(f"# {package.name}: exit {code}, {took:.1f} s", flush=True)
            if code != 0:
                continue
            results += one_package(top, package, args)
    report(results)


def one_package(top: Path, package: Package, args: argparse.Namespace) -> list[tuple[Fault, str, float, bool]]:
    drawn = [
        fault
        for name in package.files
        for fault in faults(name, (top / name).read_text("utf-8"), args.faults * 3, args.seed)
    ]
    random.Random(args.seed).shuffle(drawn)
    results: list[tuple[Fault, str, float, bool]] = []
    for fault in drawn:
        if len(results) >= args.faults:
            break
        verdict, ended, listed = trial(top, fault, args.seconds)
        if not ended.failing:
            continue  # no test notices this fault
        results.append((fault, verdict, ended.seconds, listed))
        shown = ended.patch.summary if ended.patch else ended.note
        print(
            f"{verdict:10} {ended.seconds:5.1f} s {ended.tried:5} {'listed' if listed else '':6} {fault.kind:18} {fault.path}:{fault.line} {fault.old[:50]!r} -> {fault.new[:40]!r}  | {shown[:120]}",
            flush=True,
        )
    return results


def report(results: list[tuple[Fault, str, float, bool]]) -> None:
    by_kind: dict[str, list[str]] = defaultdict(list)
    for fault, verdict, _, _ in results:
        by_kind[fault.kind].append(verdict)
    for kind, verdicts in sorted(by_kind.items()):
        print(
            f"{kind:20} {len(verdicts):3}  plausible {sum(v in ('identical', 'plausible') for v in verdicts):3}  identical {verdicts.count('identical'):3}"
        )
    total = len(results) or 1
    good = [seconds for _, verdict, seconds, _ in results if verdict in ("identical", "plausible")]
    identical = sum(verdict == "identical" for _, verdict, _, _ in results)
    print(
        f"{len(results)} faults: plausible {len(good)} ({len(good) / total:.0%}), identical to the original {identical} ({identical / total:.0%}), original listed among the others {sum(listed for *_, listed in results)}"
    )
    if good:
        print(
            f"seconds to the patch: median {statistics.median(good):.1f}, p90 {sorted(good)[int(0.9 * len(good))]:.1f}"
        )


if __name__ == "__main__":
    main()
