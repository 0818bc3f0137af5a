"""The sources of one view, each read, decoded and parsed at most once per check."""

from __future__ import annotations

from dataclasses import dataclass, field

from coderefine.core import View
from coderefine.critics.symbols import Symbols, rows
from coderefine.source import decode


@dataclass(slots=True)
class Texts:
    """Lines and symbols of the files of `view`, by repo-relative path; a file that is no text has neither."""

    view: View
    _lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _symbols: dict[str, Symbols] = field(default_factory=dict)

    def line(self, path: str, number: int) -> str:
        """Line `number` (1-based) of `path` without its indentation, at most 200 characters; "" if there is none."""
        lines = self._of(path)
        return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""

    def symbol(self, path: str, number: int) -> str:
        """The qualified name of the definition around line `number`; "" at module level or outside Python."""
        if not path.endswith((".py", ".pyi")):
            return ""
        if path not in self._symbols:
            self._symbols[path] = Symbols.of("\n".join(self._of(path)))
        return self._symbols[path].at(number)

    def _of(self, path: str) -> tuple[str, ...]:
        if path not in self._lines:
            data = self.view.read(path)
            source = decode(data) if data is not None else None
            self._lines[path] = tuple(rows(source.text)) if source else ()
        return self._lines[path]
