"""How fast a tree is, beside the one it has to beat. It decides between attempts that the gates like equally."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from coderefine.config import Config
from coderefine.core import Ask, Check, Finding, Listen, Severity, Span, Verdict, View
from coderefine.critics.confined import Sandboxed
from coderefine.critics.scope import inside
from coderefine.critics.speed.measure import How, Measured, measure
from coderefine.critics.speed.speedup import LOOKS, Reading, caches
from coderefine.critics.speed.spots import Spot
from coderefine.critics.speed.watches import Benchmarks, CommandWatch
from coderefine.critics.symbols import definitions, parse
from coderefine.errors import CriticError, SurroundingsError
from coderefine.llm.context import text_of
from coderefine.project import Interpreter, Place, Protection

SPOTS, SHARE = 3, 0.05
"""How many functions are named, and the share of the time below which none is."""
KEPT = "the patch keeps results between calls: where the benchmark repeats a call, this is what it measured"

ELSEWHERE = "the rest of the time is not spent in code that may be changed"


class Speed:
    """`total` is the speed-up that is sure: the lower end of its interval, 1 for the start."""

    name = "speed"
    gate = False

    def __init__(self, place: Place, interpreter: Interpreter, config: Config, _listen: Listen) -> None:
        wanted = config.performance
        self._wanted = wanted
        self._protection = Protection.of(place, config)
        self._box = Sandboxed(config)
        self._watch = (
            CommandWatch(place, interpreter, self._box, wanted.run, wanted.clock)
            if wanted.run
            else Benchmarks(place, interpreter, self._box)
        )

    def check(self, view: View, ask: Ask) -> Check:
        """The start: what takes long in it. Raises SurroundingsError when it cannot be measured."""
        began = time.monotonic()
        try:
            reading = self._box.fitting(lambda _: self._watch.read(view, 0, self._seconds(ask)), loosen=True)
        except CriticError as error:
            raise SurroundingsError(f"the start cannot be measured: {error}") from error
        notes = (f"measured by {self._watch}: {_listed(reading)}",)
        return self._said(view, ask, 1.0, notes, began)

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """No, unless `view` is surely faster than the start by more than the target, and than the best at all."""
        began = time.monotonic()
        how = How(self._watch, self._wanted.target, self._seconds(ask))
        (start, _), *better = rivals
        found = measure(start, view, how)
        if against := _against(found, how.target, "the start"):
            return Verdict(ok=False, reason=f"speed: {against}")
        total = found.speedup.low
        for best, said in better:
            again = measure(best, view, replace(how, target=1.0))
            if against := _against(again, 1.0, "the best attempt"):
                return Verdict(ok=False, reason=f"speed: {against}")
            total = max(total, (said.total or 1.0) * again.speedup.low)
        notes = (f"{found.speedup} by {self._watch}", *self._kept(start, view, ask))
        return self._said(view, ask, total, notes, began)

    def _seconds(self, ask: Ask) -> float:
        return min(self._wanted.seconds, ask.timeout)

    def _kept(self, start: View, view: View, ask: Ask) -> tuple[str, ...]:
        pairs = ((text_of(start.read(path)) or "", text_of(view.read(path)) or "") for path in ask.changed or ())
        return (KEPT,) if any(caches(*pair) for pair in pairs) else ()

    def _said(self, view: View, ask: Ask, total: float, notes: tuple[str, ...], began: float) -> Check:
        """With remarks until it is fast enough, or the time goes elsewhere."""
        fast = total >= self._wanted.enough
        findings = () if fast else self._remarks(view, ask)
        notes = notes if fast or findings else (*notes, ELSEWHERE)
        seconds = time.monotonic() - began
        return Check(
            self.name, findings, seconds=seconds, gate=False, tool=str(self._watch), notes=notes, total=round(total, 3)
        )

    def _remarks(self, view: View, ask: Ask) -> tuple[Finding, ...]:
        """One for each of the dearest functions that may be changed; where they are not known, one for the whole."""
        try:
            found = self._watch.spots(view, self._seconds(ask))
        except CriticError:  # A program that cannot be profiled can be measured all the same.
            found = None
        if found is None:
            return (self._finding(ask.scope[0], "the benchmark takes long", None, ""),)
        ours = [spot for spot in found if self._writable(spot.path, ask) and spot.share >= SHARE]
        return tuple(self._remark(spot, view) for spot in ours[:SPOTS])

    def _writable(self, path: str, ask: Ask) -> bool:
        return inside(path, ask.scope) and self._protection.reason(path) is None

    def _remark(self, spot: Spot, view: View) -> Finding:
        tree = parse(text_of(view.read(spot.path)) or "")
        known = definitions(tree) if tree else ()
        lines = {min((node.lineno, *(one.lineno for one in node.decorator_list))): (n, node) for n, node in known}
        name, node = lines.get(spot.line, ("", None))
        span = Span(node.lineno, node.end_lineno or node.lineno) if node else Span(spot.line, spot.line)
        message = f"{name or 'this'} takes {spot.share:.0%} of the time, in {spot.calls:,} calls"
        return self._finding(spot.path, message, span, name, spot.share)

    def _finding(self, path: str, message: str, span: Span | None, symbol: str, share: float = 1.0) -> Finding:
        goal = f"make it faster, with the same results; {self._wanted.enough:g} times as fast is enough"
        return Finding(
            self.name, "slow", path, message, span, symbol, str(self._watch), goal, Severity.SOFT, round(share, 3)
        )


def _against(found: Measured, target: float, rival: str) -> str:
    """What speaks against a tree measured beside `rival`; nothing when it is surely faster."""
    speed = found.speedup
    if found.slower:
        named = f" in {', '.join(found.slower[:3])}" if found.several else ""
        return f"{speed} compared with {rival}: slower{named}"
    if speed.enough:
        return ""
    if speed.pairs < LOOKS[0]:
        told = f"{speed.pairs} pairs fitted the time and {LOOKS[0]} are needed"
        return f"only {told}: a shorter benchmark, or more seconds"
    return f"{speed} compared with {rival}: not surely above {target:g}×"


def _listed(reading: Reading) -> str:
    more = f" in {len(reading)} benchmarks" if len(reading) > 1 else ""
    return f"{sum(reading.values()):.3g} s{more}"
