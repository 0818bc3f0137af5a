"""The radon gate: cyclomatic complexity per function (rule CC), maintainability index per file (rule MI)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from coderefine.core import Ask, Check, Event, Finding, Listen, Severity, Span, View
from coderefine.critics.complexity import Complex, Measured, measure
from coderefine.critics.files import foreign, python_files
from coderefine.critics.scope import weighed
from coderefine.source import decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place

SPLIT = "move one decision into a function of its own, or replace nested conditions by early returns or a table"
SHORTEN = "move a part of the file into a module of its own, or shorten its longest functions"


class Radon:
    """Measures every Python file of the project; a text measured before costs nothing."""

    name = "radon"
    gate = True

    def __init__(self, place: Place, _interpreter: Interpreter, config: Config, listen: Listen) -> None:
        from coderefine.project import Protection

        self._place = place
        self._protection = Protection.of(place, config)
        self._limit = config.max_complexity
        self._floor = config.min_maintainability
        self._listen = listen
        self._known: dict[bytes, Measured] = {}

    def check(self, view: View, ask: Ask) -> Check:
        """Findings in tests are soft: tests are protected, so nobody may split them. Never raises for a source."""
        from radon import __version__

        began = time.monotonic()
        self._listen(Event("critic", self.name))
        findings = weighed(self._examine(view, ask), ask.scope)
        return Check(
            self.name,
            findings,
            seconds=time.monotonic() - began,
            complete=ask.changed is None,
            tool=f"radon {__version__}",
        )

    def _examine(self, view: View, ask: Ask) -> Iterator[Finding]:
        for path in self._paths(view, ask):
            data = view.read(path)
            if data is None:
                continue
            soft = self._protection.is_test(path)
            for finding in self._findings(path, self._measured(data)):
                yield replace(finding, severity=Severity.SOFT) if soft else finding

    def _paths(self, view: View, ask: Ask) -> list[str]:
        if ask.changed is None:
            return python_files(view, self._place)
        return sorted(path for path in ask.changed if path.endswith(".py") and not foreign(path))

    def _measured(self, data: bytes) -> Measured:
        key = hashlib.blake2b(data, digest_size=16).digest()
        if key not in self._known:
            source = decode(data)
            self._known[key] = measure(source.text, self._limit, self._floor) if source else Measured()
        return self._known[key]

    def _findings(self, path: str, measured: Measured) -> Iterator[Finding]:
        yield from (self._complex(path, function) for function in measured.functions)
        if measured.index is not None:
            yield Finding(
                critic=self.name,
                rule="MI",
                path=path,
                message=f"maintainability index {measured.index:.1f} (at least {self._floor:g})",
                instruction=SHORTEN,
                weight=round(100 - measured.index, 1),
            )

    def _complex(self, path: str, function: Complex) -> Finding:
        return Finding(
            critic=self.name,
            rule="CC",
            path=path,
            message=f"{function.symbol} has complexity {function.value} (limit {self._limit})",
            span=Span(function.first, function.last),
            symbol=function.symbol,
            instruction=SPLIT,
            weight=float(function.value),
        )
