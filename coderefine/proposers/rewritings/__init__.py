"""Rewritings of code with ruff findings that ruff does not fix, or not safely; `registry.py` names them by rule.

A rewriting keeps behaviour as far as it can tell from the text, and refuses where it cannot; the proof is that of
every `Refactoring`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from coderefine.core import Situation, View
from coderefine.lint import Diagnostic, Linter, TextEdit
from coderefine.proposers.refactoring import CodeChange
from coderefine.source import Source, decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place
    from coderefine.proposers.rewritings.code import Code

NAME = "rewrite"


class LintChanges:
    """Finds the changes that clear ruff findings: rewritings, and ruff's unsafe fixes."""

    def __init__(self, place: Place, config: Config, interpreter: Interpreter | None = None) -> None:
        from coderefine.project import Protection

        self._linter = Linter.of(place, interpreter, config)
        self._protection = Protection.of(place, config)

    def __call__(self, view: View, situation: Situation) -> Iterator[CodeChange]:
        """Yield a change for each finding that can be repaired. Raises CriticError if ruff fails."""
        found = {finding.path for finding in situation.findings if finding.critic == "ruff"}
        paths = sorted(path for path in found if self._protection.reason(path) is None)
        files: dict[str, tuple[Source, Code] | None] = {}
        for remark in self._linter.remarks(view, paths) if paths else ():
            if remark.path not in files:
                files[remark.path] = _parsed(view.read(remark.path))
            file = files[remark.path]
            if file is not None and (edits := _edits(*file, remark)):
                yield CodeChange(remark.path, remark.rule, remark.first, _deed(remark), edits)


def _parsed(data: bytes | None) -> tuple[Source, Code] | None:
    from coderefine.proposers.rewritings.code import Code

    source = decode(data) if data is not None else None
    code = Code.of(source.text) if source else None
    return (source, code) if source and code else None


def _edits(source: Source, code: Code, remark: Diagnostic) -> tuple[TextEdit, ...] | None:
    """Return the edits of the rewriting for a finding, or of ruff's unsafe fix; None if there are none."""
    from coderefine.proposers.rewritings.code import Unsure
    from coderefine.proposers.rewritings.registry import RULES, WITHOUT_UNSAFE_FIX

    if remark.rule in RULES:
        with contextlib.suppress(Unsure):
            return RULES[remark.rule](code, remark)
    fix = remark.fix
    if fix is None or fix.safe or remark.rule in WITHOUT_UNSAFE_FIX:
        return None
    return fix.plain.edits if source.newline else fix.edits


def _deed(remark: Diagnostic) -> str:
    text = remark.fix.message if remark.fix and remark.fix.message else remark.message
    return text[:1].lower() + text[1:]
