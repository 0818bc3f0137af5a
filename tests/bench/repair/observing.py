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
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.config import Config, load
from coderefine.core import Ask, Case, Coverage, Steps, View
from coderefine.critics.pytest import Pytest
from coderefine.errors import CoderefineError
from coderefine.project import Place, Protection, interpreter, locate
from coderefine.proposers.search import MOST_OBSERVING
from coderefine.runner.pool import Pool, open_pool
from coderefine.workspace import open_views
from tests.bench.repair.injected import Package
from tests.bench.repair.mutator import Fault

KEPT = Path(tempfile.gettempdir()) / "coderefine-bench-observed"
LONGEST = 90
"""Wall seconds for one fault; one that takes longer is left out."""


@dataclass(frozen=True)
class Seconds:
    """`plain`: the cold suite, no coverage. `watched`: what the pool took to learn which test executes what."""

    plain: float
    watched: float

    @property
    def cost(self) -> float:
        return self.watched / max(self.plain, 1e-3)


@dataclass(frozen=True)
class Observed:
    """`files`: the program's files that failing tests run through; `tests`: the files of the failing tests.

    `seconds` is None where lines were seen without the pool.
    """

    package: str
    fault: Fault
    failing: tuple[Case, ...]
    coverage: Coverage
    files: dict[str, bytes]
    tests: dict[str, bytes]
    seconds: Seconds | None
    steps: Steps = field(default_factory=dict)


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
    """What a search sees: a cold run, then who executes what, from the pool."""
    place, config = locate([top], top), load(top, {}, {})
    python = interpreter(place, config, dict(os.environ))
    critic = Pytest(place, python, config, lambda _: None)
    with open_views(place) as views:
        with views.open() as view:
            check = critic.check(view, Ask(seed=0, timeout=30))
        failing = tuple(case for case in check.cases.values() if case.status.bad and "::" in case.id)
        if not failing:
            return None
        statuses = {name: case.status for name, case in check.cases.items()}
        usual = {name: case.seconds for name, case in check.cases.items()}
        with open_pool(views, place, python, config, workers=1, expected=statuses, seconds=usual) as pool:
            coverage, seconds = _watched(pool, failing, check.seconds)
        with views.open() as view:
            files, tests = _files(view, place, config, coverage, failing)
    return Observed(package.name, fault, failing, coverage, files, tests, seconds, pool.steps)


def _watched(pool: Pool, failing: tuple[Case, ...], plain: float) -> tuple[Coverage, Seconds]:
    began = time.monotonic()
    coverage = pool.observe([case.id for case in failing if case.id in pool.tests], None, MOST_OBSERVING)
    return coverage, Seconds(plain, time.monotonic() - began)


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
