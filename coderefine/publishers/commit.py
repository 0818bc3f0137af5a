"""`--commit`: make a commit of HEAD plus exactly the patch on the current branch; the user's hooks run.

Order (numbers in parentheses: steps of `transaction`):
a. build the tree HEAD + patch, which is the tree that was proved; write the user's next index to a file of our own
b. announce the publication (1, 2); make index.lock a hard link to that file: from then on, no other git
   command can move HEAD or change the index
c. compare HEAD, files and index with the snapshot
d. replace the files (3, 4), so that hooks see the repaired tree
e. run `git commit` (5) with a separate index: what hooks stage is committed, what the user has staged is not
f. rename index.lock to the index (5): only the entries of committed paths change
If the process is killed before `git commit` moves HEAD, `recover` restores the files and removes the lock; if it is
killed later, `recover` completes the rest.
Hooks may reword the message and change the committed files, so the commit is recognised by its parent and its tree:
the planned tree, or that of the separate index, which still exists after a kill.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from coderefine.core import Outcome
from coderefine.core.plurals import listed
from coderefine.errors import PublishError
from coderefine.git import Repository, commit_with_hooks
from coderefine.journal import FileChange, IndexChange, Journal, Publication
from coderefine.publishers.message import PLAIN, Wording, author_env, changed_lines
from coderefine.publishers.restoration import as_committed
from coderefine.publishers.snapshot import Item, PatchedHead, Snapshot, merged
from coderefine.publishers.transaction import Hold, publish
from coderefine.publishers.user_index import UserIndex, parsed, shown


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit exactly HEAD plus the patch: edited, staged and untracked files stay uncommitted as they are."""

    snapshot: Snapshot
    wording: Wording = PLAIN

    def publish(self, outcome: Outcome) -> str:
        """Commit and return a line for the report.

        Raises PublishError if something changed meanwhile, a hook refused, or uncommitted work overlaps the patch; then
        nothing is changed.
        """
        repository, head = self.snapshot.repository, self.snapshot.head
        if operation := repository.under_way():
            raise PublishError(
                f"{operation} is under way, and a commit now would end it: finish it first, or use --patch"
            )
        author_env(self.wording.author)
        proved = self.snapshot.changes(outcome.best.patch)
        patched = self.snapshot.patched_head(proved)
        changes = self.snapshot.merged_changes(proved)
        index = UserIndex.read(repository)
        staged = _staged(index, patched)
        plan = Publication("commit", str(self.snapshot.top), changes, head.sha, head.ref, None, patched.tree, staged)
        plan = replace(plan, lock=index.compose(staged))
        message = self.wording.full(outcome, self.snapshot.journal.run)
        try:
            done = publish(
                self.snapshot.journal,
                plan,
                lambda: self._verify(changes, index),
                lambda now, lock, hold: self._commit(now, message, index, lock, hold),
            )
        finally:
            index.release(plan.lock)
        added = self._added(done)
        return f"committed {(done.commit or '')[:10]}: {changed_lines(proved)}{added}; undo: coderefine undo"

    def _added(self, done: Publication) -> str:
        """Return a text that names the files that the user's hooks changed after the proof; "" if there are none."""
        tree = self.snapshot.repository.tree(done.commit)
        if tree == done.tree:
            return ""
        changed = tuple(path for path, _ in self.snapshot.repository.differences(done.tree or "", tree))
        return f"; your hooks changed {listed(changed)} after the proof"

    def _verify(self, changes: tuple[FileChange, ...], index: UserIndex) -> None:
        index.acquire()
        self.snapshot.verify(changes)

    def _commit(self, plan: Publication, message: str, index: UserIndex, lock: int, hold: Hold) -> Publication:
        repository, made = self.snapshot.repository, False
        try:
            own = index.own(plan.tree or "")
            made = commit_with_hooks(repository, own, message, author_env(self.wording.author), (lock,))
            hold()
            commit = our_commit(self.snapshot.journal, plan, made=made)
            if commit is None:
                raise PublishError("HEAD moved while committing: look at `git log` and `git reflog` before going on")
            done = replace(plan, commit=commit)
            done = replace(done, changes=as_committed(repository, done))
            return finish_index(self.snapshot.journal, index, done)
        except BaseException:
            hold()
            # HEAD goes back after an interrupt, so that the files can be restored.
            if commit := our_commit(self.snapshot.journal, plan, made=made):
                repository.move_ref("HEAD", plan.head, commit, "coderefine: commit taken back", (lock,))
            raise


def finish_index(journal: Journal, index: UserIndex, done: Publication) -> Publication:
    """Update the user's index for the new commit; return `done` with all changes to the index."""
    staged = _after_hooks(journal.repository, index, done)
    if staged != done.staged:
        done = replace(done, staged=staged, lock=index.compose(staged))
        journal.publishing(done)
        index.replace_lock()
    try:
        index.commit()
    except PublishError:
        index.release(done.lock)
        raise
    return done


def _staged(index: UserIndex, patched: PatchedHead) -> tuple[IndexChange, ...]:
    """Return the changes to the user's index: staged work stays, with the patch applied on top."""
    mine = index.entries(patched.result)
    found = []
    for path, result in patched.result.items():
        entry, after = mine[path], result
        if entry != patched.head[path]:
            after = merged(index.repository, path, entry, patched.base[path], patched.theirs[path])
        found.append(IndexChange(path, shown(entry), shown(after)))
    return tuple(found)


def _after_hooks(repository: Repository, index: UserIndex, done: Publication) -> tuple[IndexChange, ...]:
    """Return `done.staged` with the changes that hooks made to the commit, or in commits after it.

    A path that a hook changed is updated only if its entry in the user's index was the same as in the old HEAD.
    """
    found = repository.differences(done.head or repository.tree(None), "HEAD")
    changed = {path: (_item(old_mode, old), _item(new_mode, new)) for path, (old_mode, new_mode, old, new) in found}
    planned = {item.path: item for item in done.staged}
    mine = index.entries({path: None for path in changed if path not in planned})
    for path, (was, now) in changed.items():
        known = planned.get(path)
        before = parsed(known.before) if known else mine[path]
        if before == was:
            planned[path] = IndexChange(path, shown(before), shown(now))
    return tuple(planned.values())


def _item(mode: str, blob: str) -> Item:
    return (int(mode, 8), blob) if int(mode, 8) else None


def our_commit(journal: Journal, plan: Publication, *, made: bool = False) -> str | None:
    """Return the commit that this run made on top of the old HEAD; None if it made none.

    Hooks may have added further commits on top of this commit. `made`: git has just reported success;
    then the parent alone identifies the commit, because we hold the lock of the index.
    """
    repository = journal.repository
    if repository.resolve("HEAD") in (None, plan.head):
        return None
    new = ("HEAD", f"^{plan.head}") if plan.head else ("HEAD",)
    first = repository.git("rev-list", "--first-parent", *new).decode().split()[-1:]
    if not first or repository.resolve(f"{first[0]}^") != plan.head:
        return None
    known = (
        made or first[0] == plan.commit or repository.tree(first[0]) in (plan.tree, UserIndex(repository).own_tree())
    )
    return first[0] if known else None
