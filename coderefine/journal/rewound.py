"""What the user's files were when a run began, as a patch over what they are now."""

from __future__ import annotations

import os
from collections.abc import Mapping

from coderefine import temporary
from coderefine.git import read_files, snapshot
from coderefine.journal.run import Journal


def rewound(journal: Journal) -> Mapping[str, bytes | None]:
    """Files that differ from those of the run's start, as they were then (None: no such file).

    Ignored files are not recorded: those are as they are. Raises GitError when the recorded objects are gone.
    """
    repository, start = journal.repository, journal.commit(0)
    if start is None:
        return {}
    with temporary.folder("replay") as folder:
        now = snapshot(repository, folder / "index")
    said = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", now, repository.tree(start))
    paths = [os.fsdecode(name) for name in said.split(b"\0") if name]
    if not paths:
        return {}
    entries = read_files(repository, start, paths)
    exact = _written_over(journal)
    committed = {path: entry.data if entry else None for path, entry in entries.items()}
    return {path: exact.get(path, data) for path, data in committed.items()}


def _written_over(journal: Journal) -> Mapping[str, bytes | None]:
    """What the run's own publication replaced, byte by byte: git's filters never saw it."""
    publication = journal.last_published()
    return {change.path: change.before for change in publication.changes} if publication else {}
