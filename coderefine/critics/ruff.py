"""The ruff gate: lint findings with the line, its enclosing definition and ruff's own advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Finding, Listen, Span, View
from coderefine.core.plurals import listed
from coderefine.critics.source_files import Texts, weighed
from coderefine.lint import Diagnostic, Linter
from coderefine.project import Interpreter, Place
from coderefine.source import decode

NOTEBOOK = ".ipynb"
UNREADABLE = "E902"
"""The rule of files that ruff cannot read."""


class Ruff:
    """Runs ruff over the project, or only over changed files; if the project's environment has a ruff, runs that."""

    name = "ruff"
    gate = True

    def __init__(self, place: Place, interpreter: Interpreter, config: Config, listen: Listen) -> None:
        self._linter = Linter.of(place, interpreter, config)
        self._listen = listen

    def check(self, view: View, ask: Ask) -> Check:
        """Run ruff. Raises CriticError if it fails: broken configuration, unknown rule, crash, timeout."""
        self._listen(Event("critic", self.name))
        paths = None
        if ask.changed is not None:  # without deleted files, which ruff reports as input errors
            paths = [path for path in ask.changed if path.endswith((".py", ".pyi")) and view.read(path) is not None]
        texts = Texts(view)
        remarks = self._linter.remarks(view, paths, timeout=ask.timeout)
        encoded = _encoded(view, remarks)
        judged = [one for one in remarks if not one.path.endswith(NOTEBOOK) and one.path not in encoded]
        findings = weighed((_finding(one, texts) for one in judged), ask.scope)
        return Check(
            self.name,
            findings,
            complete=ask.changed is None,
            tool=f"ruff {self._linter.version}".strip(),
            notes=tuple(_notes(sorted({one.path for one in remarks}), encoded)),
        )


def _encoded(view: View, remarks: Sequence[Diagnostic]) -> list[str]:
    """Return the files that Python can read, but not ruff, because of their encoding."""
    return [one.path for one in remarks if one.rule == UNREADABLE and decode(view.read(one.path))]


def _notes(paths: Sequence[str], encoded: Sequence[str]) -> Iterator[str]:
    """Yield a note about each kind of files in `paths` that are not judged, or not repaired; `encoded`: see above."""
    if encoded:
        yield f"ruff reads only UTF-8, so these files are not judged: {listed(encoded)}"
    if notebooks := [path for path in paths if path.endswith(NOTEBOOK)]:
        yield f"notebooks are not judged: {listed(notebooks)}"
    if unreadable := [path for path in paths if "\ufffd" in path]:
        yield f"ruff's fixes do not reach names that are not UTF-8: {listed(unreadable)}"


def _finding(remark: Diagnostic, texts: Texts) -> Finding:
    return Finding(
        critic=Ruff.name,
        rule=remark.rule,
        path=remark.path,
        message=remark.message,
        span=Span(remark.first, remark.last),
        symbol=texts.symbol(remark.path, remark.first),
        evidence=texts.line(remark.path, remark.first),
        instruction=remark.fix.message if remark.fix else "",
    )
