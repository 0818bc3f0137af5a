"""The state of the tree when the run began; a patch is published only if the tree is still in this state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from coderefine.core import EMPTY, Patch
from coderefine.core.plurals import listed
from coderefine.errors import PublishError
from coderefine.git import EXECUTABLE, Head, Repository, Scratch, merge, merge_bytes, scratch
from coderefine.git.changes import EMPTY_TREE, hidden
from coderefine.journal import FileChange, Journal
from coderefine.publishers.file_io import current, mode_of, place_of

Item = tuple[int, str] | None
"""(mode, blob id) of an index entry; None for no entry."""
GITLINK = 0o160000
PROGRAM = 0o755
"""Mode of a new file that is executable."""


@dataclass(frozen=True, slots=True)
class PatchedHead:
    """The entries (mode and blob) of the patched paths, as git stores them, in four versions.

    `head`: in HEAD. `base`: in the tree that was checked. `theirs`: in the tree that was checked, with the patch.
    `result`: in HEAD with the patch. `tree`: the tree object of HEAD with `result`.
    """

    head: Mapping[str, Item]
    base: Mapping[str, Item]
    theirs: Mapping[str, Item]
    result: Mapping[str, Item]
    tree: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The tree when the run began.

    `originals`: content of (at least) every patched path in the working tree; None: no file. `under`: files whose
    content in the tree that was checked differs from the working tree (None: no file). If `under` equals the
    result of git.changes.hidden for HEAD, the patch was proved on HEAD; only then may it become a commit.
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
        """Return the content of `path` in the tree that was checked."""
        return self.under[path] if path in self.under else self.originals[path]

    def changes(self, patch: Patch) -> tuple[FileChange, ...]:
        """Return the changes of `patch` to the tree that was checked, with links resolved, without unchanged files.

        Raises PublishError.
        """
        found = []
        for path, after in sorted(patch.files.items()):
            place = place_of(self.top, path, remove=after is None)
            if path not in self.originals:
                raise PublishError(f"{path} was not part of the snapshot, so it cannot be written safely")
            before = self.under.get(place, self.originals[path])
            if before != after:
                new = PROGRAM if before is None and path in patch.programs else None
                found.append(FileChange(place, before, after, mode_of(self.top, place) or new))
        if not found:
            raise PublishError("the patch changes no file, so there is nothing to write")
        return tuple(found)

    def merged_changes(self, changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
        """Return `changes` for the working tree: the patch is merged with the uncommitted work.

        Raises PublishError if the two overlap.
        """
        found = []
        for change in changes:
            mine, base, theirs = self.originals[change.path], change.before, change.after
            if mine in (base, theirs):
                after = theirs
            else:
                after = None if None in (mine, base, theirs) else merge_bytes(self.repository, mine, base, theirs)  # type: ignore[arg-type]
                if after is None:
                    raise PublishError(
                        f"{change.path} has uncommitted work that overlaps the patch, so it cannot be committed alone: "
                        "commit or stash it and run again, or write to the tree (no --commit), "
                        "or onto a branch (--branch NAME)"
                    )
            if mine != after:
                found.append(replace(change, before=mine, after=after))
        return tuple(found)

    def patched_head(self, changes: Sequence[FileChange]) -> PatchedHead:
        """Return HEAD plus `changes`, as git would store it (line ends, filters, modes).

        Raises PublishError if a file was edited during the run, because the result would not be the tree that was
        proved; if uncommitted work in a patched file overlaps the patch; if a patched file is in a submodule; or if the
        result is HEAD.
        """
        if edited := self.uncommitted():
            raise PublishError(
                f"the patch was proved with {listed(edited)} as it is in the working tree, which is not in HEAD, so "
                "nothing was committed: run again"
            )
        before = {change.path: change.before for change in changes}
        after = {change.path: change.after for change in changes}
        start = self.repository.tree(self.head.sha)
        with scratch(self.repository, start) as made:
            _check_submodules(made, after)
            ours = _items(made, after)
            made.lay(before)
            base = _items(made, after)
            made.lay(after, programs(changes))
            theirs = _items(made, after)
            result = {path: merged(self.repository, path, ours[path], base[path], theirs[path]) for path in after}
            if result == ours:
                raise PublishError(
                    f"git stores nothing of the patch of {listed(tuple(after))} (as with line ends that it converts), "
                    "so there is nothing to commit: run again with no --commit, --branch or --patch"
                )
            made.read_tree(start)
            made.place(result)
            return PatchedHead(ours, base, theirs, result, made.write())

    def uncommitted(self) -> tuple[str, ...]:
        """Return the files in which the tree that was checked differs from HEAD."""
        return tuple(path for path in hidden(self.top, self.head.sha or EMPTY_TREE) if path not in self.under)

    def is_on_head(self, commit: str, tree: str) -> bool:
        """Return whether `commit` has the tree object `tree`, and the HEAD of this snapshot as its parent."""
        return self.repository.tree(commit) == tree and self.repository.resolve(f"{commit}^") == self.head.sha

    def verify(self, changes: tuple[FileChange, ...]) -> None:
        """Raise PublishError unless HEAD and every file of `changes` are as they were when the run began."""
        self.check_head()
        for change in changes:
            if current(self.top, change.path) != change.before:
                raise PublishError(
                    f"{change.path} changed since the run began, so nothing was written: "
                    "run again, or take the patch with `--patch FILE`"
                )

    def check_head(self) -> None:
        """Raise PublishError unless HEAD is unchanged."""
        if self.repository.head() != self.head:
            raise PublishError(
                "HEAD moved since the run began, so nothing was written: "
                "run again, or take the patch with `--patch FILE`"
            )


def programs(changes: Iterable[FileChange]) -> dict[str, int]:
    """Return the modes, as git stores them, of the new files that are executable."""
    return {change.path: EXECUTABLE for change in changes if change.before is None and change.mode == PROGRAM}


def merged(repository: Repository, path: str, ours: Item, base: Item, theirs: Item) -> Item:
    """Return `ours` with the change from `base` to `theirs`.

    Raises PublishError if this change overlaps the change from `base` to `ours`.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    blob = merge(repository, ours[1], base[1], theirs[1]) if ours and base and theirs else None
    if blob is None or ours is None:
        raise PublishError(
            f"{path} has uncommitted work that the patch builds on, so it cannot be committed alone: "
            "commit or stash it and run again, or write to the tree (no --commit), or take `--patch FILE`"
        )
    return (ours[0], blob)


def _items(made: Scratch, paths: Mapping[str, bytes | None]) -> dict[str, Item]:
    found = made.entries(paths)
    return {path: found.get(path) for path in paths}


def _check_submodules(made: Scratch, paths: Mapping[str, bytes | None]) -> None:
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents if str(parent) != "."}
    for path, (mode, _) in made.entries(parents).items():
        if mode == GITLINK:
            raise PublishError(f"the patch is in the submodule {path}: run coderefine there to commit it")
