"""`coderefine undo`: take back what a run wrote, unless the files or the branch have changed since."""

from __future__ import annotations

from dataclasses import replace

from coderefine.core.plurals import listed
from coderefine.errors import PublishError
from coderefine.git import Repository
from coderefine.git.process import names
from coderefine.journal import FileChange, IndexChange, Journal, Publication
from coderefine.publishers import file_io
from coderefine.publishers.message import changed_lines
from coderefine.publishers.transaction import Hold, publish
from coderefine.publishers.user_index import UserIndex, shown


def undo(journal: Journal) -> str:
    """Undo the run's publication; return a line about it.

    Raises PublishError if the run published nothing, or if a file, branch or HEAD is not as the run left it; then
    nothing is changed.
    """
    done = journal.publication()
    if done is None:
        why = "is undone already" if journal.undone() else "wrote nothing that could be undone"
        raise PublishError(f"run {journal.run} {why}")
    if done.how == "branch":
        return _branch(journal, done)
    if journal.repository.is_elsewhere(done.top):
        raise PublishError(f"run {journal.run} wrote to the working tree {done.top}: run undo there")
    done = replace(done, top=str(journal.repository.top))
    return _commit(journal, done) if done.how == "commit" else _files(journal, done)


def _files(journal: Journal, done: Publication) -> str:
    head = journal.repository.head()
    plan = Publication("undo", done.top, _reversed(done.changes), head.sha, head.ref, folders=done.folders)
    publish(journal, plan, lambda: _verify(journal, plan.changes))
    return f"undone: {changed_lines(plan.changes)}"


def _verify(journal: Journal, changes: tuple[FileChange, ...]) -> None:
    for change in changes:
        if file_io.current(journal.repository.top, change.path) != change.before:
            raise PublishError(
                f"{change.path} was changed after run {journal.run} wrote it, so nothing was undone: "
                f"`git diff refs/coderefine/{journal.run}/0 -- {change.path}` shows both"
            )


def _branch(journal: Journal, done: Publication) -> str:
    repository, ref = journal.repository, done.ref or ""
    short = ref.removeprefix("refs/heads/")
    if repository.resolve(ref) != done.commit:
        raise PublishError(f"the branch {short} is not what run {journal.run} left; delete it yourself if you want to")
    listing = repository.git("worktree", "list", "--porcelain").decode("utf-8", "replace")
    if f"branch {ref}" in listing.splitlines():
        raise PublishError(f"the branch {short} is checked out: switch to another one, then undo")
    repository.move_ref(ref, None, done.commit, "coderefine undo")
    journal.unpublished(done)
    return f"undone: the branch {short} is gone"


def _commit(journal: Journal, done: Publication) -> str:
    repository = journal.repository
    commit = done.commit or ""
    head = repository.head()
    if (head.sha, head.ref) != (commit, done.ref):
        raise PublishError(f"HEAD is not the commit of run {journal.run} any more: use `git revert {commit[:10]}`")
    if repository.git("for-each-ref", "--contains", commit, "refs/remotes"):
        raise PublishError(f"the commit {commit[:10]} was pushed already: use `git revert {commit[:10]}`")
    if operation := repository.under_way():
        raise PublishError(f"{operation} is under way: finish it first")
    index = UserIndex.read(repository)
    now = index.entries({item.path: None for item in done.staged})
    unchanged = (item for item in done.staged if shown(now[item.path]) == item.after)
    staged = tuple(IndexChange(item.path, item.after, item.before) for item in unchanged)
    plan = Publication("undo", done.top, _reversed(done.changes), commit, done.ref, done.head, staged=staged)
    plan = replace(plan, lock=index.compose(staged), folders=done.folders)

    def check() -> None:
        index.acquire()
        _verify(journal, plan.changes)

    def move_back(plan: Publication, lock: int, hold: Hold) -> Publication:
        """Move HEAD back by compare-and-swap, then restore the index; other edited or staged files do not change."""
        hold()
        repository.move_ref("HEAD", plan.commit, plan.head, "coderefine undo", (lock,))
        try:
            index.commit()
        except PublishError:
            repository.move_ref("HEAD", plan.head, plan.commit, "coderefine: undo taken back", (lock,))
            raise
        return plan

    try:
        publish(journal, plan, check, move_back)
    finally:
        index.release(plan.lock)
    gone = f"undone: the commit {commit[:10]} is gone from {head.branch or 'HEAD'}, {_restored(plan)}"
    return gone + _added_by_hooks(repository, done)


def _restored(plan: Publication) -> str:
    return changed_lines(plan.changes) if plan.changes else "your files stay as they are"


def _added_by_hooks(repository: Repository, done: Publication) -> str:
    """Return a text that names the files that hooks added to the commit and that still differ; "" if there are none.

    They are not restored, because hooks may have committed the user's work.
    """
    ours = {change.path for change in done.changes}
    found = repository.differences(done.tree, repository.tree(done.commit)) if done.tree else ()
    others = [path for path, _ in found if path not in ours]
    if not others:
        return ""
    what = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *others)
    status = names(repository.git(*what, env={"GIT_LITERAL_PATHSPECS": "1"}))
    left = [line[3:] for line in status]
    return f"; your hooks committed more, which stays in the tree: {listed(left)}" if left else ""


def _reversed(changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    return tuple(FileChange(change.path, change.after, change.before, change.mode) for change in changes)
