"""The radon gate: cyclomatic complexity per function (rule CC), maintainability index per file (rule MI)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Finding, Listen, Severity, Span, View
from coderefine.critics.complexity import FileComplexity, measure
from coderefine.critics.source_files import python_files, weighed
from coderefine.project import Interpreter, Place, Protection
from coderefine.project.unread import is_excluded
from coderefine.source import text_of

SPLIT = "move one decision into a function of its own, or replace nested conditions by early returns or a table"
SHORTEN = "move a part of the file into a module of its own, or shorten its longest functions"


class Radon:
    """Measures every Python file of the project; the result for a text is stored and used again."""

    name = "radon"
    gate = True

    def __init__(self, place: Place, _interpreter: Interpreter, config: Config, listen: Listen) -> None:
        self._place = place
        self._protection = Protection.of(place, config)
        self._limit = config.max_complexity
        self._floor = config.min_maintainability
        self._listen = listen
        self._known: dict[bytes, FileComplexity] = {}

    def check(self, view: View, ask: Ask) -> Check:
        """Return the findings. In tests they are soft, because tests are protected and cannot be split.

        A file that cannot be parsed has no findings.
        """
        from radon import __version__

        self._listen(Event("critic", self.name))
        if ask.changed is None:
            paths = python_files(view, self._place)
        else:
            paths = sorted(path for path in ask.changed if path.endswith(".py") and not is_excluded(path))
        findings = weighed((finding for path in paths for finding in self._findings(view, path)), ask.scope)
        return Check(self.name, findings, complete=ask.changed is None, tool=f"radon {__version__}")

    def _findings(self, view: View, path: str) -> Iterator[Finding]:
        data = view.read(path)
        if data is None:
            return
        severity = Severity.SOFT if self._protection.is_test(path) else Severity.HARD
        if data not in self._known:
            text = text_of(data)
            self._known[data] = FileComplexity() if text is None else measure(text, self._limit, self._floor)
        measured = self._known[data]
        for one in measured.functions:
            message = f"{one.symbol} has complexity {one.value} (limit {self._limit})"
            found = Finding(self.name, "CC", path, message, Span(one.first, one.last), one.symbol, instruction=SPLIT)
            yield replace(found, severity=severity, weight=float(one.value))
        if measured.index is not None:
            message = f"maintainability index {measured.index:.1f} (at least {self._floor:g})"
            found = Finding(self.name, "MI", path, message, instruction=SHORTEN)
            yield replace(found, severity=severity, weight=round(100 - measured.index, 1))
