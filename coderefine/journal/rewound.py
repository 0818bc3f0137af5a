"""What the judged files were when a run began, as a patch over what the user's files are now."""

from __future__ import annotations

import os
from collections.abc import Mapping

from coderefine import temporary
from coderefine.git import read_files, snapshot, strangers
from coderefine.git.changes import contents
from coderefine.journal.run import Journal

LINK = 0o120000


def rewound(journal: Journal) -> Mapping[str, bytes | None]:
    """Files that differ from those of the run's start, as they were then (None: no such file).

    Ignored files are not recorded: those are as they are. Raises GitError when the recorded objects are gone.
    """
    start = journal.commit(0)
    if start is None:
        return {}
    tracked = _tracked(journal, start)
    then, now = journal.untracked(), strangers(journal.repository)
    beside = {path: then.get(path) for path in {**then, **now} if then.get(path) != now.get(path)}
    found = {**beside, **{path: then.get(path, data) for path, data in tracked.items()}}
    exact = _written_over(journal)
    return {path: exact.get(path, data) for path, data in found.items()}


def _tracked(journal: Journal, start: str) -> Mapping[str, bytes | None]:
    """Paths at which the tracked files of now differ from those of `start`, with what was tracked there then."""
    repository = journal.repository
    with temporary.folder("replay") as folder:
        now = snapshot(repository, folder / "index")
    said = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", now, repository.tree(start))
    paths = [os.fsdecode(name) for name in said.split(b"\0") if name]
    entries = read_files(repository, start, paths) if paths else {}
    files = contents(repository.top, start, [path for path, entry in entries.items() if entry and entry.mode != LINK])
    return {path: files.get(path) for path, entry in entries.items() if entry is None or path in files}


def _written_over(journal: Journal) -> Mapping[str, bytes | None]:
    """What the run's own publication replaced, byte by byte: git's filters never saw it.

    Only where the files that lie there were judged: a commit is judged without the user's dirty work.
    """
    publication = journal.last_published()
    if publication is None or publication.how != "files":
        return {}
    return {change.path: change.before for change in publication.changes}
