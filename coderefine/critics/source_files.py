"""The files that critics read: which ones, their lines and symbols, and which are in the requested paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from coderefine.core import Finding, Severity, View
from coderefine.core.views import inside
from coderefine.errors import GitError
from coderefine.project import Place
from coderefine.project.unread import is_excluded
from coderefine.source import owners, rows, syntax, text_of


def weighed(findings: Iterable[Finding], scope: tuple[str, ...]) -> tuple[Finding, ...]:
    """Sort `findings` by path and line. Findings outside `scope` become soft: they are compared, but block nothing."""
    ordered = sorted(findings, key=lambda item: (item.path, item.span.first if item.span else 0))
    return tuple(item if inside(item.path, scope) else replace(item, severity=Severity.SOFT) for item in ordered)


def sources(view: View, place: Place, scope: tuple[str, ...], skip: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield path and text ("" if it cannot be decoded) of each Python file in `scope` for which `skip` is false."""
    for path in python_files(view, place):
        if inside(path, scope) and not skip(path):
            yield path, text_of(view.read(path)) or ""


def python_files(view: View, place: Place) -> list[str]:
    """Return the `.py` files of `view` below the project's root, repo-relative and sorted.

    Virtual environments, builds, caches and files ignored by git are left out.
    """
    unwanted = frozenset[str]()
    if place.git_dir is not None:
        from coderefine.git.changes import ignored

        with suppress(GitError):  # then nothing counts as ignored: better an additional finding than a missing one
            unwanted = ignored(place.root)
    return sorted(path for path in _walk(view, place.prefix, unwanted) if path not in unwanted)


def _walk(view: View, prefix: str, unwanted: frozenset[str]) -> Iterator[str]:
    start = view.host_path / prefix
    for folder, folders, files in os.walk(start):
        parent = PurePosixPath(prefix, os.path.relpath(folder, start))
        wanted = [name for name in folders if not is_excluded(f"{name}/file")]
        wanted = [name for name in wanted if (parent / name).as_posix() not in unwanted]
        # os.path, because Path.exists raises for an unreadable folder, which os.walk skips.
        folders[:] = [name for name in wanted if not os.path.lexists(view.host_path / parent / name / "pyvenv.cfg")]
        yield from ((parent / name).as_posix() for name in files if name.endswith(".py"))


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
