"""`--branch NAME`: commit on a new branch on top of HEAD; nothing is checked out or written to the working tree."""

from __future__ import annotations

from dataclasses import dataclass

from coderefine.core import Outcome
from coderefine.errors import PublishError
from coderefine.journal import Publication
from coderefine.publishers.identity import author_env
from coderefine.publishers.message import PLAIN, Wording
from coderefine.publishers.snapshot import Snapshot
from coderefine.publishers.wrote import wrote


@dataclass(frozen=True, slots=True)
class Branch:
    """Commit on a new branch.

    Git hooks do not run, since nothing is checked out; they run when the branch is pushed or merged.
    """

    snapshot: Snapshot
    branch: str
    wording: Wording = PLAIN
    name: str = "branch"

    def publish(self, outcome: Outcome) -> str:
        """Create the branch.

        Raises PublishError when HEAD moved, or the branch exists with something else.
        """
        repository, head = self.snapshot.repository, self.snapshot.head
        ref = self._ref()
        changes = self.snapshot.changes(outcome.best.patch)
        self.snapshot.check_head()
        done = self.snapshot.graft(changes)
        if existing := repository.resolve(ref):
            return self._same(existing, done.tree)
        message = self.wording.full(outcome, self.snapshot.journal.run)
        sign = repository.setting("commit.gpgSign") in ("true", "yes", "on", "1")
        commit = repository.commit_tree(done.tree, head.sha, message, author_env(self.wording.author), sign=sign)
        repository.move_ref(ref, commit, None, "coderefine")
        self.snapshot.journal.published(
            Publication("branch", str(self.snapshot.top), (), head.sha, ref, commit, done.tree)
        )
        return f"branch {self.branch} is {commit[:10]}: {wrote(changes)}; undo: coderefine undo"

    def _ref(self) -> str:
        if self.snapshot.repository.run("check-ref-format", f"refs/heads/{self.branch}").returncode:
            raise PublishError(f"{self.branch!r} cannot be the name of a branch: choose another for --branch")
        return f"refs/heads/{self.branch}"

    def _same(self, existing: str, tree: str) -> str:
        """Return whether an existing branch holds this very repair."""
        repository = self.snapshot.repository
        parent = repository.resolve(f"{existing}^")
        if repository.tree(existing) == tree and parent == self.snapshot.head.sha:
            return f"branch {self.branch} holds this repair already ({existing[:10]})"
        raise PublishError(f"the branch {self.branch} exists and holds something else: choose another name")
