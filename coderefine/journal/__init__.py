"""The record of runs, kept inside the git directory: append-only, checksummed, enough to show, resume and undo."""

from __future__ import annotations

from coderefine.journal.ledger import Record
from coderefine.journal.nouns import Change, Ending, Meta, Publication, Staged
from coderefine.journal.run import Journal
from coderefine.journal.runs import Summary, lock, prune, runs

__all__ = [
    "Change",
    "Ending",
    "Journal",
    "Meta",
    "Publication",
    "Record",
    "Staged",
    "Summary",
    "lock",
    "prune",
    "runs",
]
