"""Files as a commit has them, read through GitPython: one `cat-file --batch` process for any number of files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coderefine.errors import GitError
from coderefine.git.repository import Repository

if TYPE_CHECKING:
    import git


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree: its mode (0o100644, 0o100755, 0o120000 link), blob id and content as committed."""

    mode: int
    blob: str
    data: bytes


def read_files(repository: Repository, commit: str, paths: Iterable[str]) -> dict[str, Entry | None]:
    """`paths` as `commit` has them; None for a path it lacks, or that is a folder or submodule there.

    Raises GitError when the object is missing or damaged.
    """
    wanted = tuple(paths)
    with _opened(repository, commit) as repo:
        tree = repo.commit(commit).tree
        return {path: _entry(tree, path) for path in wanted}


def read_blobs(repository: Repository, blobs: Iterable[str]) -> tuple[bytes, ...]:
    """The contents of `blobs` (ids), in order. Raises GitError when one is missing or damaged."""
    wanted = tuple(blobs)
    with _opened(repository, "blob") as repo:
        return tuple(repo.odb.stream(bytes.fromhex(blob)).read() for blob in wanted)


@contextlib.contextmanager
def _opened(repository: Repository, what: str) -> Iterator[git.Repo]:
    import git  # 70 ms that `--version` and `check` must not pay
    from git.exc import GitCommandError, ODBError

    try:
        with git.Repo(repository.top) as repo:
            repo.git.update_environment(**_pinned(repository))
            yield repo
    except (GitCommandError, ODBError, ValueError) as error:
        raise GitError(f"git: {what} cannot be read: {error}") from error


def _entry(tree: git.Tree, path: str) -> Entry | None:
    try:
        found = tree.join(path)
    except KeyError:
        return None
    is_file = found.type == "blob"
    return Entry(found.mode, found.hexsha, found.data_stream.read()) if is_file else None


def _pinned(repository: Repository) -> dict[str, str]:
    """Overrides what a hook's environment may say: GitPython passes ours on, and cannot unset a variable."""
    return {
        "GIT_DIR": str(repository.git_dir),
        "GIT_WORK_TREE": str(repository.top),
        "GIT_INDEX_FILE": str(repository.git_dir / "index"),
        "GIT_COMMON_DIR": str(repository.common_dir),
        "GIT_OBJECT_DIRECTORY": str(repository.common_dir / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    }
