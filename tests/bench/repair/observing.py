"""What a test run shows of a fault: gathered once, kept in /tmp, ranked as often as one likes.

Gathering costs seconds per fault; ranking costs milliseconds and gives the same ranks on every machine.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coderefine.config import Config, load
from coderefine.core import Ask, Case, Coverage, View
from coderefine.critics.pytest import Pytest
from coderefine.errors import CoderefineError
from coderefine.project import Place, Protection, interpreter, locate
from coderefine.workspace import open_views
from tests.bench.repair.injected import Package
from tests.bench.repair.mutator import Fault

KEPT = Path(tempfile.gettempdir()) / "coderefine-bench-seen"
LONGEST = 60
"""Wall seconds for one fault; one that takes longer is left out."""


@dataclass(frozen=True)
class Observed:
    """`files`: the program's files that failing tests run through; `tests`: the files of the failing tests.

    `seconds`: what the cold run took that saw it, with coverage.
    """

    package: str
    fault: Fault
    failing: tuple[Case, ...]
    coverage: Coverage
    files: dict[str, bytes]
    tests: dict[str, bytes]
    seconds: float


def observed(top: Path, package: Package, fault: Fault, seed: int) -> Observed | None:
    """From the cache where it is there; None when no test notices the fault, or it cannot be watched."""
    place = _kept(package, fault, seed)
    if place.exists():
        found: Observed | None = pickle.loads(gzip.decompress(place.read_bytes()))
        return found
    path = top / fault.path
    original = path.read_text("utf-8")
    path.write_text(fault.apply(original), "utf-8")
    try:
        found = _within(top, package, fault)
    finally:
        path.write_text(original, "utf-8")
    place.parent.mkdir(exist_ok=True, parents=True)
    place.write_bytes(gzip.compress(pickle.dumps(found), 1))
    return found


def known(package: Package, fault: Fault, seed: int) -> bool:
    return _kept(package, fault, seed).exists()


def _kept(package: Package, fault: Fault, seed: int) -> Path:
    code = hashlib.sha1(repr(fault).encode()).hexdigest()[:12]
    return KEPT / str(seed) / f"{package.name}-{code}.pickle.gz"


def _within(top: Path, package: Package, fault: Fault) -> Observed | None:
    def ring(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST)
    try:
        return _observed(top, package, fault)
    except (TimeoutError, CoderefineError):
        return None
    finally:
        signal.alarm(0)


def _observed(top: Path, package: Package, fault: Fault) -> Observed | None:
    """One cold run with coverage by test: the same lines that the pool's trace tells, without the pool."""
    place, config = locate([top], top), load(top, {}, {})
    critic = Pytest(place, interpreter(place, config, dict(os.environ)), config, lambda _: None)
    with open_views(place) as views, views.open() as view:
        check = critic.check(view, Ask(seed=0, timeout=15, coverage=True))
        failing = tuple(case for case in check.cases.values() if case.status.bad and "::" in case.id)
        if not failing:
            return None
        coverage = shared(check.coverage or {}, [case.id for case in failing])
        files, tests = _files(view, place, config, coverage, failing)
    return Observed(package.name, fault, failing, _within_files(coverage, files), files, tests, check.seconds)


def shared(coverage: Coverage, failing: list[str]) -> Coverage:
    """Without the tests that execute no line that a failing test executes, and without import time."""
    lines = {(path, line) for name in failing for path, found in coverage.get(name, {}).items() for line in found}
    return {
        name: by_path
        for name, by_path in coverage.items()
        if name and any((path, line) in lines for path, found in by_path.items() for line in found)
    }


def _within_files(coverage: Coverage, files: dict[str, bytes]) -> Coverage:
    return {
        name: {path: lines for path, lines in by_path.items() if path in files} for name, by_path in coverage.items()
    }


def _files(
    view: View, place: Place, config: Config, coverage: Coverage, failing: tuple[Case, ...]
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    protection = Protection.of(place, config)
    paths = {path for by_path in coverage.values() for path in by_path}
    paths |= {frame.path for case in failing if case.failure for frame in case.failure.frames}
    free = {path for path in paths if protection.reason(path) is None and not protection.is_test(path)}
    return dict(_texts(view, free)), dict(_texts(view, {case.path for case in failing}))


def _texts(view: View, paths: set[str]) -> Iterator[tuple[str, bytes]]:
    for path in sorted(paths):
        if path.endswith(".py") and not Path(path).is_absolute() and (data := view.read(path)) is not None:
            yield path, data
