"""Which lines of the project each test executes in a cold run."""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Optional, Set

from . import followed_programs, test_coverage
from .failure_details import ProjectPaths

Lines = Dict[str, List[int]]
"""Repo-relative path to the executed lines, ascending."""


class Recorder:
    """Collects lines between `begin` and `end`; what comes before the first `begin` is import time.

    `only`: repo-relative paths of the files of interest; all files of the project when it is empty.
    `chosen`: ids of the tests that are watched (None: all). On Python 3.12+ watching costs next to nothing, so there
    all tests are watched. `folder`: where Python programs that tests start leave what they executed; "" when they are
    not followed.
    """

    def __init__(
        self, paths: ProjectPaths, only: FrozenSet[str], chosen: Optional[FrozenSet[str]], folder: str
    ) -> None:
        self._paths = paths
        self._only = only
        self._chosen = chosen
        self._folder = folder
        self._ours: Dict[str, bool] = {}
        self.followed = False
        """Whether a program that the last test started left what it executed."""
        self._watch = test_coverage.open_watch(self.ours, lines=True, entries=False)
        if folder:
            followed_programs.prepare(folder, paths.top)

    def begin(self, test: str) -> bool:
        """A test starts: what was recorded before is not its own. False when it is not watched."""
        if self._chosen is not None and test not in self._chosen and isinstance(self._watch, test_coverage.Tracer):
            self._watch.pause()
            return False
        self._watch.begin()
        return True

    def end(self) -> Lines:
        """The lines since `begin`."""
        rows = [row for row in followed_programs.collect(self._folder) if self.ours(row[0])] if self._folder else []
        self.followed = bool(rows)
        self._watch.add(rows)
        hits, _ = self._watch.end()
        self._watch.begin()
        found: Dict[str, Set[int]] = {}
        for (path, _, _), line in hits:
            found.setdefault(self._paths.relative(path), set()).add(line)
        return {path: sorted(lines) for path, lines in found.items()}

    def pause(self) -> None:
        """Watch no more: what plug-ins do at the end of a run would be slowed down."""
        self._watch.pause()

    def ours(self, path: str) -> bool:
        known = self._ours.get(path)
        if known is None:
            wanted = not self._only or self._paths.relative(path) in self._only
            known = self._ours[path] = wanted and self._paths.ours(path)
        return known
