"""What is timed: a command of the project's, or its pytest-benchmark tests."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderefine.core import Finished, View
from coderefine.critics.confined import Sandboxed
from coderefine.critics.speed.speedup import Reading
from coderefine.critics.speed.spots import Spot, shown, spots
from coderefine.errors import CriticError, ProcessError
from coderefine.project import Interpreter, Place

INSIDE = Path(__file__).parents[2] / "runner" / "inside"
LEAST = 1e-9
"""Seconds: a reading of nothing is no ratio."""
PYTHONS = ("python", "python3")
QUICK = (
    "--benchmark-only",
    "--benchmark-max-time=0.1",
    "--benchmark-min-rounds=3",
    "--benchmark-warmup=off",
    "--benchmark-columns=median",
)
"""Short runs: precision comes from many pairs, which also see what differs between processes."""
PROBE = "import importlib.util as u; print(*(n for n in ('pytest_benchmark', 'xdist') if u.find_spec(n)))"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where benchmarks run: in the project's root, with its interpreter."""

    place: Place
    python: Path
    box: Sandboxed

    def run(self, view: View, argv: Sequence[str], timeout: float, *, seed: int = 0) -> Finished:
        """`argv` to its end, which need not be a good one. Raises CriticError."""
        path = os.pathsep.join((str(self.python.parent), os.environ.get("PATH", "")))
        environment = {"PATH": path, "PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": ""}
        try:
            result = self.box.run(view, argv, cwd=self.place.prefix, env=environment, timeout=timeout)
        except ProcessError as error:
            raise CriticError(f"speed: {error}") from error
        if result.timed_out:
            raise CriticError(f"speed: one run of the benchmark did not end within {timeout:g} s")
        return result


class CommandWatch:
    """Times a whole command, by the wall or by the processor."""

    def __init__(
        self, place: Place, interpreter: Interpreter, box: Sandboxed, command: Sequence[str], clock: str = "wall"
    ) -> None:
        self._ground = Ground(place, interpreter.path, box)
        self._command = tuple(command)
        self._clock = clock

    def __str__(self) -> str:
        return f"{shlex.join(self._command)} ({self._clock} time)"

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """One run, under the name of its clock."""
        argv = (str(self._ground.python), str(INSIDE / "timed.py"), *self._argv)
        result = self._ground.run(view, argv, timeout, seed=seed)
        said = _loaded(result.stdout.rpartition(b"\n{")[2] if b"\n{" in result.stdout else result.stdout)
        if said.get("code") != 0:
            raise CriticError(f"speed: {shlex.join(self._command)} exited {said.get('code')}: {_complaint(result)}")
        return {self._clock: max(float(said[self._clock]), LEAST)}

    def spots(self, view: View, timeout: float) -> tuple[Spot, ...] | None:
        """Where a Python command spends its time; None for other programs. Raises CriticError."""
        if Path(self._command[0]).name not in (*PYTHONS, self._ground.python.name):
            return None
        report = view.temp / "hotspots.json"
        report.unlink(missing_ok=True)
        script = (str(INSIDE / "hotspots.py"), str(view.top), str(report), *self._command[1:])
        self._ground.run(view, (str(self._ground.python), *script), timeout)
        return spots(_read(report), view)

    @property
    def _argv(self) -> tuple[str, ...]:
        program, *rest = self._command
        return (str(self._ground.python) if program in PYTHONS else program, *rest)


class Benchmarks:
    """The median of every pytest-benchmark test of the project."""

    def __init__(self, place: Place, interpreter: Interpreter, box: Sandboxed) -> None:
        self._ground = Ground(place, interpreter.path, box)
        self._alone: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return "the pytest-benchmark tests"

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """Seconds by test."""
        table = self._report(view, seed, timeout)
        return {one["fullname"]: max(float(one["stats"]["median"]), LEAST) for one in table}

    def spots(self, view: View, timeout: float) -> tuple[Spot, ...] | None:
        """The functions whose calls take longest, of all benchmarks together."""
        table = self._report(view, 0, timeout, "--benchmark-cprofile=cumtime")
        return shown([row for one in table for row in one.get("cprofile", ())], view)

    def _report(self, view: View, seed: int, timeout: float, *more: str) -> list[dict[str, Any]]:
        report = view.temp / "benchmarks.json"
        report.unlink(missing_ok=True)
        options = (*QUICK, *self._lonely(view), f"--benchmark-json={report}", "-p", "no:cacheprovider", *more)
        argv = (str(self._ground.python), "-m", "pytest", "-q", *options)
        result = self._ground.run(view, argv, timeout, seed=seed)
        if result.returncode == 5 or (result.returncode == 0 and not report.is_file()):
            raise CriticError(
                "speed: no test uses pytest-benchmark's fixture: write one, or name a command under "
                '[tool.coderefine.performance]: run = "python bench.py"'
            )
        if result.returncode != 0:
            raise CriticError(f"speed: the benchmarks failed (pytest exited {result.returncode}): {_complaint(result)}")
        benchmarks = _read(report).get("benchmarks", [])
        return [one for one in benchmarks if one.get("stats")]

    def _lonely(self, view: View) -> tuple[str, ...]:
        """xdist switches benchmarks off, so it is told to have no workers. Raises CriticError without the plug-in."""
        if self._alone is None:
            found = self._ground.run(view, (str(self._ground.python), "-c", PROBE), 60.0).text.split()
            if "pytest_benchmark" not in found:
                raise CriticError(
                    'speed: nothing to measure by: name a command (run = "python bench.py") under '
                    "[tool.coderefine.performance], "
                    f"or install pytest-benchmark for {self._ground.python}"
                )
            self._alone = ("-n0",) if "xdist" in found else ()
        return self._alone


def _read(report: Path) -> Any:
    try:
        return json.loads(report.read_bytes())
    except (OSError, ValueError) as error:
        raise CriticError(f"speed: {report.name} cannot be read: {error}") from error


def _loaded(data: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(data)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _complaint(result: Finished) -> str:
    said = (result.stderr.strip() or result.stdout.strip()).decode("utf-8", "replace")
    return said.splitlines()[-1][:300] if said else "it printed nothing"
