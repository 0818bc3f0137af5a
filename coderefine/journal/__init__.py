"""The record of runs, kept inside the git directory: append-only, checksummed, enough to show, resume and undo."""

from __future__ import annotations

from coderefine.journal.history import Summary, flock, lock, prune, runs
from coderefine.journal.ledger import Record
from coderefine.journal.nouns import Change, Ending, Meta, Publication, Staged
from coderefine.journal.run import Journal

__all__ = [
    "Change",
    "Ending",
    "Journal",
    "Meta",
    "Publication",
    "Record",
    "Staged",
    "Summary",
    "flock",
    "lock",
    "prune",
    "runs",
]
