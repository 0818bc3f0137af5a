"""The speed adviser: measure whether a patched tree is faster than the unchanged tree and the best attempt.

The result decides between attempts only if the gates find no difference.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from coderefine.config import Config
from coderefine.core import Ask, Check, Finding, Listen, Severity, Span, Verdict, View
from coderefine.critics.sandboxed import Sandboxed
from coderefine.critics.source_files import inside
from coderefine.critics.speed.benchmarks import CommandBenchmark, Hotspot, PytestBenchmarks
from coderefine.critics.speed.speedup import LOOKS, MeasureOptions, SpeedComparison, caches, measure
from coderefine.errors import CriticError, SurroundingsError
from coderefine.project import Interpreter, Place, Protection
from coderefine.source import definitions, first_line, last_line, syntax, text_of

SPOTS, SHARE = 3, 0.05
"""Maximum number of functions that are named, and minimum share of the time of a named function."""
KEPT = "the patch caches results between calls: if the benchmark repeats a call, it measured this cache"

ELSEWHERE = "the rest of the time is not spent in code that may be changed"


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
