"""Keep a copy of a tree equal to the tree: a file is copied again if it has changed in the tree or in the copy."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.git.changes import CACHES, ENVIRONMENTS
from coderefine.temporary import remove

SKIPPED = ENVIRONMENTS | CACHES | {".git", ".hg", ".svn"}
"""Large folders that are rebuilt when needed, and never imported from a copy."""
FICLONE = 0x40049409
"""ioctl of linux/fs.h: share all blocks of another file (btrfs, xfs, bcachefs)."""

Print = tuple[int, int, int, int, int]


@dataclass(slots=True)
class Mirror:
    """A copy, at `copy`, of the tree `origin`.

    `known`: after the last `restore`, the fingerprints of each file in the origin and in the copy.
    """

    origin: Path
    copy: Path
    known: dict[str, tuple[Print, Print]] = field(default_factory=dict)

    def restore(self) -> None:
        """Make the copy equal to the origin, without SKIPPED folders and virtual environments, keeping `copy/.git`.

        Raises OSError (disk full, no permission).
        """
        try:
            self._restore()
        except PermissionError:
            # a child may have removed permissions: try once more from the beginning
            remove(self.copy)
            self.known = {}
            self._restore()

    def _restore(self) -> None:
        fresh: dict[str, tuple[Print, Print]] = {}
        # A child process may have replaced the copy's folder by a link, or a parent folder.
        for folder in (self.copy.parent, self.copy):
            if folder.is_symlink() or not folder.is_dir():
                remove(folder)
                folder.mkdir()
        if self.copy.resolve() != self.copy:
            raise OSError(errno.ELOOP, "a test replaced the folder of the private view", str(self.copy))
        there = dict(walk(self.origin, ""))
        here = dict(walk(self.copy, "", every=True))
        self._drop_extras(here, there)
        for name, facts in there.items():
            fresh[name] = self._restored(name, facts, here.get(name))
        for name, facts in there.items():
            if stat.S_ISDIR(facts.st_mode):
                with contextlib.suppress(OSError):
                    os.utime(self.copy / name, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        self.known = fresh

    def _drop_extras(self, here: dict[str, os.stat_result], there: dict[str, os.stat_result]) -> None:
        for name, facts in here.items():
            other = there.get(name)
            if name != ".git" and (other is None or stat.S_IFMT(other.st_mode) != stat.S_IFMT(facts.st_mode)):
                remove(self.copy / name)

    def _restored(self, name: str, facts: os.stat_result, copied: os.stat_result | None) -> tuple[Print, Print]:
        known = self.known.get(name)
        if known and copied and known == (_print(facts), _print(copied)):
            return known
        target = self.copy / name
        if stat.S_ISDIR(facts.st_mode):
            with contextlib.suppress(FileExistsError):
                target.mkdir()
            target.chmod(stat.S_IMODE(facts.st_mode) | stat.S_IRWXU)
            return (_print(facts), _folder_print(target.lstat()))
        with contextlib.suppress(FileNotFoundError):
            target.unlink()
        if stat.S_ISLNK(facts.st_mode):
            target.symlink_to(self._link(name))
        else:
            clone(self.origin / name, target, facts)
        return (_print(facts), _print(target.lstat()))

    def _link(self, name: str) -> str:
        """Return the target for the copy of the link `name`.

        If the original link leads into the origin, this is the corresponding path in the copy; otherwise, it is the
        absolute path to which the original link leads.
        """
        link = self.origin / name
        target = link.readlink()
        full = Path(os.path.normpath(link.parent / target))
        if full.is_relative_to(self.origin):
            return str(self.copy / full.relative_to(self.origin)) if target.is_absolute() else str(target)
        return str(full)


def walk(top: Path, below: str, *, every: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and `lstat` of files, folders (before their content) and links in the folder `below` of `top`.

    `every`: also yield what is never copied, but not the content of `.git`.
    """
    with os.scandir(top / below) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = f"{below}/{entry.name}" if below else entry.name
        facts = entry.stat(follow_symlinks=False)
        folder = stat.S_ISDIR(facts.st_mode)
        if not every and (name == ".git" or _skipped(entry, facts.st_mode)):
            continue
        yield name, facts
        if folder and name != ".git":
            yield from walk(top, name, every=every)


def _skipped(entry: os.DirEntry[str], mode: int) -> bool:
    if stat.S_ISDIR(mode):
        return entry.name in SKIPPED or os.path.lexists(os.path.join(entry.path, "pyvenv.cfg"))  # noqa: PTH118
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode))


def _print(facts: os.stat_result) -> Print:
    if stat.S_ISDIR(facts.st_mode):
        return _folder_print(facts)
    return (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_mode)


def _folder_print(facts: os.stat_result) -> Print:
    return (0, 0, 0, facts.st_ino, facts.st_mode)


def clone(source: Path, target: Path, facts: os.stat_result) -> None:
    """Copy content, mode and times to the new file `target`, sharing blocks where the file system can."""
    with source.open("rb") as old, target.open("xb") as new:
        if not _reflinked(old.fileno(), new.fileno()):
            shutil.copyfileobj(old, new, 1 << 20)
    target.chmod(stat.S_IMODE(facts.st_mode))
    with contextlib.suppress(OSError):
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _reflinked(old: int, new: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    try:
        fcntl.ioctl(new, FICLONE, old)
    except OSError:
        return False
    return True
