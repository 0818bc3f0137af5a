"""Does the performance task accept what is faster, and nothing else? Ten functions, real runs.

    python -m tests.bench.performance.run [faster|refused|noop] [--only NAME …] [--trials N] [--from N] [--light]

`faster`: the better versions through the whole loop. `refused`: slower and wrong ones through it. `noop`: trials of a
patch that changes nothing that takes time, each a full comparison; how many are accepted at 1.05×, and at 1.00×.
Runs in chunks: `--only` takes the functions of these names, `--from` goes on with the trial of that number.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from coderefine.config import Config, Performance
from coderefine.core import Attempt, Patch, View
from coderefine.critics.sandboxed import Sandboxed
from coderefine.critics.speed import CommandBenchmark, Speed
from coderefine.critics.speedup import MeasureOptions, measure
from coderefine.project import interpreter, locate
from coderefine.workspace import open_views
from tests.bench.performance.cases import CASES, Case
from tests.support.loop import Script, run
from tests.support.repo import make_repo

COMMAND = ("python", "bench.py")
CONFIG = Config(performance=Performance(COMMAND, seconds=60.0))


def speed(top: Path) -> Speed:
    place = locate([top], top)
    return Speed(place, interpreter(place, CONFIG, os.environ), CONFIG, lambda event: None)


def tried(case: Case, body: str, folder: Path) -> tuple[Attempt, Attempt]:
    """(the attempt, the best at the end) when the loop is offered `body`."""
    top = make_repo(folder / "repo", case.files())
    ran = run(top, Script([{"work.py": case.module(body)}]), advice=(speed(top),), gates=("pytest",))
    return ran.outcome.attempts[1], ran.outcome.best


def faster(cases: Sequence[Case]) -> None:
    """The better versions."""
    accepted = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            attempt, best = tried(case, case.fast, Path(folder))
        said = attempt.check("speed")
        accepted += best.number == 1
        told = said.notes[0] if said else attempt.verdict.reason
        print(f"{case.name:10} {'accepted' if best.number else 'REFUSED':9} {told}", flush=True)
    print(f"faster versions accepted: {accepted} of {len(cases)}")


def refused(cases: Sequence[Case]) -> None:
    """Slower ones, which the tests like, and wrong ones, which are fast."""
    for kind in ("slower", "wrong"):
        accepted = 0
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                attempt, best = tried(case, getattr(case, kind), Path(folder))
            accepted += best.number == 1
            print(
                f"{case.name:10} {kind:7} {'ACCEPTED' if best.number else 'refused'}: {attempt.verdict.reason[:110]}",
                flush=True,
            )
        print(f"{kind} versions accepted: {accepted} of {len(cases)}")


SHORT = tuple(case for case in CASES if case.name in ("flat", "ordered", "cleaned"))
"""Those of less than 0.1 s, because trials are many; with `--light` they only do what their test does."""
NOTHING: tuple[str, ...] = ("_VERSION = {n}\n", "# Reviewed {n} times.\n", "\n\ndef spare():\n    return {n}\n")


@contextmanager
def beside(case: Case, more: str) -> Iterator[tuple[View, View, CommandBenchmark]]:
    """The start and the same with `more` code at its end."""
    with tempfile.TemporaryDirectory() as folder:
        top = make_repo(Path(folder) / "repo", case.files())
        place = locate([top], top)
        files: Mapping[str, bytes | None] = {"work.py": (case.module(case.slow) + more).encode()}
        watch = CommandBenchmark(place, interpreter(place, CONFIG, os.environ), Sandboxed(CONFIG), COMMAND)
        with open_views(place) as views, views.open() as start, views.open(Patch(files)) as view:
            yield start, view, watch


def noop(first: int, trials: int, seconds: float, *, light: bool) -> None:
    """Trials on one case after the other."""
    cases = [replace(case, call=f"assert {case.test}") if light else case for case in SHORT]
    began, done, pairs, accepted, bare = time.monotonic(), 0, 0, 0, 0
    widths = []
    for number in range(first, first + trials):
        if time.monotonic() - began > seconds:
            break
        with beside(cases[number % len(cases)], NOTHING[number % len(NOTHING)].format(n=number)) as (
            start,
            view,
            watch,
        ):
            found = measure(start, view, MeasureOptions(watch)).speedup
        done, pairs, accepted = done + 1, pairs + found.pairs, accepted + found.enough
        bare += found.low > 1.0
        widths.append(found.ratio)
    widths.sort()
    spread = f"{widths[0]:.3f} to {widths[-1]:.3f}, median {widths[len(widths) // 2]:.3f}"
    print(f"no-op trials {first} to {first + done - 1}: accepted {accepted} of {done}; lower end above 1.00×: {bare}")
    print(f"  estimates {spread}; {pairs / done:.1f} pairs a trial, {(time.monotonic() - began) / done:.2f} s a trial")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("faster", "refused", "noop", "all"), default="all")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], metavar="NAME")
    given = parser.parse_args()
    cases = [case for case in CASES if given.only is None or case.name in given.only]
    if given.part in ("faster", "all"):
        faster(cases)
    if given.part in ("refused", "all"):
        refused(cases)
    if given.part in ("noop", "all"):
        noop(given.first, given.trials, given.seconds, light=given.light)


if __name__ == "__main__":
    main()
