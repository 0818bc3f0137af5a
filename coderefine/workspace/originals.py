"""The user's files as they were when the run began."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from coderefine.errors import GitError, PublishError, SurroundingsError
from coderefine.git.process import names, run
from coderefine.workspace.patched_tree import plain


class Originals(Mapping[str, "bytes | None"]):
    """The content of the user's files by repo-relative path (None: no file), read when first requested and then kept.

    Reading raises PublishError if the file was written after the run began, because its new content was not judged.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._began = time.time_ns()
        self._known: dict[str, bytes | None] = {}
        self._absent: set[str] = set()
        with suppress(GitError):
            self._absent = {name for name in self._listed() if not os.path.lexists(top / name)}

    def __getitem__(self, path: str) -> bytes | None:
        if path not in self._known:
            self._known[path] = self._read(self._top.joinpath(*plain(path)), path)
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str)

    def outside(self, path: str) -> bool:
        """Return whether links lead from `path` out of the tree."""
        return not self._top.joinpath(*plain(path)).resolve().is_relative_to(self._top.resolve())

    def edited(self, since: int) -> tuple[str, ...]:
        """Return the files written or removed after `since` (`time.time_ns`), without those that git ignores.

        Files to which our own output goes (`coderefine fix 2> log.txt`) do not count. Tracked files that have been
        absent since the run began (deleted, or left out by a sparse checkout) do not count either.
        """
        outputs = {_identity(handle) for handle in (1, 2)} - {(0, 0)}  # stdout and stderr
        listed = self._listed("--others", "--exclude-standard")
        self._absent -= {name for name in self._absent if os.path.lexists(self._top / name)}
        written = (name for name in listed if name not in self._absent and _written(self._top / name) > since)
        return tuple(name for name in written if _identity(self._top / name) not in outputs)

    def _listed(self, *more: str) -> dict[str, None]:
        """Return the files that git tracks, which need not exist, in order; `more`: further options of ls-files."""
        return dict.fromkeys(names(run(("ls-files", "--cached", *more, "-z"), cwd=self._top).stdout))

    def _read(self, file: Path, path: str) -> bytes | None:
        try:
            if file.stat().st_ctime_ns > self._began:
                raise PublishError(f"{path} changed during the run: nothing was written, run again")
            return file.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, UnicodeEncodeError):
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise SurroundingsError(f"{path} cannot be read: {error.strerror or error}") from error


def _identity(file: Path | int) -> tuple[int, int]:
    """Return device and inode of a file or an open handle; (0, 0) if there is none."""
    try:
        facts = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return 0, 0
    return facts.st_dev, facts.st_ino


def _written(file: Path) -> int:
    """Return when a file or its metadata was last changed; 0 for a folder (a submodule).

    If there is no file, this is the time of the last change in its folder, which may be the removal of the file.
    """
    try:
        facts = file.lstat()
    except OSError:
        return next(parent.stat().st_ctime_ns for parent in file.parents if parent.is_dir())
    return 0 if stat.S_ISDIR(facts.st_mode) else facts.st_ctime_ns
