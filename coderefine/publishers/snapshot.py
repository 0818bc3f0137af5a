"""What the tree was when the run began, to compare with before writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coderefine.core import EMPTY, Patch
from coderefine.errors import PublishError
from coderefine.git import Head, Repository, merge_bytes
from coderefine.git.changes import EMPTY_TREE, hidden
from coderefine.journal import FileChange, Journal
from coderefine.judge import listed
from coderefine.publishers.file_io import current, mode_of, place_of
from coderefine.publishers.graft import Graft, graft


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The tree at the start.

    `originals`: content of (at least) every patched path in the working tree; None was absent. `under`: where the tree
    that was checked differs from the working tree (None: no file). With `under` as git.staged.hidden returns it for
    HEAD, the patch was proved on HEAD; only then may it become a commit.
    """

    journal: Journal
    head: Head
    originals: Mapping[str, bytes | None]
    under: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)

    @property
    def repository(self) -> Repository:
        return self.journal.repository

    @property
    def top(self) -> Path:
        return self.journal.repository.top

    def judged(self, path: str) -> bytes | None:
        """Return what `path` held in the tree that was checked."""
        return self.under[path] if path in self.under else self.originals[path]

    def changes(self, patch: Patch) -> tuple[FileChange, ...]:
        """Return what `patch` changes in the tree that was checked, with links resolved and no-ops left out.

        Raises PublishError.
        """
        changes = (self._change(path, after) for path, after in sorted(patch.files.items()))
        found = tuple(change for change in changes if change.before != change.after)
        if not found:
            raise PublishError("the patch changes no file, so there is nothing to write")
        return found

    def laid(self, changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
        """Return what `changes` do to the working tree: uncommitted work stays and the patch is merged into it.

        Raises PublishError where the two overlap.
        """
        found = (self._laid(change) for change in changes)
        return tuple(change for change in found if change.before != change.after)

    def graft(self, changes: Sequence[FileChange]) -> Graft:
        """Return HEAD plus `changes`.

        Raises PublishError when that is not the tree that was proved.
        """
        self._check_judged()
        return graft(self.repository, self.head.sha, changes)

    def strayed(self) -> tuple[str, ...]:
        """Name the files in which the tree that was checked differs from HEAD."""
        return tuple(path for path in hidden(self.top, self.head.sha or EMPTY_TREE) if path not in self.under)

    def _check_judged(self) -> None:
        """Raise PublishError for a file that was edited during the run: the proof saw content that is not in HEAD."""
        if strayed := self.strayed():
            raise PublishError(
                f"the patch was proved with {listed(strayed)} as it lies there, which is not in HEAD, so nothing was "
                "committed: run again"
            )

    def verify(self, changes: tuple[FileChange, ...]) -> None:
        """Raise PublishError unless HEAD and every file are unchanged."""
        self.check_head()
        for change in changes:
            if current(self.top, change.path) != change.before:
                raise moved(change.path)

    def check_head(self) -> None:
        """Raise PublishError unless HEAD is unchanged."""
        if self.repository.head() != self.head:
            raise PublishError(
                "HEAD moved since the run began, so nothing was written: "
                "run again, or take the patch with `--patch FILE`"
            )

    def _change(self, path: str, after: bytes | None) -> FileChange:
        place = place_of(self.top, path, remove=after is None)
        try:
            before = self.originals[path]
        except KeyError:
            raise PublishError(f"{path} was not part of the snapshot, so it cannot be written safely") from None
        return FileChange(place, self.under.get(place, before), after, mode_of(self.top, place))

    def _laid(self, change: FileChange) -> FileChange:
        mine, base, theirs = self.originals[change.path], change.before, change.after
        if mine in (base, theirs):
            return replace(change, before=mine)
        both = mine is not None and base is not None and theirs is not None
        merged = merge_bytes(self.repository, mine, base, theirs) if both else None  # type: ignore[arg-type]
        if merged is None:
            raise PublishError(
                f"{change.path} has uncommitted work that overlaps the patch, so it cannot be committed alone: commit "
                "or stash it and run again, or write to the tree (no --commit), or onto a branch (--branch NAME)"
            )
        return replace(change, before=mine, after=merged)


def moved(path: str) -> PublishError:
    return PublishError(
        f"{path} changed since the run began, so nothing was written: run again, or take the patch with `--patch FILE`"
    )
