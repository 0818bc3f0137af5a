"""Honest patches that the judge refuses: the reverse of injected faults, and the repairs of the hand-written ones.

    python -m tests.bench.repair.honest injected [--faults N] [--seed S] [--only PACKAGE]
    python -m tests.bench.repair.honest written

Each patch is put before `judge.admit` and the comparison of answers beside the tests' calls (loop/special_cases.py).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.config import Config
from coderefine.core import Case, Finding, Patch, Status
from coderefine.judge import admit, changes, new_constants
from coderefine.loop.special_cases import SpecialCases
from coderefine.project import Protection, interpreter, locate
from coderefine.workspace import open_views
from tests.bench.repair import injected
from tests.bench.repair.cases import load
from tests.bench.repair.mutator import faults

FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s]+(?:\[.*?\])?)(?: - (.*))?$", re.MULTILINE)
SLOW = 60.0


@dataclass(frozen=True)
class Verdict:
    """What became of one honest patch. `looked`: whether its answers were compared, in `seconds`."""

    name: str
    refused: str = ""
    looked: str = ""
    seconds: float = 0.0


def failing(top: Path) -> Mapping[str, str]:
    """Ids of failing tests of the repository at `top`, with pytest's words; none when all pass or it takes too long."""
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-q",
        "-rfE",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "--maxfail=40",
    ]
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "400"}
    environ.pop("PYTHONPATH", None)
    try:
        said = subprocess.run(command, cwd=top, env=environ, timeout=SLOW, capture_output=True, check=False, text=True)
    except subprocess.TimeoutExpired:
        return {}
    return {name: words or "" for name, words in FAILED.findall(said.stdout)}


def verdict(name: str, top: Path, path: str, faulty: bytes, right: bytes) -> Verdict | None:
    """What the judge says to the repair of `path`; None when no test notices the fault."""
    (top / path).write_bytes(faulty)
    red = failing(top)
    if not red:
        return None
    place, config = locate([top], top), Config()
    protection = Protection.of(place, config)
    python = interpreter(place, config, os.environ)
    patch, originals = Patch({path: right}), {path: faulty}
    files = dict.fromkeys(one.partition("::")[0] for one in red)
    findings = [Finding("pytest", "failed", one.partition("::")[0], words, symbol=one) for one, words in red.items()]
    said = admit(
        patch,
        originals,
        protection.reason,
        findings=findings,
        tests=[(top / file).read_text("utf-8", "replace") for file in files if (top / file).is_file()],
        modules=python.modules(top),
        helpers=protection.helpers,
    )
    if not said:
        return Verdict(name, said.reason)
    if not new_constants(changes(patch, originals)):
        return Verdict(name)
    began = time.monotonic()
    cases = {one: Case(one, Status.FAILED) for one in red}
    with open_views(place) as views:
        guarded = SpecialCases(place, python, config).check(views, patch, originals, cases)
    return Verdict(name, "" if guarded else guarded.reason, guarded.reason or "compared", time.monotonic() - began)


def of_packages(count: int, seed: int, only: str) -> Iterator[Verdict]:
    for package in injected.PACKAGES:
        if only in package.name:
            with tempfile.TemporaryDirectory() as folder:
                yield from of_package(package, Path(folder), count, seed)


def of_package(package: injected.Package, folder: Path, count: int, seed: int) -> Iterator[Verdict]:
    top = injected.prepare(package, folder)
    for path in package.files:
        text = (top / path).read_text("utf-8")
        for fault in faults(path, text, count // len(package.files) + 1, seed):
            name = f"{package.name} {path}:{fault.line} {fault.kind} {fault.old!r} <- {fault.new!r}"
            found = verdict(name, top, path, fault.apply(text).encode(), text.encode())
            if found:
                yield found
        (top / path).write_text(text, "utf-8")


def of_written() -> Iterator[Verdict]:
    for half in ("development", "held_out", "held_out2"):
        for case in load(half):
            with tempfile.TemporaryDirectory() as folder:
                top = Path(folder) / case.name
                top.mkdir()
                for name, text in case.files.items():
                    (top / name).write_text(text)
                subprocess.run(["git", "init", "-q"], cwd=top, check=True)
                found = verdict(
                    f"{half} {case.name}", top, f"{case.name}.py", case.faulty.encode(), case.right.encode()
                )
                if found:
                    yield found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["injected", "written"])
    parser.add_argument("--faults", type=int, default=20, help="per package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rows = of_written() if given.what == "written" else of_packages(given.faults, given.seed, given.only)
    found = []
    for row in rows:
        found.append(row)
        if row.refused or row.looked:
            print("REFUSED" if row.refused else "looked", row.name, "|", row.refused or row.looked, flush=True)
    refused, looked = [row for row in found if row.refused], [row for row in found if row.looked]
    seconds = sum(row.seconds for row in looked) / max(1, len(looked))
    print(f"{len(found)} honest patches, {len(refused)} refused, {len(looked)} compared in {seconds:.1f} s each")


if __name__ == "__main__":
    main()
