"""Take back what a publication wrote, and nothing that anybody else wrote meanwhile.

Files may change while git runs the user's hooks, or between a kill and `recover`. A content that is neither the old
nor the new one comes from a hook only if the hook staged it for our commit; otherwise it may come from the user.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from coderefine.errors import CoderefineError
from coderefine.git import Repository, merge_bytes, scratch
from coderefine.journal import FileChange, Journal, Publication
from coderefine.publishers import file_io
from coderefine.publishers.user_index import UserIndex


class Restoration(NamedTuple):
    """`lines`: texts about files that are not as before. `complete`: whether no error prevented a restoration."""

    lines: tuple[str, ...]
    complete: bool


def take_back(journal: Journal, plan: Publication, *, in_use: bool = False) -> Restoration:
    """Restore the old content of every file that contains what we or hooks wrote.

    A file that others changed meanwhile keeps that change; if possible, only the patch is removed from it.
    `in_use`: after a kill, the user may have worked with the written files. Then files that others changed, and files
    that are as in HEAD, stay as they are.
    """
    found, complete = [], True
    for temp, change in zip(plan.temps, plan.changes, strict=True):
        try:
            found.append(_take_back(journal, temp, change, in_use=in_use))
        except (CoderefineError, OSError) as error:  # noqa: PERF203
            why = (error.strerror or "").lower() if isinstance(error, OSError) else error
            found.append(f"{change.path} stays as it is: {why}")
            complete = False
    return Restoration(tuple(filter(None, found)), complete)


def as_committed(repository: Repository, done: Publication) -> tuple[FileChange, ...]:
    """Return the changes of `done` with the content that its commit has, where hooks have changed it.

    A file that is not as in the commit was changed by others; so `undo` will refuse to replace it.
    """
    found = ((change, file_io.current(repository.top, change.path)) for change in done.changes)
    return tuple(
        replace(change, after=now)
        if now != change.after and _is_in(repository, done.commit, change.path, now)
        else change
        for change, now in found
    )


def _take_back(journal: Journal, temp: str, change: FileChange, *, in_use: bool) -> str:
    """Take back one change; return a line if the file is not as it was before, or if a copy of it was kept."""
    repository = journal.repository
    found = file_io.current(repository.top, change.path)
    if found == change.before:
        return ""
    if in_use and _is_in(repository, repository.resolve("HEAD"), change.path, found):
        return f"{change.path} stays as it is in HEAD"
    wanted, line = _wanted(journal, change, found, in_use=in_use)
    if wanted is None or not _restore(repository.top, temp, wanted, found):
        left = f"{change.path} was changed meanwhile, and it stays as it is: look at it"
        if change.before is None:
            return left
        return f"{left}; the content that was to be restored is in {journal.keep(change.before)}"
    return line


def _wanted(
    journal: Journal, change: FileChange, found: bytes | None, *, in_use: bool
) -> tuple[FileChange | None, str]:
    """Return the change whose old content may replace `found`, and a line for the user; (None, "") if there is none."""
    if found == change.after or file_io.is_torn(found, change.before, change.after):
        return change, ""
    if _is_in(journal.repository, UserIndex(journal.repository).own_tree(), change.path, found):
        kept = f"{change.path} as your hooks left it is kept in {journal.keep(found)}" if found is not None else ""
        return change, kept
    merged = None if in_use else _without_patch(journal.repository, change, found)
    if merged is None:
        return None, ""
    line = f"{change.path} was changed meanwhile: this change stays, the rest is as before"
    return replace(change, before=merged), line


def _is_in(repository: Repository, tree: str | None, path: str, data: bytes | None) -> bool:
    """Return whether git would store `data` (None: no file) exactly as `tree` has it; False if `tree` is None."""
    if tree is None:
        return False
    with scratch(repository, tree, keep=False) as made:
        there = made.entries((path,))
        made.lay({path: data})
        return made.entries((path,)) == there


def _without_patch(repository: Repository, change: FileChange, found: bytes | None) -> bytes | None:
    """Return `found` without the patch; None if they cannot be separated."""
    if found is None or change.before is None or change.after is None:
        return None
    return merge_bytes(repository, found, change.after, change.before)


def _restore(top: Path, temp: str, change: FileChange, found: bytes | None) -> bool:
    """Put the old content in place of `found`; return False if the file is not `found` any more."""
    ready, kept, place = top / f"{temp}.new", top / f"{temp}.old", top / change.path
    if change.before is not None:
        if found is not None and not kept.exists() and file_io.is_shared(place):
            return file_io.overwrite(place, found, change.before)
        file_io.remove(ready)
        if kept.exists() and kept.read_bytes() == change.before:
            kept.replace(ready)
        else:
            file_io.remove(kept)
            file_io.prepare(top, change.path, temp, change.before, change.mode)
    return file_io.install(top, change.path, temp, found, change.before, in_place=False)
