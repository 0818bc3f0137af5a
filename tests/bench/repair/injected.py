# ruff: noqa: E501 (rows of a report, programs in strings)
"""Repair rate on faults injected into real packages by tests/bench/repair/mutator.py.

    python -m tests.bench.repair.injected [--faults N] [--seed S] [--seconds T] [--only PACKAGE] [--slice SECONDS] [--jobs J]
    python -m tests.bench.repair.injected --report [--seed S] [--misses]

Source distributions come from the package registry through pip, into a cache folder; nothing is committed.
Each result is one row of a JSONL file in /tmp; faults that have a row are not run again, so a run may be cut in slices.
A plausible patch counts as equal when its tree is the original's, or when a differential run of the package's own
calls and calls near them (differential.same_in_package) sees no difference; where too few calls can be made it does not.
With `--jobs` packages share the processors: the seconds of such a run are no measurement.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.repair.differential import Likeness, same_in_package
from tests.bench.repair.engine import Ended, repair
from tests.bench.repair.mutator import Fault, faults

CACHE = Path(tempfile.gettempdir()) / "coderefine-bench-sdists"
ROWS = Path(tempfile.gettempdir()) / "coderefine-bench-injected.jsonl"
HANGS = 99
"""Exit code given to a suite that does not end."""


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
    equal: bool | None = None
    """Of a plausible patch that is not identical; None where it was not compared (rows of older runs)."""
    compared: int = 0

    @property
    def plausible(self) -> bool:
        return self.verdict in {"identical", "plausible"}

    @property
    def right(self) -> bool:
        return self.verdict == "identical" or bool(self.equal)

    @property
    def key(self) -> tuple[int, str, str, int, str]:
        return self.seed, self.package, self.path, self.start, self.new


def rows() -> list[Row]:
    return [Row(**json.loads(line)) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


@dataclass(frozen=True)
class Package:
    """A distribution, the files faults go into, and the tests that judge (relative to the sdist's top).

    `needs`: `distribution==version/folder` of packages it imports; the folder is laid beside it.
    `without`: words of the tests left out, because they take longer than all others together or start threads.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


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
    Package(
        "humanize==4.17.0",
        ("src/humanize/number.py", "src/humanize/filesize.py", "src/humanize/lists.py"),
        ("tests/test_number.py", "tests/test_filesize.py", "tests/test_lists.py"),
    ),
    Package(
        "more-itertools==11.2.1",
        ("more_itertools/more.py", "more_itertools/recipes.py"),
        ("tests/test_more.py", "tests/test_recipes.py"),
        without=("Prime", "Fourier", "oncurrent", "orderings", "TimeLimited", "large", "mitigation", "versus", "vs"),
    ),
    Package(
        "python-slugify==9.2.0",
        ("slugify/slugify.py", "slugify/_legacy.py"),
        ("tests",),
        needs=("text-unidecode==1.3/src/text_unidecode",),
    ),
    Package("semver==3.1.1", ("src/semver/version.py", "src/semver/_deprecated.py"), ("tests",)),
    Package(
        "sqlparse==0.6.1",
        (
            "sqlparse/engine/grouping.py",
            "sqlparse/engine/statement_splitter.py",
            "sqlparse/filters/reindent.py",
            "sqlparse/filters/others.py",
            "sqlparse/sql.py",
            "sqlparse/lexer.py",
            "sqlparse/utils.py",
        ),
        ("tests",),
    ),
)


def unpacked(requirement: str) -> Path:
    """The tree of `name==version` in the cache."""
    name, version = requirement.split("==")
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
                requirement,
            ],
            check=True,
            timeout=300,
        )
        return unpacked(requirement)
    top = CACHE / found[0].name.removesuffix(".tar.gz")
    if not top.exists():
        with tarfile.open(found[0]) as archive:
            archive.extractall(CACHE, filter="data")
    return top


def prepare(package: Package, folder: Path) -> Path:
    """A small git repository with the package's code and the chosen tests."""
    source, top = unpacked(package.name), folder / package.name.split("==")[0]
    subprocess.run(["cp", "-r", str(source), str(top)], check=True)
    for need in package.needs:
        distribution, inner = need.split("/", 1)
        subprocess.run(["cp", "-r", str(unpacked(distribution) / inner), str(top)], check=True)
    for name in ("tox.ini", "setup.cfg", "pytest.ini", ".pytest.ini", "pyproject.toml", "conftest.py"):
        (top / name).unlink(missing_ok=True)
    names = " ".join(package.tests)
    path = "src" if (top / "src").exists() else "."
    chosen = f" -k 'not ({' or '.join(package.without)})'" if package.without else ""
    (top / "pyproject.toml").write_text(
        f'[tool.pytest.ini_options]\ntestpaths = {json.dumps(names.split())}\npythonpath = ["{path}"]\npython_files = ["test*.py"]\naddopts = "-p no:doctest{chosen}"\n'
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
        code = HANGS
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
    parser.add_argument("--jobs", type=int, default=1, help="packages at a time")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--misses", action="store_true")
    args = parser.parse_args()
    if not args.report:
        run(args)
    report([row for row in rows() if row.seed == args.seed and row.verdict != "unnoticed"], misses=args.misses)


def run(args: argparse.Namespace) -> None:
    args.until = time.monotonic() + args.slice
    words = args.only.split(",")
    names = [package.name for package in PACKAGES if any(word in package.name for word in words)]
    if args.jobs == 1:
        run_some(names, args)
        return
    shares = [share for at in range(args.jobs) if (share := names[at :: args.jobs])]
    with ProcessPoolExecutor(args.jobs) as team:
        list(team.map(run_some, shares, [args] * len(shares)))


def run_some(names: list[str], args: argparse.Namespace) -> None:
    """Package by package in turns, so that a cut run has all packages in it."""
    with tempfile.TemporaryDirectory() as folder:
        ready = []
        for package in PACKAGES:
            if package.name not in names:
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
    patched, like = "", likeness(top, fault.path, ended) if verdict == "plausible" else None
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
        like.equal if like else None,
        like.compared if like else 0,
    )
    with ROWS.open("a") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    print(shown(row), flush=True)
    return row


def likeness(top: Path, path: str, ended: Ended) -> Likeness:
    """Of a plausible patch and the original, which stands in the tree again."""
    assert ended.patch is not None
    data = ended.patch.files.get(path)
    if set(ended.patch.files) != {path} or data is None:
        return Likeness(0, 0, "another file was changed")
    return same_in_package(top, path, (top / path).read_text("utf-8"), data.decode())


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
    for title, what in (("fault class", "kind"), ("package", "package")):
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in found:
            groups[getattr(row, what)].append(row)
        print(f"{title:22}{'faults':>7}{'plausible':>11}{'equal':>7}{'identical':>11}{'median s':>10}{'p90 s':>7}")
        for name, group in sorted(groups.items()):
            print(line_of(name, group))
        print()
    print(line_of("all", found))
    print(summed(found))


def line_of(name: str, group: list[Row]) -> str:
    """Counts, and the seconds to the first plausible patch."""
    good = sorted(row.seconds for row in group if row.plausible)
    median, p90 = (f"{statistics.median(good):.1f}", f"{good[int(0.9 * len(good))]:.1f}") if good else ("", "")
    counts = (
        sum(row.plausible for row in group),
        sum(row.right for row in group),
        sum(row.verdict == "identical" for row in group),
    )
    return f"{name:22}{len(group):7}{counts[0]:11}{counts[1]:7}{counts[2]:11}{median:>10}{p90:>7}"


def summed(found: list[Row]) -> str:
    total = len(found) or 1
    plausible, right = sum(row.plausible for row in found), sum(row.right for row in found)
    unknown = sum(row.verdict == "plausible" and row.equal is None for row in found)
    return (
        f"{len(found)} faults in {len({row.package for row in found})} packages: plausible {plausible / total:.0%}, "
        f"equal in behaviour to the original {right / total:.0%}"
        + (f" ({unknown} plausible patches were never compared)" if unknown else "")
        + f", original listed among the others {sum(row.listed for row in found)}"
    )


if __name__ == "__main__":
    main()
