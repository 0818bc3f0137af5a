"""Push the proved patch as a commit on a branch of a remote; nothing local changes."""

from __future__ import annotations

from dataclasses import dataclass

from coderefine.core import Outcome
from coderefine.errors import PublishError
from coderefine.publishers.identity import author_env
from coderefine.publishers.message import PLAIN, RUN, Wording
from coderefine.publishers.snapshot import Snapshot
from coderefine.publishers.wrote import wrote


@dataclass(frozen=True, slots=True)
class Landed:
    """The new commit of the remote branch, and a line that says so."""

    commit: str
    line: str


@dataclass(frozen=True, slots=True)
class Push:
    """Push HEAD plus the patch to `branch` of `remote`.

    `own`: the branch is coderefine's and may be rewritten, as long as it has no commits of others.
    """

    snapshot: Snapshot
    branch: str
    remote: str = "origin"
    wording: Wording = PLAIN
    own: bool = False
    name: str = "push"

    def publish(self, outcome: Outcome) -> str:
        """Push, and return a line that says so; see `land`."""
        return self.land(outcome).line

    def land(self, outcome: Outcome) -> Landed:
        """Push.

        Raises PublishError when the remote branch is not at the commit that was proved on, or git refuses.
        """
        repository, head = self.snapshot.repository, self.snapshot.head
        if head.sha is None:
            raise PublishError("there is no commit to push on")
        ref = f"refs/heads/{self.branch}"
        there = self._there(ref)
        if not self.own and there != head.sha:
            raise PublishError(
                f"{self.remote}/{self.branch} moved since the run began, so nothing was pushed: run again"
            )
        changes = self.snapshot.changes(outcome.best.patch)
        tree = self.snapshot.graft(changes).tree
        if self.own and there and self._same(ref, there, tree):
            return Landed(there, f"{self.branch} holds this repair already ({there[:10]})")
        message = self.wording.full(outcome, self.snapshot.journal.run)
        commit = repository.commit_tree(tree, head.sha, message, author_env(self.wording.author))
        said = repository.run("push", "--quiet", f"--force-with-lease={ref}:{there}", self.remote, f"{commit}:{ref}")
        if said.returncode:
            raise PublishError(f"git would not push to {self.remote}/{self.branch}: {said.complaint}")
        return Landed(commit, f"pushed {commit[:10]} to {self.branch}: {wrote(changes)}")

    def _same(self, ref: str, there: str, tree: str) -> bool:
        """Return whether our branch holds this patch already.

        Raises PublishError when its newest commit is not ours.
        """
        repository = self.snapshot.repository
        repository.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.remote, ref)
        if f"\n{RUN}: " not in repository.run("log", "-1", "--format=%B", there).text:
            branch = f"{self.remote}/{self.branch}"
            raise PublishError(f"{branch} has a commit of another author: merge or delete it, then run again")
        return repository.tree(there) == tree and repository.resolve(f"{there}^") == self.snapshot.head.sha

    def _there(self, ref: str) -> str:
        """Return the commit of the remote branch; "" for none."""
        said = self.snapshot.repository.run("ls-remote", self.remote, ref)
        if said.returncode:
            raise PublishError(f"git cannot ask {self.remote}: {said.complaint}")
        return said.text.split("\t")[0].strip()
