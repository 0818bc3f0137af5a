"""A store of file trees: a separate git repository below the user's cache, on the client and on workers.

A tree has every file that a copied view has, also files that git ignores. Only a pack of the objects that the receiver
lacks is sent over the network.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.errors import GitError
from coderefine.git import process
from coderefine.temporary import remove
from coderefine.workspace.mirror import walk

MOST = 4 << 30
"""Maximum bytes on the disk; the least recently used trees are removed first."""
BYTES = "* -text -eol -filter -ident -working-tree-encoding\n"
"""Git attributes that make git store and write files unchanged; they override the tree's .gitattributes."""
REFS = "refs/trees/"
UNFINISHED = "new-"
"""How the names of folders begin that another task may be writing."""


def cache() -> Path:
    """Return the folder for trees and records of clusters."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))  # a relative path is to be ignored (XDG Base Directory)
    return (named if named.is_absolute() else Path.home() / ".cache") / "coderefine" / "cluster"


@dataclass(frozen=True, slots=True)
class TreeStore:
    """The store of trees in `folder`. `most`: see MOST."""

    folder: Path = field(default_factory=cache)
    most: int = MOST

    @property
    def _repository(self) -> Path:
        return self.folder / "objects.git"

    def add(self, top: Path, name: str) -> str:
        """Store the tree at `top` and return its id; read only files that changed since the last call with `name`."""
        index = self.folder / f"{name}.index"
        work = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(top)}
        there = {os.fsencode(path) for path, facts in walk(top, "") if not stat.S_ISDIR(facts.st_mode)}
        gone = set(self._git("ls-files", "-z", env=work).split(b"\0")) - there if index.exists() else set()
        for names, flags in ((gone, ("--force-remove",)), (there, ("--add", "--replace"))):
            listed = b"".join(one + b"\0" for one in sorted(names) if one)
            self._git("update-index", *flags, "-z", "--stdin", stdin=listed, env=work)
        tree = self._git("write-tree", env=work).decode().strip()
        self._git("update-ref", f"{REFS}{tree}", tree)
        return tree

    def pack(self, tree: str, known: Iterable[str]) -> bytes:
        """Return the objects of `tree` that a store with the trees `known` lacks."""
        ours = self.known()
        revisions = [tree, *(f"^{one}" for one in known if one in ours)]
        return self._git("pack-objects", "--stdout", "--revs", "--thin", "-q", stdin="\n".join(revisions).encode())

    def listing(self, tree: str) -> dict[str, str]:
        """Return the id of the content of each file of `tree`, by path."""
        lines = os.fsdecode(self._git("ls-tree", "-r", "-z", tree)).split("\0")
        split = (line.partition("\t") for line in lines if line)
        return {path: facts.split()[2] for facts, _, path in split}

    def known(self) -> frozenset[str]:
        """Return the ids of the trees that are stored here."""
        return frozenset(self._git("for-each-ref", "--format=%(objectname)", REFS).decode().split())

    def receive(self, tree: str, pack: bytes) -> None:
        """Store a pack with the missing objects of `tree`. Raises GitError if it is damaged or incomplete."""
        self._git("index-pack", "--stdin", "--fix-thin", "--strict", stdin=pack)
        self._git("update-ref", f"{REFS}{tree}", tree)

    def checkout(self, tree: str) -> Path:
        """Return a folder with the files of `tree`; write this folder unless it exists and is unchanged."""
        folder = self.folder / "trees" / tree
        if not self._is_whole(folder):
            remove(folder)
            with _made(folder) as new:
                (new / "files").mkdir()
                self._git("read-tree", tree, env=_work(new))
                self._git("checkout-index", "--all", "--force", "--index", env=_work(new))
            self._trim(folder)
        os.utime(folder)
        return folder / "files"

    def _is_whole(self, folder: Path) -> bool:
        """Return whether `folder` has exactly the files with which it was written, unchanged."""
        with contextlib.suppress(GitError, OSError):
            changed = self._git("diff-files", "--name-only", env=_work(folder))
            return not changed and not self._git("ls-files", "--others", env=_work(folder))
        return False

    def _trim(self, keep: Path) -> None:
        """Remove the least recently used trees except `keep`, then the objects, until the size is at most `most`."""
        trees = [one for one in keep.parent.iterdir() if one != keep and not one.name.startswith(UNFINISHED)]
        trees.sort(key=lambda one: one.stat().st_mtime)
        for old in (*trees, self._repository):
            if _size(keep.parent) + _size(self._repository) <= self.most:
                return
            remove(old)

    def _git(self, *args: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> bytes:
        if not self._repository.is_dir():
            self._make()
        own = {"GIT_DIR": str(self._repository), **(env or {})}
        settings = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.bare=false")
        cwd = Path(own.get("GIT_WORK_TREE", self.folder))
        result = process.run((*settings, *args), cwd=cwd, env=own, stdin=stdin, timeout=1800.0)
        if result.returncode:
            raise process.complaint(result, self.folder)
        return result.stdout

    def _make(self) -> None:
        with _made(self._repository) as new:
            result = process.run(("init", "-q", "--bare", "--template=", str(new)), cwd=self.folder)
            if result.returncode:
                raise process.complaint(result, self.folder)
            (new / "info").mkdir(exist_ok=True)
            (new / "info" / "attributes").write_text(BYTES, "ascii")


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """Yield a new folder that is renamed to `folder` at the end; several tasks may make `folder` at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder.parent))
    try:
        yield new
        with contextlib.suppress(OSError):  # another task was faster
            new.rename(folder)
    finally:
        remove(new)


def _work(folder: Path) -> dict[str, str]:
    """Return git's variables for the files of a tree that were written below `folder`."""
    return {"GIT_INDEX_FILE": str(folder / "index"), "GIT_WORK_TREE": str(folder / "files")}


def _size(folder: Path) -> int:
    return sum(Path(at, name).lstat().st_size for at, _, names in os.walk(folder) for name in names)
