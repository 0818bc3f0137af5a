"""An index and a folder of our own: trees are written without touching the user's index, HEAD or files."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import temporary
from coderefine.errors import GitError
from coderefine.git.repository import Repository

LARGEST = 5_000_000
"""Bytes: an untracked file larger than this is data, not code, and stays out of the baseline."""
MOST = 2_000
"""Untracked files beyond this number stay out of the baseline."""

EXECUTABLE = 0o100755


@dataclass(frozen=True, slots=True)
class Scratch:
    """A private index (`index`) over a private folder (`files`), both thrown away by `scratch`."""

    repository: Repository
    index: Path
    files: Path
    objects: Path | None = None

    @property
    def borrowed(self) -> dict[str, str]:
        """Environment under which objects thrown away with this Scratch can be seen."""
        return {"GIT_OBJECT_DIRECTORY": str(self.objects)} if self.objects else {}

    def read_tree(self, tree: str) -> None:
        """Make the index `tree`. What it knew of files that stay the same (their stat data) is kept."""
        self._git("read-tree", "--reset", "-i", tree)

    def empty(self) -> None:
        self._git("read-tree", "--empty")

    def lay(self, files: Mapping[str, bytes | None], modes: Mapping[str, int] | None = None) -> None:
        """Put working-tree content (None removes) into the index, as `git add` would: line ends and filters.

        A file keeps the mode the index has for it, unless `modes` says otherwise; a new one is a plain file.
        """
        known = {**self.modes(files), **(modes or {})}
        gone = [path for path, data in files.items() if data is None]
        self._update(gone, "--force-remove")
        here = {path: data for path, data in files.items() if data is not None}
        for path, data in here.items():
            target = self.files / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(0o755 if known.get(path) == EXECUTABLE else 0o644)
        self._update(here, "--add", "--replace")

    def place(self, entries: Mapping[str, tuple[int, str] | None]) -> None:
        """Put blobs that exist already into the index: path -> (mode, blob id), None removes."""
        lines = (
            f"{entry[0]:o} {entry[1]}\t{path}\0" if entry else f"0 {'0' * 40}\t{path}\0"
            for path, entry in entries.items()
        )
        self._git("update-index", "-z", "--index-info", stdin="".join(lines).encode("utf-8", "surrogateescape"))

    def blob(self, data: bytes) -> str:
        """The id of `data` stored as it is, no filter applied."""
        return self._git("hash-object", "-w", "--stdin", "--no-filters", stdin=data).decode().strip()

    def entries(self, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
        """What the index says of `paths`: (mode, blob id). A conflicted path has no entry."""
        names = tuple(paths)
        if not names:
            return {}
        return entries_of(self._git("ls-files", "-s", "-z", "--", *names, env={"GIT_LITERAL_PATHSPECS": "1"}))

    def modes(self, paths: Iterable[str]) -> dict[str, int]:
        return {path: mode for path, (mode, _) in self.entries(paths).items()} if self.index.exists() else {}

    def write(self) -> str:
        """The id of the tree this index describes."""
        return self._git("write-tree").decode().strip()

    def _update(self, paths: Iterable[str], *options: str) -> None:
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if names:
            self._git("-c", "core.safecrlf=false", "update-index", *options, "-z", "--stdin", stdin=names)

    def _git(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        own = {
            "GIT_DIR": str(self.repository.git_dir),
            "GIT_WORK_TREE": str(self.files),
            "GIT_INDEX_FILE": str(self.index),
            **self.borrowed,
            **(env or {}),
        }
        return self.repository.git("-c", "core.splitIndex=false", *args, stdin=stdin, env=own, cwd=self.files)


@contextlib.contextmanager
def scratch(repository: Repository, start: str | Path | None = None, *, keep: bool = True) -> Iterator[Scratch]:
    """A Scratch that starts from a tree (id), another index (path), or nothing.

    With `keep` False even its objects are thrown away: nothing at all is written below the git directory.
    Raises GitError.
    """
    with temporary.folder("git") as folder:
        (folder / "files").mkdir()
        objects = None if keep else folder / "objects"
        if objects:
            (objects / "info").mkdir(parents=True)
            (objects / "info" / "alternates").write_bytes(os.fsencode(repository.common_dir / "objects") + b"\n")
        made = Scratch(repository, folder / "index", folder / "files", objects)
        if isinstance(start, Path):
            _copy(start, made.index)
        elif start is not None:
            made.read_tree(start)
        yield made


def snapshot(repository: Repository, index: Path) -> str:
    """Write the user's files as they are now (tracked, dirty, untracked) into `index`; the tree's id.

    The user's own index is copied for its stat cache, so only what is dirty or untracked is read.
    """
    with contextlib.suppress(FileNotFoundError):
        index.unlink()
    _copy(repository.git_dir / "index", index)
    made = Scratch(repository, index, repository.top)
    if not index.exists():
        made.empty()
    made._update(_dirty(repository), "--add", "--remove", "--replace")
    return made.write()


def entries_of(listing: bytes) -> dict[str, tuple[int, str]]:
    """`git ls-files -s -z` as path -> (mode, blob id), stage 0 only."""
    found: dict[str, tuple[int, str]] = {}
    for line in listing.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            mode, blob, stage = head.decode().split(" ")
            if stage == "0":
                found[os.fsdecode(path)] = (int(mode, 8), blob)
    return found


def _dirty(repository: Repository) -> list[str]:
    """Paths whose content differs from the index, and untracked ones that look like code."""
    said = repository.git(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"
    )
    paths: list[str] = []
    strangers = 0
    for line in said.split(b"\0"):
        state, path = line[:2].decode(), os.fsdecode(line[3:])
        if state == "??":
            strangers += 1
            if strangers <= MOST and _wanted(repository.top / path):
                paths.append(path)
        elif state and state[1] != " " and _readable(repository.top / path):
            paths.append(path)
    return paths


def _wanted(path: Path) -> bool:
    """An untracked file or link that is small enough; a nested repository (`name/`) is not ours to record."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if stat.S_ISLNK(found.st_mode):
        return True
    return stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST and os.access(path, os.R_OK)


def _readable(path: Path) -> bool:
    return not path.exists() or os.access(path, os.R_OK)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        return
    except OSError as error:
        raise GitError(f"git: {source} cannot be copied: {error.strerror}") from error
