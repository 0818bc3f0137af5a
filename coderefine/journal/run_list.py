"""All runs of a repository: list and delete them, allow one run at a time, find the files with which a run began."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import temporary
from coderefine.core import Stop
from coderefine.errors import JournalError
from coderefine.git import Repository, read_files, snapshot, untracked_files
from coderefine.git.changes import contents
from coderefine.journal import storage
from coderefine.journal.entries import Ending, Meta, Publication
from coderefine.journal.journal import Journal, home, run_names

KEPT = 50
"""Number of runs that are kept when a new run starts; older runs are removed with their refs."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of `coderefine log`.

    `ending`: None for a run that is `running`, failed or was killed. `trouble`: why the run's record cannot be read.
    `failure`: the error that ended the run. `undone`: the run's publication, if it was undone since.
    """

    run: str
    meta: Meta
    ending: Ending | None = None
    publication: Publication | None = None
    attempts: int = 0
    trouble: str = ""
    failure: str = ""
    undone: Publication | None = None
    running: bool = False

    @property
    def stop(self) -> Stop | None:
        return self.ending.stop if self.ending else None


def runs(repository: Repository) -> Iterator[Summary]:
    """Yield the runs, newest first, each read when it is requested. A damaged run is listed with its `trouble`."""
    return (_summary(Journal(repository, name, home(repository) / name)) for name in run_names(repository))


def _summary(journal: Journal) -> Summary:
    meta = Meta()
    try:
        meta = journal.meta
        attempts = journal.count()
        written, undone = journal.publication(), journal.undone()
        failure, live = journal.failure(), is_running(journal)
        return Summary(journal.run, meta, journal.ending(), written, attempts, "", failure, undone, live)
    except JournalError as error:
        return Summary(journal.run, meta, trouble=str(error))


def prune(repository: Repository, keep: int = KEPT) -> tuple[str, ...]:
    """Delete all but the `keep` newest runs, with their refs; return the names of the deleted runs.

    Runs that are still running (in another working tree) are kept, and so are runs whose publication was interrupted.
    """
    publishing: set[str] = set()  # the runs whose publication has not ended, in any working tree
    for folder in (repository.common_dir, *repository.common_dir.glob("worktrees/*")):
        with contextlib.suppress(OSError):
            publishing.add((folder / storage.PENDING).read_text("ascii", "replace"))
    old = tuple(
        name for name in run_names(repository)[keep:] if name not in publishing and not _is_needed(repository, name)
    )
    if not old:
        return ()
    refs = [ref for name in old for ref in repository.refs(f"refs/coderefine/{name}/")]
    repository.delete_refs(refs)
    for name in old:
        shutil.rmtree(home(repository) / name, ignore_errors=True)
    return old


def _is_needed(repository: Repository, run: str) -> bool:
    """Return whether `run` is running, or its record is needed to repair its interrupted publication."""
    journal = Journal(repository, run, home(repository) / run)
    try:
        return is_running(journal) or journal.intent() is not None
    except JournalError:
        return False


@contextlib.contextmanager
def lock(repository: Repository) -> Iterator[None]:
    """Lock this working tree for one run; the kernel unlocks it when the process ends, however it ends.

    Raises JournalError if another process has locked it; the message contains the id of that process.
    """
    folder = repository.git_dir / "coderefine"
    storage.make_folder(folder)
    with _locked(folder / "lock", f"another coderefine is running in {repository.top}"):
        yield


def running(journal: Journal) -> contextlib.AbstractContextManager[None]:
    """Mark `journal`, in the `with` block, as the record of a run in progress; other working trees see the mark.

    Raises JournalError if another process has marked it.
    """
    return _locked(journal.folder / "lock", f"run {journal.run} has not ended")


def is_running(journal: Journal) -> bool:
    """Return whether a process has marked `journal` as the record of its run (see `running`)."""
    try:
        handle = os.open(journal.folder / "lock", os.O_RDWR)
    except OSError:
        return False
    try:
        return not flock(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked(path: Path, refusal: str) -> Iterator[None]:
    """Lock the file `path` and write our process id into it. Raises JournalError if another process has locked it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        raise storage.unwritable(path, error) from error
    try:
        if not flock(handle):
            raise JournalError(f"{refusal}{_holder(path)}: wait for it to end")
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def flock(handle: int) -> bool:
    """Lock an open file without waiting; return False if another process holds the lock."""
    try:
        import fcntl  # not on Windows, where several runs at a time are possible
    except ImportError:  # pragma: no cover
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError):
        pid = path.read_text("ascii", "replace").strip()
        return f" (process {pid})" if pid.isdigit() else ""
    return ""


LINK = 0o120000


def files_at_start(journal: Journal) -> Mapping[str, bytes | None]:
    """Return the files that have changed since the run began, with their content at that time (None: no such file).

    Ignored files are not recorded and are left out. Return {} if the run recorded no baseline. Raises GitError if the
    recorded objects are gone.
    """
    start = journal.commit(0)
    if start is None:
        return {}
    tracked = _tracked(journal, start)
    then, now = journal.untracked(), untracked_files(journal.repository)
    changed = {path: then.get(path) for path in {**then, **now} if then.get(path) != now.get(path)}
    found = {**changed, **{path: then.get(path, data) for path, data in tracked.items()}}
    publication = journal.last_published()
    if publication is None or publication.how != "files":  # a commit replaces only files whose content git has
        return found
    exact = {change.path: change.before for change in publication.changes}
    return {path: exact.get(path, data) for path, data in found.items()}


def _tracked(journal: Journal, start: str) -> Mapping[str, bytes | None]:
    """Return the tracked files that differ from the tree `start`, each with its content in `start`."""
    repository = journal.repository
    with temporary.folder("replay") as folder:
        now = snapshot(repository, folder / "index")
    paths = [path for path, _ in repository.differences(now, repository.tree(start))]
    entries = read_files(repository, start, paths) if paths else {}
    files = contents(repository.top, start, [path for path, entry in entries.items() if entry and entry.mode != LINK])
    return {path: files.get(path) for path, entry in entries.items() if entry is None or path in files}
