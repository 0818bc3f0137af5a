"""What the tree was when the run began: the "compare" of every compare-and-swap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Patch
from coderefine.errors import PublishError
from coderefine.git import Head, Repository
from coderefine.journal import Change, Journal
from coderefine.publishers.disk import current, mode_of, place_of


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`originals`: working-tree content of (at least) every patched path when the run began; None was absent."""

    journal: Journal
    head: Head
    originals: Mapping[str, bytes | None]

    @property
    def repository(self) -> Repository:
        return self.journal.repository

    @property
    def top(self) -> Path:
        return self.journal.repository.top

    def changes(self, patch: Patch) -> tuple[Change, ...]:
        """What `patch` does to the working tree, links followed, no-ops left out. Raises PublishError."""
        changes = (self._change(path, after) for path, after in sorted(patch.files.items()))
        found = tuple(change for change in changes if change.before != change.after)
        if not found:
            raise PublishError("the patch changes no file, so there is nothing to write")
        return found

    def verify(self, changes: tuple[Change, ...]) -> None:
        """Raises PublishError unless HEAD and every file are what they were."""
        if self.repository.head() != self.head:
            raise PublishError(
                "HEAD moved since the run began, so nothing was written: "
                "run again, or take the patch with `--patch FILE`"
            )
        for change in changes:
            if current(self.top, change.path) != change.before:
                raise moved(change.path)

    def _change(self, path: str, after: bytes | None) -> Change:
        place = place_of(self.top, path, remove=after is None)
        try:
            before = self.originals[path]
        except KeyError:
            raise PublishError(f"{path} was not part of the snapshot, so it cannot be written safely") from None
        return Change(place, before, after, mode_of(self.top, place))


def moved(path: str) -> PublishError:
    return PublishError(
        f"{path} changed since the run began, so nothing was written: run again, or take the patch with `--patch FILE`"
    )
