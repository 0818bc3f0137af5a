"""The record of runs, inside the git directory: append-only, checksummed, sufficient to show, resume and undo a run."""

from __future__ import annotations

from coderefine.journal.entries import FileChange, IndexChange, Meta, Publication
from coderefine.journal.journal import Journal
from coderefine.journal.run_list import Summary, flock, is_running, lock, prune, running, runs

__all__ = [
    "FileChange",
    "IndexChange",
    "Journal",
    "Meta",
    "Publication",
    "Summary",
    "flock",
    "is_running",
    "lock",
    "prune",
    "running",
    "runs",
]
