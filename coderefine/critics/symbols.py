"""Lines of source texts, and the qualified name of the function or class that contains a line."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coderefine.source import Definition, owners, syntax, text_of

if TYPE_CHECKING:
    from coderefine.core import View


@dataclass(slots=True)
class Texts:
    """Lines and symbols of the files of `view`, by repo-relative path.

    Each file is read only once. A file that cannot be decoded has no lines and no symbols.
    """

    view: View
    _lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _symbols: dict[str, Mapping[int, str]] = field(default_factory=dict)

    def line(self, path: str, number: int) -> str:
        """Return line `number` (1-based) of `path` without indentation, at most 200 characters; "" if there is none."""
        lines = self._of(path)
        return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""

    def symbol(self, path: str, number: int) -> str:
        """Return the qualified name of the definition at line `number`; "" at module level and in non-Python files."""
        if not path.endswith((".py", ".pyi")):
            return ""
        if path not in self._symbols:
            self._symbols[path] = owners(syntax("\n".join(self._of(path))))
        return self._symbols[path].get(number, "")

    def _of(self, path: str) -> tuple[str, ...]:
        if path not in self._lines:
            text = text_of(self.view.read(path))
            self._lines[path] = () if text is None else tuple(rows(text))
        return self._lines[path]


def rows(text: str) -> list[str]:
    """Split `text` into lines as Python does; `str.splitlines` also splits at other characters."""
    return re.split(r"\r\n|\r|\n", text)


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove the docstrings from `tree`, in place, and return it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree
