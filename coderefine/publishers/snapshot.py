"""What the tree was when the run began: the "compare" of every compare-and-swap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coderefine.core import EMPTY, Patch
from coderefine.errors import PublishError
from coderefine.git import Head, Repository, merge_bytes
from coderefine.git.staged import EMPTY_TREE, hidden
from coderefine.journal import Change, Journal
from coderefine.judge import listed
from coderefine.publishers.disk import current, mode_of, place_of
from coderefine.publishers.graft import Graft, graft


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`originals`: working-tree content of (at least) every patched path when the run began; None was absent.

    `under`: what the tree that was judged holds where the working tree holds something else (None: no file). With
    `under` as git.staged.hidden gives it for HEAD, a patch was proved on HEAD, and only then may it become a commit.
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
        """What `path` held in the tree that was judged."""
        return self.under[path] if path in self.under else self.originals[path]

    def changes(self, patch: Patch) -> tuple[Change, ...]:
        """What `patch` does to the tree that was judged, links followed, no-ops left out. Raises PublishError."""
        changes = (self._change(path, after) for path, after in sorted(patch.files.items()))
        found = tuple(change for change in changes if change.before != change.after)
        if not found:
            raise PublishError("the patch changes no file, so there is nothing to write")
        return found

    def laid(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """What `changes` do to the working tree: where it is dirty, the user's work stays and the patch is merged in.

        Raises PublishError where the two overlap.
        """
        found = (self._laid(change) for change in changes)
        return tuple(change for change in found if change.before != change.after)

    def graft(self, changes: Sequence[Change]) -> Graft:
        """HEAD plus `changes`, which is the very tree that was proved. Raises PublishError when it is another one."""
        self._check_judged()
        return graft(self.repository, self.head.sha, changes)

    def strayed(self) -> tuple[str, ...]:
        """Files in which the tree that was judged differs from HEAD."""
        return tuple(path for path in hidden(self.top, self.head.sha or EMPTY_TREE) if path not in self.under)

    def _check_judged(self) -> None:
        """The views show the files that lie there, so one edited meanwhile was seen by the proof and is not in HEAD."""
        if strayed := self.strayed():
            raise PublishError(
                f"the patch was proved with {listed(strayed)} as it lies there, which is not in HEAD, so nothing was "
                "committed: run again"
            )

    def verify(self, changes: tuple[Change, ...]) -> None:
        """Raises PublishError unless HEAD and every file are what they were."""
        self.check_head()
        for change in changes:
            if current(self.top, change.path) != change.before:
                raise moved(change.path)

    def check_head(self) -> None:
        """Raises PublishError unless HEAD is what it was."""
        if self.repository.head() != self.head:
            raise PublishError(
                "HEAD moved since the run began, so nothing was written: "
                "run again, or take the patch with `--patch FILE`"
            )

    def _change(self, path: str, after: bytes | None) -> Change:
        place = place_of(self.top, path, remove=after is None)
        try:
            before = self.originals[path]
        except KeyError:
            raise PublishError(f"{path} was not part of the snapshot, so it cannot be written safely") from None
        return Change(place, self.under.get(place, before), after, mode_of(self.top, place))

    def _laid(self, change: Change) -> Change:
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
