"""The speed adviser: measure whether a patched tree is faster than the unchanged tree and the best attempt.

It runs a command of the project, or its pytest-benchmark tests, and names the slowest functions. The result decides
between attempts only if the gates find no difference.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coderefine import proc
from coderefine.config import Config
from coderefine.core import Ask, Check, Finding, Finished, Listen, Severity, Span, Verdict, View
from coderefine.core.views import inside, relative_to_top
from coderefine.critics.sandboxed import Sandboxed, last_line_of
from coderefine.critics.speedup import LOOKS, MeasureOptions, Reading, SpeedComparison, caches, measure
from coderefine.errors import CriticError, ProcessError, SurroundingsError
from coderefine.project import Interpreter, Place, Protection
from coderefine.source import definitions, first_line, last_line, syntax, text_of

PROGRAM = Path(__file__).parents[1] / "runner" / "agent" / "measure_program.py"
LEAST = 1e-9
"""Minimum seconds of a reading, because ratios of zero are undefined."""
PYTHONS = ("python", "python3")
QUICK = (
    "--benchmark-only",
    "--benchmark-max-time=0.1",
    "--benchmark-min-rounds=3",
    "--benchmark-warmup=off",
    "--benchmark-columns=median",
)
"""Options for short runs: many pairs of runs make the result precise, and average over differences of processes."""
SHOWN = re.compile(r"(?P<file>.+\.py):(?P<line>\d+)\((?P<name>[^<].*)\)")
"""A function as pstats and pytest-benchmark print it: the last parts of its path, first line, name."""
PROBE = "import importlib.util as u; print(*(n for n in ('pytest_benchmark', 'xdist') if u.find_spec(n)))"
SPOTS, SHARE = 3, 0.05
"""Maximum number of functions that are named, and minimum share of the time of a named function."""
KEPT = "the patch caches results between calls: if the benchmark repeats a call, it measured this cache"
ELSEWHERE = "the rest of the time is not spent in code that may be changed"


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A function by repo-relative path and first line; its share of the time (0 to 1) and the number of its calls."""

    path: str
    line: int
    share: float
    calls: int


@dataclass(frozen=True, slots=True)
class BenchmarkContext:
    """Where benchmarks run: in the project's root, with its interpreter."""

    place: Place
    python: Path
    box: Sandboxed

    def run(self, view: View, argv: Sequence[str], timeout: float, *, seed: int = 0) -> Finished:
        """Run `argv`; the caller checks its exit code.

        Raises CriticError if the program does not start, or does not end in time.
        """
        environment = {
            "PATH": proc.search_path(self.python),
            "PYTHONHASHSEED": str(seed),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        try:
            result = self.box.run(view, argv, cwd=self.place.prefix, env=environment, timeout=timeout)
        except ProcessError as error:
            raise CriticError(f"speed: {error}") from error
        if result.timed_out:
            raise CriticError(f"speed: one run of the benchmark did not end within {timeout:g} s")
        return result


class CommandBenchmark:
    """Times a whole command, in wall-clock or CPU time."""

    def __init__(
        self, place: Place, interpreter: Interpreter, box: Sandboxed, command: Sequence[str], clock: str = "wall"
    ) -> None:
        self._context = BenchmarkContext(place, interpreter.path, box)
        self._command = tuple(command)
        self._clock = clock

    def __str__(self) -> str:
        return f"{shlex.join(self._command)} ({self._clock} time)"

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """Run the command once; return {name of the clock: seconds}.

        `seed`: the value of PYTHONHASHSEED. Raises CriticError if the command does not start, fails, or takes longer
        than `timeout` seconds.
        """
        program, *rest = self._command
        command = (str(self._context.python) if program in PYTHONS else program, *rest)
        argv = (str(self._context.python), str(PROGRAM), "time", *command)
        result = self._context.run(view, argv, timeout, seed=seed)
        times = _object(result.stdout.rpartition(b"\n{")[2] if b"\n{" in result.stdout else result.stdout)
        if times.get("code") != 0:
            raise CriticError(f"speed: {shlex.join(self._command)} exited {times.get('code')}: {last_line_of(result)}")
        return {self._clock: max(float(times[self._clock]), LEAST)}

    def hotspots(self, view: View, timeout: float) -> tuple[Hotspot, ...] | None:
        """Return the functions in which a Python command spends its time; None for other programs.

        Raises CriticError if the command does not start, takes longer than `timeout` seconds, or leaves no profile.
        """
        if Path(self._command[0]).name not in (*PYTHONS, self._context.python.name):
            return None
        report = view.temp / "hotspots.json"
        report.unlink(missing_ok=True)
        script = (str(PROGRAM), "profile", str(view.top), str(report), *self._command[1:])
        self._context.run(view, (str(self._context.python), *script), timeout)
        found = ((relative_to_top(view, Path(row["file"])), row) for row in _read(report))
        return tuple(Hotspot(path, row["line"], row["share"], row["calls"]) for path, row in found if path)


class PytestBenchmarks:
    """Times the pytest-benchmark tests of the project: the median of each."""

    def __init__(self, place: Place, interpreter: Interpreter, box: Sandboxed) -> None:
        self._context = BenchmarkContext(place, interpreter.path, box)
        self._alone: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return "the pytest-benchmark tests"

    def read(self, view: View, seed: int, timeout: float) -> Reading:
        """Run the tests once; return the median seconds of each test. For the parameters, see `Benchmark.read`.

        Raises CriticError if there are no such tests, or if one fails.
        """
        table = self._report(view, seed, timeout)
        return {one["fullname"]: max(float(one["stats"]["median"]), LEAST) for one in table}

    def hotspots(self, view: View, timeout: float) -> tuple[Hotspot, ...] | None:
        """Return the functions of the project, slowest first, in all benchmarks together. Raises CriticError."""
        table = self._report(view, 0, timeout, "--benchmark-cprofile=cumtime")
        return profiled([row for one in table for row in one.get("cprofile", ())], view)

    def _report(self, view: View, seed: int, timeout: float, *more: str) -> list[dict[str, Any]]:
        report = view.temp / "benchmarks.json"
        report.unlink(missing_ok=True)
        options = (*QUICK, *self._without_workers(view), f"--benchmark-json={report}", "-p", "no:cacheprovider", *more)
        argv = (str(self._context.python), "-m", "pytest", "-q", *options)
        result = self._context.run(view, argv, timeout, seed=seed)
        if result.returncode == 5 or (result.returncode == 0 and not report.is_file()):
            raise CriticError(
                "speed: no test uses pytest-benchmark's fixture: write one, or name a command under "
                '[tool.coderefine.performance]: run = "python bench.py"'
            )
        if result.returncode != 0:
            raise CriticError(
                f"speed: the benchmarks failed (pytest exited {result.returncode}): {last_line_of(result)}"
            )
        benchmarks = _read(report).get("benchmarks", [])
        return [one for one in benchmarks if one.get("stats")]

    def _without_workers(self, view: View) -> tuple[str, ...]:
        """Return the option that disables xdist, because xdist disables benchmarks.

        Raises CriticError if pytest-benchmark is not installed.
        """
        if self._alone is None:
            found = self._context.run(view, (str(self._context.python), "-c", PROBE), 60.0).text.split()
            if "pytest_benchmark" not in found:
                raise CriticError(
                    'speed: there is no benchmark: name a command (run = "python bench.py") under '
                    "[tool.coderefine.performance], "
                    f"or install pytest-benchmark for {self._context.python}"
                )
            self._alone = ("-n0",) if "xdist" in found else ()
        return self._alone


def _read(report: Path) -> Any:
    try:
        return json.loads(report.read_bytes())
    except (OSError, ValueError) as error:
        raise CriticError(f"speed: {report.name} cannot be read: {error}") from error


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def profiled(rows: Sequence[dict[str, Any]], view: View) -> tuple[Hotspot, ...]:
    """Return the functions of the project in pytest-benchmark's profiles, slowest first.

    Times and calls are summed over all profiles. A function's time includes the functions that it calls. Its share is
    its time, divided by the longest time of a function.
    """
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    calls: Counter[tuple[str, int]] = Counter()
    files = sorted(path.relative_to(view.host_path).as_posix() for path in view.host_path.rglob("*.py"))
    for row in rows:
        if key := _function(row, files, view.top.name):
            seconds[key] += float(row["cumtime"])
            calls[key] += int(row["ncalls"])
    most = max(seconds.values(), default=0.0) or 1.0
    ranked = sorted(seconds, key=lambda key: seconds[key], reverse=True)
    return tuple(Hotspot(path, line, seconds[path, line] / most, calls[path, line]) for path, line in ranked)


def _function(row: Mapping[str, Any], files: Sequence[str], top: str) -> tuple[str, int] | None:
    """Return path and line of the function in `row`; None if it is not a function of the project."""
    shown = SHOWN.fullmatch(row.get("function_name") or row.get("function") or "")
    if shown is None:
        return None
    path = next((one for one in files if f"/{top}/{one}".endswith(f"/{shown['file']}")), None)
    return (path, int(shown["line"])) if path else None


class Speed:
    """The speed adviser. `total` is the certain speed-up: the confidence interval's lower end (unchanged tree: 1)."""

    name = "speed"
    gate = False

    def __init__(self, place: Place, interpreter: Interpreter, config: Config, _listen: Listen) -> None:
        wanted = config.performance
        self._wanted = wanted
        self._protection = Protection.of(place, config)
        self._box = Sandboxed(config)
        self._benchmark = (
            CommandBenchmark(place, interpreter, self._box, wanted.run, wanted.clock)
            if wanted.run
            else PytestBenchmarks(place, interpreter, self._box)
        )

    def check(self, view: View, ask: Ask) -> Check:
        """Measure the unchanged tree and report its slowest functions.

        Raises SurroundingsError if the tree cannot be measured.
        """
        began = time.monotonic()
        try:
            reading = self._box.fitting(lambda _: self._benchmark.read(view, 0, self._seconds(ask)), loosen=True)
        except CriticError as error:
            raise SurroundingsError(f"the start cannot be measured: {error}") from error
        several = f" in {len(reading)} benchmarks" if len(reading) > 1 else ""
        notes = (f"measured by {self._benchmark}: {sum(reading.values()):.3g} s{several}",)
        return self._result(view, ask, 1.0, notes, began)

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """Return the check of `view` if it is certainly faster than each of `rivals`, else a refusal.

        The first rival is the unchanged tree: `view` must be faster by the target factor. The second rival, if there is
        one, is the best attempt so far: `view` must only be faster.
        """
        began = time.monotonic()
        options = MeasureOptions(self._benchmark, self._wanted.target, self._seconds(ask))
        (start, _), *better = rivals
        found = measure(start, view, options)
        if against := _against(found, options.target, "the start"):
            return Verdict(ok=False, reason=f"speed: {against}")
        total = found.speedup.low
        for best, check in better:
            again = measure(best, view, replace(options, target=1.0))
            if against := _against(again, 1.0, "the best attempt"):
                return Verdict(ok=False, reason=f"speed: {against}")
            total = max(total, (check.total or 1.0) * again.speedup.low)
        notes = (f"{found.speedup} by {self._benchmark}", *_cache_note(start, view, ask))
        return self._result(view, ask, total, notes, began)

    def _seconds(self, ask: Ask) -> float:
        return min(self._wanted.seconds, ask.timeout)

    def _result(self, view: View, ask: Ask, total: float, notes: tuple[str, ...], began: float) -> Check:
        """Return the check; it has findings if the tree is not fast enough and a slow function may be changed."""
        fast = total >= self._wanted.enough
        findings = () if fast else self._remarks(view, ask)
        notes = notes if fast or findings else (*notes, ELSEWHERE)
        seconds = time.monotonic() - began
        check = Check(self.name, findings, seconds=seconds, gate=False, notes=notes, total=round(total, 3))
        return replace(check, tool=str(self._benchmark))

    def _remarks(self, view: View, ask: Ask) -> tuple[Finding, ...]:
        """Return a finding for each of the slowest functions that may be changed.

        If it is not known which functions are slow, return a single finding without a position.
        """
        try:
            found = self._benchmark.hotspots(view, self._seconds(ask))
        except CriticError:  # a program that cannot be profiled can still be measured
            found = None
        if found is None:
            return (self._finding(ask.scope[0], "the benchmark takes long", None, ""),)
        ours = [spot for spot in found if spot.share >= SHARE and inside(spot.path, ask.scope)]
        writable = [spot for spot in ours if self._protection.reason(spot.path) is None]
        return tuple(self._remark(spot, view) for spot in writable[:SPOTS])

    def _remark(self, spot: Hotspot, view: View) -> Finding:
        tree = syntax(text_of(view.read(spot.path)) or "")
        known = {first_line(node): (name, node) for name, node in definitions(tree)} if tree else {}
        name, node = known.get(spot.line, ("", None))
        span = Span(node.lineno, last_line(node)) if node else Span(spot.line, spot.line)
        message = f"{name or 'this'} takes {spot.share:.0%} of the time, in {spot.calls:,} calls"
        return self._finding(spot.path, message, span, name, spot.share)

    def _finding(self, path: str, message: str, span: Span | None, symbol: str, share: float = 1.0) -> Finding:
        goal = f"make it faster, with the same results; {self._wanted.enough:g} times as fast is enough"
        return Finding(
            self.name, "slow", path, message, span, symbol, str(self._benchmark), goal, Severity.SOFT, round(share, 3)
        )


def _cache_note(start: View, view: View, ask: Ask) -> tuple[str, ...]:
    pairs = ((text_of(start.read(path)) or "", text_of(view.read(path)) or "") for path in ask.changed or ())
    return (KEPT,) if any(caches(*pair) for pair in pairs) else ()


def _against(found: SpeedComparison, target: float, rival: str) -> str:
    """Return why a tree measured against `rival` is not accepted; "" if it is certainly faster."""
    speed = found.speedup
    if found.slower:
        named = f" in {', '.join(found.slower[:3])}" if found.several else ""
        return f"{speed} compared with {rival}: slower{named}"
    if speed.enough:
        return ""
    if speed.pairs < LOOKS[0]:
        counts = f"only {speed.pairs} pairs fitted the time and {LOOKS[0]} are needed"
        return f"{counts}: a shorter benchmark, or more seconds"
    return f"{speed} compared with {rival}: not certainly above {target:g}×"
