"""Rewritings of code with ruff findings that ruff does not fix, or not safely; `registry.py` names them by rule.

A rewriting keeps behaviour as far as it can tell from the text, and refuses where it cannot; the proof is that of
every `Refactoring`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coderefine.core import Situation, View
from coderefine.lint import Diagnostic, Linter, TextEdit, apply
from coderefine.proposers.refactoring import CodeChange
from coderefine.proposers.rewritings import comments
from coderefine.source import Source, decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place
    from coderefine.proposers.rewritings.code import Code

NAME = "rewrite"
TOO_LONG = "E501"


class LintChanges:
    """Finds the changes that clear ruff findings: rewritings, and ruff's unsafe fixes."""

    def __init__(self, place: Place, config: Config, interpreter: Interpreter | None = None) -> None:
        from coderefine.project import Protection

        self._linter = Linter.of(place, interpreter, config)
        self._protection = Protection.of(place, config)

    def __call__(self, view: View, situation: Situation) -> Iterator[CodeChange]:
        """Yield a change for each finding that can be repaired. Raises CriticError if ruff fails.

        Files that are formatted as ruff does it stay so.
        """
        remarks = self._remarks(view, situation)
        files = {path: self._parsed(view, path) for path in dict.fromkeys(remark.path for remark in remarks)}
        for remark in remarks:
            file = files[remark.path]
            if file is not None and (edits := _edits(file, remark)):
                change = CodeChange(remark.path, remark.rule, remark.first, _deed(remark), edits)
                yield self._formatted(view, change, file.source) if file.clean else change
            elif file is not None and not file.clean and (laid_out := self._laid_out(view, remark, file.source)):
                yield laid_out

    def _remarks(self, view: View, situation: Situation) -> list[Diagnostic]:
        """Return the diagnostics in writable files with findings that are to be repaired."""
        found = {finding.path for finding in situation.findings if finding.critic == "ruff"}
        paths = sorted(path for path in found if self._protection.reason(path) is None)
        return self._linter.remarks(view, paths) if paths else []

    def _parsed(self, view: View, path: str) -> _File | None:
        from coderefine.proposers.rewritings.code import Code

        data = view.read(path)
        source = decode(data) if data is not None else None
        code = Code.of(source.text) if source else None
        if data is None or source is None or code is None:
            return None
        return _File(source, code, self._linter.formatted(view, path, data) == data)

    def _formatted(self, view: View, change: CodeChange, source: Source) -> CodeChange:
        """Return `change` with the layout that ruff gives the file with it; the change itself if that differs not."""
        text = apply(source.text, change.edits)
        made = self._linter.formatted(view, change.path, source.encode(text)) if text is not None else None
        after = decode(made) if made else None
        if after is None or after.text == text:
            return change
        return CodeChange.between(change.path, change.rule, change.line, change.what, (source.text, after.text))

    def _laid_out(self, view: View, remark: Diagnostic, source: Source) -> CodeChange | None:
        """Return the change that lays out the statement with a line that is too long, as ruff formats it.

        None if it is another finding, or if a line stays too long.
        """
        if remark.rule != TOO_LONG:
            return None
        data = source.encode(source.text)
        made = self._linter.formatted(view, remark.path, data, (remark.first, remark.last))
        after = decode(made) if made else None
        if after is None or after.text == source.text:
            return None
        change = CodeChange.between(
            remark.path, remark.rule, remark.first, "lay out the statement", (source.text, after.text)
        )
        limit, lines = comments.limit(remark), [line for edit in change.edits for line in edit.content.splitlines()]
        return change if limit and all(len(line) <= limit for line in lines) else None


@dataclass(frozen=True, slots=True)
class _File:
    """A file with findings. `clean`: it is formatted as ruff does it."""

    source: Source
    code: Code
    clean: bool


def _edits(file: _File, remark: Diagnostic) -> tuple[TextEdit, ...] | None:
    """Return the edits of the rewriting for a finding, or of ruff's unsafe fix; None if there are none."""
    from coderefine.proposers.rewritings.code import Unsure
    from coderefine.proposers.rewritings.registry import RULES, WITHOUT_UNSAFE_FIX

    if remark.rule in RULES:
        with contextlib.suppress(Unsure):
            return RULES[remark.rule](file.code, remark)
    fix = remark.fix
    if fix is None or fix.safe or remark.rule in WITHOUT_UNSAFE_FIX:
        return None
    return fix.plain.edits if file.source.newline else fix.edits


def _deed(remark: Diagnostic) -> str:
    text = remark.fix.message if remark.fix and remark.fix.message else remark.message
    return text[:1].lower() + text[1:]
