"""Change a few entries of the user's git index while holding its lock."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.errors import GitError, PublishError
from coderefine.git import Repository, Scratch, copy_index, entries_of
from coderefine.journal import IndexChange, storage
from coderefine.publishers.snapshot import Item


@dataclass(frozen=True, slots=True)
class UserIndex:
    """The user's index. `seen`: its SHA-256 when it was first read."""

    repository: Repository
    seen: str = ""

    @classmethod
    def read(cls, repository: Repository) -> UserIndex:
        """Return the index as it is now."""
        return cls(repository, digest(cls(repository).path))

    @property
    def path(self) -> Path:
        return self.repository.git_dir / "index"

    @property
    def lock(self) -> Path:
        return self.repository.git_dir / "index.lock"

    @property
    def ready(self) -> Path:
        """Return the path at which the next index is written before it becomes index.lock."""
        return self.repository.git_dir / "coderefine" / "index"

    def entries(self, paths: Mapping[str, object]) -> dict[str, Item]:
        """Return the entries of `paths` in the user's index.

        Raises PublishError for a path in conflict.
        """
        if not paths:
            return {}
        literal = {"GIT_LITERAL_PATHSPECS": "1"}
        if unmerged := self.repository.git("ls-files", "-u", "-z", "--", *paths, env=literal):
            path = os.fsdecode(unmerged.split(b"\0")[0].partition(b"\t")[2])
            raise PublishError(f"{path} has an unresolved merge conflict: resolve it first")
        found = entries_of(self.repository.git("ls-files", "-s", "-z", "--", *paths, env=literal))
        return {path: found.get(path) for path in paths}

    def compose(self, staged: tuple[IndexChange, ...]) -> str:
        """Write to the file `ready` a copy of the index with the changes `staged`; return its SHA-256."""
        storage.make_folder(self.ready.parent)
        self.ready.unlink(missing_ok=True)
        copy_index(self.path, self.ready)
        made = Scratch(self.repository, self.ready, self.repository.top)
        if not self.ready.exists():
            made.empty()
        made.place({item.path: parsed(item.after) for item in staged})
        return digest(self.ready)

    def acquire(self) -> None:
        """Create index.lock as a hard link to `ready`: in one step, and only if it does not exist.

        Raises PublishError when another process holds the lock, or changed the index since we read it.
        """
        try:
            os.link(self.ready, self.lock)
        except FileExistsError:
            raise PublishError(
                f"another git process holds the index, so nothing was written: wait for it, "
                f"or remove {self.lock} if none is running"
            ) from None
        except OSError as error:
            raise PublishError(f"{self.lock} cannot be made: {error.strerror}") from error
        if digest(self.path) != self.seen:
            raise PublishError("the index was changed by another git command this very moment: run again")

    def own(self, tree: str) -> Path:
        """Write an index of `tree` for `git commit`, and return its path, at which `recover` looks for it."""
        self._drop_own()
        storage.make_folder(self._own.parent)
        copy_index(self.path, self._own)  # it contains the times of the files, so that git need not read them again
        Scratch(self.repository, self._own, self.repository.top).read_tree(tree)
        return self._own

    def own_tree(self) -> str | None:
        """Return the tree of the index that `git commit` used, including changes that hooks have staged.

        None if this index does not exist, or if git cannot write its tree.
        """
        if not self._own.exists():
            return None
        result = self.repository.run("write-tree", env={"GIT_INDEX_FILE": str(self._own)})
        return result.text.strip() if result.returncode == 0 else None

    @property
    def _own(self) -> Path:
        return self.repository.git_dir / "coderefine" / "commit-index"

    def _drop_own(self) -> None:
        for path in (self._own, self._own.with_name("commit-index.lock")):
            path.unlink(missing_ok=True)

    def replace_lock(self) -> None:
        """Replace index.lock, which we hold, by a newer prepared index."""
        self.ready.replace(self.lock)

    def commit(self) -> None:
        """Rename index.lock to index.

        The index that `git commit` used is kept until `tidy`. If we are killed before the journal records
        that the commit was published, `recover` recognises the commit by that index.
        """
        try:
            self.lock.replace(self.path)
        except OSError as error:
            raise PublishError(f"the index cannot be written: {error.strerror}; nothing was changed") from error
        # From here on, nothing may fail: the caller would take back the commit, and the index would stay.
        with contextlib.suppress(OSError):
            self.ready.unlink(missing_ok=True)
        with contextlib.suppress(GitError):  # only for speed: git reads the files again otherwise
            self.repository.run("update-index", "-q", "--refresh")

    def release(self, sha256: str | None) -> None:
        """Remove the indices that we prepared, and index.lock if its content has this SHA-256."""
        if sha256 and digest(self.lock) == sha256:
            self.lock.unlink()
        self.tidy()

    def is_ready(self, sha256: str | None) -> bool:
        """Return whether the file `ready` exists and has this SHA-256."""
        return bool(sha256) and digest(self.ready) == sha256

    def holds(self, sha256: str | None) -> bool:
        """Return whether index.lock is ours.

        `sha256`: digest of the index that was announced last. This index is the content of index.lock or, if it has not
        replaced index.lock yet, of `ready`.
        """
        return self.lock.exists() and (self.is_ready(sha256) or digest(self.lock) == sha256)

    def tidy(self) -> None:
        self._drop_own()
        self.ready.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; "" when there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def shown(item: Item) -> str | None:
    """Return mode and blob as text, as the journal stores them; None for no entry."""
    return f"{item[0]:o} {item[1]}" if item else None


def parsed(text: str | None) -> Item:
    if text is None:
        return None
    mode, blob = text.split(" ")
    return int(mode, 8), blob
