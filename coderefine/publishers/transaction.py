"""Replace several files in one transaction; after a kill at any step, `recover` repairs the tree.

Steps on the disk (left), and what `recover` does if the process is killed after each of them (right):
1. `pending` in the git directory, locked by this process       nothing is announced: remove `pending`
2. `publishing` in the journal: every content before and after  take back: nothing was written yet
3. new folders, temporary files with the new content            take back: remove them
4. per file: exchanged with the new one, and kept as `.old`     take back; or complete it, if all files are replaced
   (a file that has other names already is written in place     take back, from the journal)
5. before a commit: old files removed                           take back, from the journal
   the actions of `act` (for a commit: see `commit`)            complete it if HEAD has moved, else take back
6. `published` in the journal                                   done: remove old files and `pending`
7. old files and `pending` removed
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import FrameType

from coderefine.errors import CoderefineError, JournalError, PublishError, UnrecordedError
from coderefine.git import Repository
from coderefine.journal import Journal, Publication, flock, storage
from coderefine.project.protection import is_read_only
from coderefine.publishers import file_io
from coderefine.publishers.restoration import take_back

Hold = Callable[[], None]
Act = Callable[[Publication, int, Hold], Publication]
"""A function that is called after the files are written.

Arguments: the plan; the handle of the locked marker file, which a process that moves a ref must inherit; and a function
that delays interrupts, which must be called before the step that cannot be undone.
"""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name))
"""Signals that interrupt us. SIGALRM repeats an interrupt that Python ignored (see `quick.ending`)."""
Handler = Callable[[int, "FrameType | None"], object]

ORPHANS = 10.0
"""Seconds to wait for git processes of a coderefine that was killed."""


def marker(repository: Repository) -> Path:
    """Return the file that marks a publication in progress in this working tree."""
    return repository.git_dir / storage.PENDING


def publish(journal: Journal, plan: Publication, check: Callable[[], None], act: Act | None = None) -> Publication:
    """Write all files of `plan`, then call `act`, which may change the plan; return the publication.

    `check` raises PublishError if the tree is not the one for which the plan was made. If writing or `act` fails, or is
    interrupted, everything is restored; the error names files that others changed meanwhile. If only the record fails
    after `act`, nothing is restored: raises UnrecordedError.
    """
    top = journal.repository.top
    # A temporary name in the folder of each file: with `.new` for the new content, with `.old` for the old file.
    folders = ((Path(change.path).parent, number) for number, change in enumerate(plan.changes))
    temps = tuple((folder / f".coderefine-{journal.run}-{number}").as_posix() for folder, number in folders)
    missing = (file_io.new_folders(top, change.path) for change in plan.changes if change.after is not None)
    plan = replace(plan, temps=temps, folders=tuple(dict.fromkeys((*plan.folders, *chain(*missing)))))
    with contextlib.ExitStack() as whole, pending(journal) as lock:

        def hold() -> None:
            whole.enter_context(deferred())

        journal.publishing(plan)
        try:
            check()
        except BaseException:
            hold()
            give_up(journal, plan)
            raise
        try:
            _write(top, plan)
            if act:
                _forget_old(top, plan)  # a hook may stage them (`git add -A`); the journal has them
                done = act(plan, lock, hold)
                hold()
            else:
                done = plan
                hold()
                settle(journal, done)
        except BaseException as error:
            hold()
            _withdraw(journal, plan, error)
            raise
        try:
            if act:
                settle(journal, done)
        except JournalError as error:
            # The last step of `act` cannot be taken back; `recover` records it.
            raise UnrecordedError(f"it is done, but {error}: free some space, then run `coderefine log`") from error
        finally:
            clean(top, plan)
    return done


def _withdraw(journal: Journal, plan: Publication, error: BaseException) -> None:
    """Restore everything after `error`. Raises PublishError if a line about a file has to be added to the message.

    If a file cannot be restored, the publication stays announced, so that `recover` tries again.
    """
    lines, complete = take_back(journal, plan)
    clean(journal.repository.top, plan)
    if complete:
        with contextlib.suppress(JournalError):  # then `recover` detects that the files are restored
            give_up(journal, plan)
    if lines and isinstance(error, CoderefineError | KeyboardInterrupt):
        raise PublishError("\n  ".join((str(error) or "interrupted", *lines))) from error


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Delay interrupts until the end of the block, which should last only milliseconds.

    It would not help to block signals, because Python runs a handler in the main thread, whichever thread received the
    signal. So the handlers are replaced. For the same reason `deferred` does nothing in other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual: dict[int, Handler] = {}

    def later(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    try:
        for number in SIGNALS:
            if callable(handler := signal.getsignal(number)):
                usual[number] = handler
                signal.signal(number, later)
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


def settle(journal: Journal, done: Publication) -> None:
    """Record that `done` was carried out."""
    if done.how == "undo":
        journal.unpublished(done)
    else:
        journal.published(done)


def give_up(journal: Journal, plan: Publication) -> None:
    """Record that `plan` was not carried out; if `plan` is an undo, record that the publication still exists."""
    undoing = journal.last_published() if plan.how == "undo" else None
    if undoing:
        journal.published(undoing)
    else:
        journal.unpublished(plan)


@contextlib.contextmanager
def pending(journal: Journal) -> Iterator[int]:
    """Mark by a file, until the block ends, that files are being written for `journal`; yield this file's descriptor.

    If the block fails after the journal announced the publication, the mark stays, so that a later run repairs it.
    Raises PublishError if there is such a mark already, or if another process is writing.
    """
    path = marker(journal.repository)
    storage.make_folder(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        claim(handle)
        if os.fstat(handle).st_size:
            raise PublishError("an interrupted publication is waiting: run `coderefine log` once, that repairs it")
        os.write(handle, journal.run.encode())
        os.fsync(handle)
        try:
            yield handle
        except BaseException:
            if journal.intent() is None:
                file_io.remove(path)
            raise
        path.unlink()
    finally:
        os.close(handle)


def claim(handle: int, patience: float = ORPHANS) -> None:
    """Lock the opened marker file, waiting up to `patience` seconds while another process holds the lock.

    Raises PublishError if another process is still writing after that time.
    """
    until = time.monotonic() + patience
    while not flock(handle):
        if time.monotonic() > until:
            raise PublishError("another coderefine, or a hook it started, is writing here: try again when it has ended")
        time.sleep(0.05)


def clean(top: Path, plan: Publication) -> None:
    """Remove our temporary files, and the folders that we created, if they are empty."""
    for temp in plan.temps:
        file_io.remove(top / f"{temp}.new")
    _forget_old(top, plan)
    for folder in reversed(plan.folders):
        with contextlib.suppress(OSError):
            (top / folder).rmdir()


def _forget_old(top: Path, plan: Publication) -> None:
    for temp in plan.temps:
        file_io.remove(top / f"{temp}.old")


def _write(top: Path, plan: Publication) -> None:
    """Prepare all files, then replace them one by one; the old files are kept."""
    pairs = list(zip(plan.temps, plan.changes, strict=True))
    for temp, change in pairs:
        with file_io.refused(change.path):
            if change.before is not None and is_read_only(top / change.path):
                raise PermissionError(13, "Permission denied")
            if change.after is not None:
                file_io.prepare(top, change.path, temp, change.after, change.mode)
    for temp, change in pairs:
        with file_io.refused(change.path):
            if not file_io.install(top, change.path, temp, change.before, change.after):
                raise PublishError(
                    f"{change.path} was changed by another program at this moment, so nothing was written: run again"
                )
    for folder in {(top / change.path).parent for change in plan.changes}:
        storage.sync_folder(folder)
