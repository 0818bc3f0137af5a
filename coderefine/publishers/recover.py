"""Finish or take back a publication that a killed process left incomplete."""

from __future__ import annotations

import os
from dataclasses import replace

from coderefine.git import Repository
from coderefine.journal import Journal, Publication
from coderefine.publishers import disk, swap
from coderefine.publishers.commit import finish_index, our_commit
from coderefine.publishers.index import Index


def recover(repository: Repository, *, patience: float = swap.ORPHANS) -> str | None:
    """Repair what a killed run left half written; return a line that says so, or None.

    Usually costs one stat. Raises PublishError when another process is still writing after `patience` seconds.
    """
    path = swap.marker(repository)
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        swap.claim(handle, patience)
        run = os.read(handle, 100).decode("ascii", "replace")
        said = _mend(Journal.load(repository, run)) if run else None
        disk.remove(path)
        return said
    finally:
        os.close(handle)


def _mend(journal: Journal) -> str | None:
    plan = journal.intent()
    if plan is None:
        _leftovers(journal)
        return None
    index = Index(journal.repository)
    undoing = journal.last_published() if plan.how == "undo" else None
    what = "undoing its patch" if undoing else "committing" if plan.how == "commit" else "writing"
    said = f"run {journal.run} was interrupted while {what}; "
    if done := _reached(journal, plan):
        _finish(journal, index, done, undoing)
        return said + "it is complete now"
    index.release(plan.lock)
    made_way: list[str] = []

    def keep(data: bytes) -> str:
        made_way.append(journal.keep(data))
        return made_way[-1]

    left = swap.take_back(journal.repository.top, plan, keep if plan.how == "commit" else None)
    swap.clean(journal.repository.top, plan)
    swap.give_up(journal, plan, undoing)
    if left:
        return said + f"what it wrote is taken back, but not in {', '.join(left)}, which you changed since"
    kept = f"; what hooks made of the files is kept: {', '.join(made_way)}" if made_way else ""
    return said + f"everything is as it was before{kept}"


def _leftovers(journal: Journal) -> None:
    """Remove the hard links of a publication whose process was killed after its last record."""
    done = journal.last_published()
    if done:
        swap.clean(journal.repository.top, done)


def _reached(journal: Journal, plan: Publication) -> Publication | None:
    """Return the plan when enough of it was carried out to finish it; None when it has to be taken back."""
    if plan.how == "commit":
        commit = our_commit(journal, plan)
        return replace(plan, commit=commit) if commit else None
    if plan.lock:
        return plan if journal.repository.resolve("HEAD") == plan.commit else None
    top = journal.repository.top
    return plan if all(disk.current(top, change.path) == change.after for change in plan.changes) else None


def _finish(journal: Journal, index: Index, done: Publication, undoing: Publication | None) -> None:
    top = journal.repository.top
    if index.holds(done.lock):
        if index.is_ready(done.lock):
            index.replace_lock()
        if undoing:
            index.commit()
        else:
            done = finish_index(journal, index, done)
    index.tidy()
    swap.clean(top, done)
    found = tuple(replace(change, after=disk.current(top, change.path)) for change in done.changes)
    swap.settle(journal, replace(done, changes=found), undoing)
