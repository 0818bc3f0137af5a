"""Finish or take back a publication that a killed process left incomplete."""

from __future__ import annotations

import os
from dataclasses import replace

from coderefine.errors import JournalError
from coderefine.git import Repository
from coderefine.journal import Journal, Publication
from coderefine.publishers import file_io, transaction
from coderefine.publishers.commit import finish_index, our_commit
from coderefine.publishers.restoration import as_committed, take_back
from coderefine.publishers.user_index import UserIndex


def recover(repository: Repository, *, patience: float = transaction.ORPHANS) -> str | None:
    """Complete or undo a publication that a killed run left incomplete; return a line about it, or None.

    Usually there is no marker file, and nothing is done. Raises PublishError if another process is still writing after
    `patience` seconds, and JournalError if the run's record is lost.
    """
    path = transaction.marker(repository)
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        transaction.claim(handle, patience)
        run = os.read(handle, 100).decode("ascii", "replace")
        message = _repair(_interrupted(repository, run)) if run else None
        file_io.remove(path)
        return message
    finally:
        os.close(handle)


def _interrupted(repository: Repository, run: str) -> Journal:
    """Return the record of the interrupted `run`.

    Raises JournalError, with what the user can do, if the record is missing or damaged.
    """
    try:
        journal = Journal.load(repository, run)
        _ = journal.intent(), journal.last_published()
    except JournalError as error:
        raise JournalError(
            f"run {run} was interrupted while writing, and its record is missing or damaged: look at `git status`, and "
            f"for .coderefine-{run}-*.old (files as they were before), then remove {transaction.marker(repository)}"
        ) from error
    return journal


def _repair(journal: Journal) -> str | None:
    plan = journal.intent()
    if plan is None:
        # Killed after its last record: remove the hard links and the index that it left.
        UserIndex(journal.repository).tidy()
        if last := journal.last_published():
            transaction.clean(journal.repository.top, last)
        return None
    index = UserIndex(journal.repository)
    what = {"undo": "undoing its patch", "commit": "committing"}.get(plan.how, "writing")
    start = f"run {journal.run} was interrupted while {what}; "
    if done := _reached(journal, plan):
        _finish(journal, index, done)
        return start + "it is complete now"
    in_use = journal.repository.resolve("HEAD") != plan.head or bool(plan.lock and not index.holds(plan.lock))
    try:
        lines = take_back(journal, plan, in_use=in_use).lines
    finally:
        index.release(plan.lock)
    transaction.clean(journal.repository.top, plan)
    transaction.give_up(journal, plan)
    if lines:
        return start + "; ".join(("what it wrote is taken back", *lines))
    return start + "everything is as it was before"


def _reached(journal: Journal, plan: Publication) -> Publication | None:
    """Return the plan if it was carried out far enough to complete it; None if it must be undone."""
    if plan.how == "commit":
        commit = our_commit(journal, plan)
        return replace(plan, commit=commit) if commit else None
    if plan.lock:
        return plan if journal.repository.resolve("HEAD") == plan.commit else None
    top = journal.repository.top
    return plan if all(file_io.current(top, change.path) == change.after for change in plan.changes) else None


def _finish(journal: Journal, index: UserIndex, done: Publication) -> None:
    top = journal.repository.top
    if index.holds(done.lock):
        if index.is_ready(done.lock):
            index.replace_lock()
        if done.how == "undo":
            index.commit()
        else:
            done = finish_index(journal, index, done)
    transaction.clean(top, done)
    transaction.settle(journal, replace(done, changes=as_committed(journal.repository, done)))
    index.tidy()
