"""A private index and folder: write trees without changing the user's index, HEAD or files."""

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
from coderefine.git.process import names
from coderefine.git.repository import Repository

LARGEST, IN_ALL = 5_000_000, 50_000_000
"""Maximum bytes of an untracked file that is recorded (larger files are data), and of all such files together."""
MOST = 2_000
"""Maximum number of untracked files that are recorded."""

EXECUTABLE = 0o100755


@dataclass(frozen=True, slots=True)
class Scratch:
    """A private index (`index`) and a private folder (`files`); `scratch` removes both.

    `objects`: a private folder for new objects (None: they are stored in the repository).
    """

    repository: Repository
    index: Path
    files: Path
    objects: Path | None = None

    @property
    def borrowed(self) -> dict[str, str]:
        """Return environment variables with which git sees objects that are removed together with this Scratch."""
        return {"GIT_OBJECT_DIRECTORY": str(self.objects)} if self.objects else {}

    def read_tree(self, tree: str) -> None:
        """Replace the content of the index by `tree`; keep the stat data of files that stay the same."""
        self._git("read-tree", "--reset", "-i", tree)

    def empty(self) -> None:
        self._git("read-tree", "--empty")

    def lay(self, files: Mapping[str, bytes | None], modes: Mapping[str, int] | None = None) -> None:
        """Add files to the index as `git add` would, with its filters and conversion of line ends; None removes a file.

        `files`: content as in the working tree, by path. A file keeps its mode in the index, unless `modes` gives
        another; a new file is not executable.
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
        """Add existing blobs to the index. An entry keeps its flags.

        `entries`: (mode, blob id) by path; None removes the path.
        """
        if not entries:  # without paths, git would list the whole index
            return
        marked = flagged(self._git("ls-files", "-v", "-z", "--", *entries, env={"GIT_LITERAL_PATHSPECS": "1"}))
        lines = (
            f"{entry[0]:o} {entry[1]}\t{path}\0" if entry else f"0 {'0' * 40}\t{path}\0"
            for path, entry in entries.items()
        )
        self._git("update-index", "-z", "--index-info", stdin="".join(lines).encode("utf-8", "surrogateescape"))
        for flag, paths in marked.items():
            self._update((path for path in paths if entries.get(path)), f"--{flag}")

    def entries(self, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Return the entries of `paths`: (mode, blob id). A conflicted path has no entry."""
        names = tuple(paths)
        if not names:
            return {}
        return entries_of(self._git("ls-files", "-s", "-z", "--", *names, env={"GIT_LITERAL_PATHSPECS": "1"}))

    def modes(self, paths: Iterable[str]) -> dict[str, int]:
        return {path: mode for path, (mode, _) in self.entries(paths).items()} if self.index.exists() else {}

    def write(self) -> str:
        """Write the tree of this index; return its id."""
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
    """Yield a Scratch that starts from a tree (id), another index (path), or nothing.

    With `keep` False, its new objects are removed, too: nothing is written below the git directory. Raises GitError.
    """
    with temporary.folder("git") as folder:
        (folder / "files").mkdir()
        objects = None if keep else folder / "objects"
        if objects:
            (objects / "info").mkdir(parents=True)
            (objects / "info" / "alternates").write_bytes(os.fsencode(repository.common_dir / "objects") + b"\n")
        made = Scratch(repository, folder / "index", folder / "files", objects)
        if isinstance(start, Path):
            copy_index(start, made.index)
        elif start is not None:
            made.read_tree(start)
        yield made


def snapshot(repository: Repository, index: Path) -> str:
    """Write the tracked files as they are now, with uncommitted changes, into `index`; return the tree's id.

    Untracked files are left out, because `git push --mirror` publishes everything that a ref leads to. The user's
    index is copied for its stat cache, so that only changed files are read.
    """
    with contextlib.suppress(FileNotFoundError):
        index.unlink()
    copy_index(repository.git_dir / "index", index)
    made = Scratch(repository, index, repository.top)
    if not index.exists():
        made.empty()
    made._update(_dirty(repository), "--add", "--remove", "--replace")
    return made.write()


def entries_of(listing: bytes) -> dict[str, tuple[int, str]]:
    """Parse `git ls-files -s -z` into path -> (mode, blob id), stage 0 only."""
    found: dict[str, tuple[int, str]] = {}
    for line in listing.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            mode, blob, stage = head.decode().split(" ")
            if stage == "0":
                found[os.fsdecode(path)] = (int(mode, 8), blob)
    return found


def flagged(listing: bytes) -> dict[str, list[str]]:
    """Parse `git ls-files -v -z`: return the paths marked as assume-unchanged and as skip-worktree, by flag."""
    entries = [(line[:1], os.fsdecode(line[2:])) for line in listing.split(b"\0") if line]
    return {
        "assume-unchanged": [path for tag, path in entries if tag.islower()],
        "skip-worktree": [path for tag, path in entries if tag in b"Ss"],
    }


def _dirty(repository: Repository) -> list[str]:
    """Return tracked paths whose content differs from the index; files that cannot be read are left out."""
    output = repository.git(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty"
    )
    changed = ((line[3:], repository.top / line[3:]) for line in names(output) if line[1] != " ")
    return [path for path, file in changed if not file.exists() or os.access(file, os.R_OK)]


def untracked_files(repository: Repository) -> dict[str, bytes]:
    """Return the untracked files with their content, within the limits LARGEST, IN_ALL and MOST.

    Links and files that cannot be read are left out.
    """
    output = repository.git("ls-files", "--others", "--exclude-standard", "-z")
    paths = [name for name in names(output) if not name.endswith("/")]
    found: dict[str, bytes] = {}
    room = IN_ALL
    for name in paths[:MOST]:
        path = repository.top / name
        try:
            facts = path.lstat()
        except OSError:
            continue
        small = stat.S_ISREG(facts.st_mode) and facts.st_size <= LARGEST
        if small and os.access(path, os.R_OK) and (room := room - facts.st_size) >= 0:
            found[name] = path.read_bytes()
    return found


def copy_index(source: Path, target: Path) -> None:
    """Copy an index, if there is one, with its modification time.

    git rereads files that are not older than the index (racy-git(7)). If the copy were newer than the index, git would
    miss an edit in the same second that does not change the size.
    """
    try:
        shutil.copyfile(source, target)
        shutil.copystat(source, target)
    except FileNotFoundError:
        return
    except OSError as error:
        raise GitError(f"git: {source} cannot be copied: {error.strerror}") from error
