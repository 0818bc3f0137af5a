"""Read files of a commit through GitPython (one `cat-file --batch` process for all), and merge them three-way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from coderefine import temporary
from coderefine.errors import GitError
from coderefine.git.repository import Repository


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file of a tree: its mode (0o100644, 0o100755, 0o120000 link) and content as committed."""

    mode: int
    data: bytes


def read_files(repository: Repository, commit: str, paths: Iterable[str]) -> dict[str, TreeFile | None]:
    """Return `paths` as they are in `commit`; None for a path that is absent, a folder or a submodule there.

    Raises GitError when the commit or an object is missing or damaged.
    """
    wanted = tuple(paths)
    listing = repository.git("ls-tree", "-z", commit, "--", *wanted, env={"GIT_LITERAL_PATHSPECS": "1"})
    found: dict[str, tuple[int, str]] = {}
    for line in listing.split(b"\0"):
        head, _, path = line.partition(b"\t")
        mode, kind, blob = head.decode().split(" ") if path else ("", "", "")
        if kind == "blob":
            found[os.fsdecode(path)] = (int(mode, 8), blob)
    data = dict(zip(found, read_blobs(repository, (blob for _, blob in found.values())), strict=True))
    return {path: TreeFile(found[path][0], data[path]) if path in found else None for path in wanted}


def read_blobs(repository: Repository, blobs: Iterable[str]) -> tuple[bytes, ...]:
    """Return the contents of `blobs` (ids), in order. Raises GitError if an object is missing or damaged."""
    import git  # 70 ms that `--version` and `check` must not pay
    from git.db import GitCmdObjectDB
    from git.exc import GitCommandError, ODBError

    program = git.Git(str(repository.top))
    objects = str(repository.common_dir / "objects")
    # GitPython passes our environment on, in which a hook may have set git's variables, and cannot unset a variable.
    # `git.Repo` is not used, because it uses GIT_OBJECT_DIRECTORY and GIT_COMMON_DIR of this environment.
    program.update_environment(
        GIT_DIR=str(repository.git_dir),
        GIT_WORK_TREE=str(repository.top),
        GIT_INDEX_FILE=str(repository.git_dir / "index"),
        GIT_COMMON_DIR=str(repository.common_dir),
        GIT_OBJECT_DIRECTORY=objects,
        GIT_ALTERNATE_OBJECT_DIRECTORIES="",
    )
    store = GitCmdObjectDB(objects, program)
    try:
        return tuple(store.stream(bytes.fromhex(blob)).read() for blob in blobs)
    except (GitCommandError, ODBError, ValueError) as error:
        raise GitError(f"git: an object of {repository.top} cannot be read: {error}") from error
    finally:
        program.clear_cache()


def merge(repository: Repository, ours: str, base: str, theirs: str) -> str | None:
    """Return the blob of `ours` with the change from `base` to `theirs`; None if the changes overlap or are binary."""
    data = merge_bytes(repository, *read_blobs(repository, (ours, base, theirs)))
    return None if data is None else repository.git("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def merge_bytes(repository: Repository, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Return `ours` with the change from `base` to `theirs`; None if the changes overlap or are binary.

    If all lines of `ours` end alike, and not all lines of `base` end so, the result has the line ends of `ours`.
    """
    end = _line_end(ours)
    if end and end != _line_end(base):
        base, theirs = (end.join(data.replace(b"\r\n", b"\n").split(b"\n")) for data in (base, theirs))
    with temporary.folder("merge") as folder:
        paths = [folder / part for part in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        result = repository.run("merge-file", "-p", "-q", *(str(path) for path in paths))
        return None if result.returncode else result.stdout


def _line_end(data: bytes) -> bytes:
    """Return the line end of all lines of `data`; b"" if it has different ones, or no line end."""
    windows, every = data.count(b"\r\n"), data.count(b"\n")
    return b"\r\n" if windows == every > 0 else b"" if windows or not every else b"\n"
