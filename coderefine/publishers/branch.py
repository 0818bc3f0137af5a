"""Publish a patch on another branch: in this repository, at `origin`, or for a pull request; nothing is checked out."""

from __future__ import annotations

from dataclasses import dataclass

from coderefine.core import Outcome
from coderefine.errors import PublishError
from coderefine.journal import Publication
from coderefine.publishers.hosts.hosted import HostedRepository
from coderefine.publishers.message import PLAIN, RUN, Wording, author_env, changed_lines
from coderefine.publishers.snapshot import Snapshot

ORIGIN = "origin"
"""The remote to which branches are pushed."""


@dataclass(frozen=True, slots=True)
class Branch:
    """`--branch NAME`: commit on a new branch on top of HEAD.

    Git hooks do not run, since nothing is checked out; they run when the branch is pushed or merged.
    """

    snapshot: Snapshot
    branch: str
    wording: Wording = PLAIN

    def publish(self, outcome: Outcome) -> str:
        """Create the branch, unless it exists with this patch; return a line for the report.

        Raises PublishError if the name is invalid, if HEAD moved, or if the branch exists with other content.
        """
        repository, head = self.snapshot.repository, self.snapshot.head
        ref = f"refs/heads/{self.branch}"
        if repository.run("check-ref-format", ref).returncode:
            raise PublishError(f"{self.branch!r} cannot be the name of a branch: choose another for --branch")
        changes = self.snapshot.changes(outcome.best.patch)
        self.snapshot.check_head()
        tree = self.snapshot.patched_head(changes).tree
        if existing := repository.resolve(ref):
            if self.snapshot.is_on_head(existing, tree):
                return f"branch {self.branch} already has this repair ({existing[:10]})"
            raise PublishError(f"the branch {self.branch} exists with other content: choose another name")
        message = self.wording.full(outcome, self.snapshot.journal.run)
        sign = repository.setting("commit.gpgSign") in ("true", "yes", "on", "1")
        commit = repository.commit_tree(tree, head.sha, message, author_env(self.wording.author), sign=sign)
        repository.move_ref(ref, commit, None, "coderefine")
        self.snapshot.journal.published(Publication("branch", str(self.snapshot.top), (), head.sha, ref, commit, tree))
        return f"branch {self.branch} is {commit[:10]}: {changed_lines(changes)}; undo: coderefine undo"


@dataclass(frozen=True, slots=True)
class PushedCommit:
    """The new commit of the remote branch, and a line about it for the report."""

    commit: str
    line: str


@dataclass(frozen=True, slots=True)
class Push:
    """Push HEAD plus the patch to `branch` of `origin`; nothing changes locally.

    `own`: the branch is coderefine's and may be rewritten, as long as it has no commits of others.
    """

    snapshot: Snapshot
    branch: str
    wording: Wording = PLAIN
    own: bool = False

    def push(self, outcome: Outcome) -> PushedCommit:
        """Push, and return the new commit; with `own`, a branch that already has the patch stays as it is.

        Raises PublishError if the remote branch is not at the commit on which the patch was proved (with `own`: if its
        newest commit is of another author), or if git refuses.
        """
        repository, head = self.snapshot.repository, self.snapshot.head
        if head.sha is None:
            raise PublishError("there is no commit to push on")
        ref = f"refs/heads/{self.branch}"
        listing = repository.run("ls-remote", ORIGIN, ref)
        if listing.returncode:
            raise PublishError(f"git cannot ask {ORIGIN}: {listing.complaint}")
        there = listing.text.split("\t")[0].strip()
        if not self.own and there != head.sha:
            raise PublishError(f"{ORIGIN}/{self.branch} moved since the run began, so nothing was pushed: run again")
        changes = self.snapshot.changes(outcome.best.patch)
        tree = self.snapshot.patched_head(changes).tree
        if self.own and there and self._is_pushed(ref, there, tree):
            return PushedCommit(there, f"{self.branch} already has this repair ({there[:10]})")
        message = self.wording.full(outcome, self.snapshot.journal.run)
        commit = repository.commit_tree(tree, head.sha, message, author_env(self.wording.author))
        pushed = repository.run("push", "--quiet", f"--force-with-lease={ref}:{there}", ORIGIN, f"{commit}:{ref}")
        if pushed.returncode:
            raise PublishError(f"git would not push to {ORIGIN}/{self.branch}: {pushed.complaint}")
        return PushedCommit(commit, f"pushed {commit[:10]} to {self.branch}: {changed_lines(changes)}")

    def _is_pushed(self, ref: str, there: str, tree: str) -> bool:
        """Return whether the remote branch, which is coderefine's own, already has this patch.

        Raises PublishError if its newest commit was not made by coderefine.
        """
        repository = self.snapshot.repository
        repository.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", ORIGIN, ref)
        if f"\n{RUN}: " not in repository.run("log", "-1", "--format=%B", there).text:
            branch = f"{ORIGIN}/{self.branch}"
            raise PublishError(f"{branch} has a commit of another author: merge or delete it, then run again")
        return self.snapshot.is_on_head(there, tree)


@dataclass(frozen=True, slots=True)
class PullRequest:
    """`--pull-request BRANCH`: push HEAD plus the patch to a branch of `origin`, and open a pull request for it.

    The branch is coderefine's own: a later run rewrites it, as long as it has no commits of others.
    """

    snapshot: Snapshot
    branch: str
    wording: Wording = PLAIN

    def publish(self, outcome: Outcome) -> str:
        """Push, open the pull request unless there is one, and return a line for the report. Raises PublishError."""
        home = HostedRepository.of(self.snapshot.repository)
        line = Push(self.snapshot, self.branch, wording=self.wording, own=True).push(outcome).line
        return f"{line}; {home.request_merge(self.branch, self.snapshot.head.branch or '', outcome, self.wording)}"
