"""The clones of a fleet: made, fetched, and reset to the state of the remote."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from coderefine import proc
from coderefine.core import Finished
from coderefine.errors import GitError
from coderefine.git import Head, Repository, process
from coderefine.journal import storage
from coderefine.publishers.message import RUN

BACK_OFF = (1.0, 4.0, 16.0)
"""Seconds to wait after each failure to reach a host."""
HOST = re.compile(r"(?:[\w+.-]+://)?(?:[^@/]*@)?([^:/]*)")
"""The host of a URL or of a location such as `git@host:path`."""
CLONE_MAY_TAKE = 1800.0
REMOTE_HEAD = "refs/remotes/origin/HEAD"
"""The name under which git keeps the remote's default branch."""


@dataclass(frozen=True, slots=True)
class Clones:
    """The clones in `folder`. For each host, only one repository at a time is cloned or fetched."""

    folder: Path
    _hosts: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def resumed(self, name: str, run: str) -> Path:
        """Return the clone `name` as the interrupted run `run` left it: the run needs the tree with which it began.

        Raises GitError if there is no such clone.
        """
        top = self.folder / name
        if _opened(top) is None:
            raise GitError(f"{top} is no longer a clone, so run {run} cannot be resumed: use --only-failed")
        return top

    def fetched(self, name: str, location: str) -> Path:
        """Clone `location` to the folder `name`, or fetch into the existing clone; reset it, and return its path.

        If git fails for a URL, try again after each pause of BACK_OFF. Raises GitError.
        """
        top = self.folder / name
        storage.make_folder(self.folder)
        try:
            self._fetch(top, location)
        except GitError:
            if proc.is_stopped():
                _unlock(top)
            raise
        return top

    def _fetch(self, top: Path, location: str) -> None:
        with self._hosts[HOST.findall(location)[0]]:
            for pause in (*BACK_OFF, None):
                done = _cloned(top, location) if _opened(top) is None else _git(top, "fetch", "-q", "--prune")
                if not done.returncode:
                    break
                if pause is None or proc.is_stopped() or location.startswith("file:"):
                    lines = done.stderr.decode("utf-8", "replace").splitlines()
                    reason = next((line for line in lines if line.startswith("fatal: ")), "git died")
                    raise GitError(f"cannot be cloned or fetched: {reason}")
                time.sleep(pause)
            repository = _opened(top)
            if repository is None:
                raise GitError(f"{top} was changed while it was fetched")
            repository.run("remote", "set-head", "origin", "--auto")  # the default branch may have been renamed
        _reset(repository)


def _unlock(top: Path) -> None:
    """Remove the lock files of our killed git processes: they would prevent every later fetch and reset."""
    git_dir = top / ".git"
    if not top.is_symlink() and not git_dir.is_symlink():
        for lock in (*git_dir.glob("*.lock"), *(git_dir / "refs").rglob("*.lock")):
            lock.unlink(missing_ok=True)


def _opened(top: Path) -> Repository | None:
    """Return the repository of the clone `top`; None if it is missing, a link, or incomplete because git was killed.

    In a folder without a complete repository of its own, git would use the user's repository around the folder.
    """
    git_dir = top / ".git"
    if top.is_symlink() or git_dir.is_symlink() or not git_dir.is_dir():
        return None
    checked = process.run(("rev-parse", "--resolve-git-dir", str(git_dir)), cwd=top.parent)
    if checked.returncode == 128:
        return None
    if checked.returncode:
        raise process.complaint(checked, top)
    found, own = Repository.open(top), git_dir.resolve()
    return found if (found.top, found.git_dir, found.common_dir) == (own.parent, own, own) else None


def _cloned(top: Path, location: str) -> Finished:
    """Clone `location` to `top`, and replace an older clone; until the new clone is complete, it has another name."""
    new = top.with_name(f"{top.name}.new")
    _delete(new)
    try:
        done = _git(new.parent, "clone", "-q", "--", location, new.name)
        if not done.returncode:
            _delete(top)
            new.rename(top)
        return done
    finally:
        with suppress(OSError):  # a process of the killed git may still write files; they are deleted next time
            _delete(new)


def _git(folder: Path, *args: str) -> Finished:
    """Run `git args` in `folder`; git does not look for a repository in the folders above."""
    return process.run(args, cwd=folder, env={"GIT_CEILING_DIRECTORIES": str(folder.parent)}, timeout=CLONE_MAY_TAKE)


def _delete(path: Path) -> None:
    """Delete the file, folder or link `path`, if it exists; the target of a link stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _reset(repository: Repository) -> None:
    """Check out the remote's default branch, discarding local changes and untracked files; ignored files stay.

    Then delete the other local branches whose newest commit is a repair by coderefine on an earlier commit of this
    branch. Raises GitError if the remote has no default branch.
    """
    remote = repository.git("symbolic-ref", "-q", REMOTE_HEAD, fine=(0, 1)).decode().strip()
    if not remote:
        raise GitError("the remote has no default branch: its HEAD must name a branch")
    repository.git("checkout", "-q", "-f", "--track", "-B", remote.removeprefix("refs/remotes/origin/"), remote)
    repository.git("clean", "-q", "-f", "-d")  # ignored files, such as a .venv, stay
    head = repository.head()
    others = {ref: commit for ref, commit in repository.refs("refs/heads/").items() if ref != head.ref}
    repository.delete_refs(ref for ref, commit in others.items() if _is_old_repair(repository, commit, head))


def _is_old_repair(repository: Repository, commit: str, head: Head) -> bool:
    """Return whether `commit` was made by coderefine on top of an earlier commit of the branch that is checked out."""
    text = repository.git("log", "-1", "--format=%P%n%B", commit).decode("utf-8", "replace")
    parent, _, message = text.partition("\n")
    if f"\n{RUN}: " not in message or parent == head.sha:
        return False
    return not repository.run("merge-base", "--is-ancestor", parent, "HEAD").returncode
