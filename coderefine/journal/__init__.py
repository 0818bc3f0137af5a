"""The record of runs, kept inside the git directory: append-only, checksummed, enough to show, resume and undo."""

from __future__ import annotations

from coderefine.journal.entries import Ending, FileChange, IndexChange, Meta, Publication
from coderefine.journal.journal import Journal
from coderefine.journal.run_list import Summary, flock, lock, prune, runs
from coderefine.journal.storage import Record

__all__ = [
    "Ending",
    "FileChange",
    "IndexChange",
    "Journal",
    "Meta",
    "Publication",
    "Record",
    "Summary",
    "flock",
    "lock",
    "prune",
    "runs",
]
