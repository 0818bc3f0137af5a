"""Publish as files: into the working tree (the default), as a diff on stdout, or as a mail for `git am`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Outcome
from coderefine.core.plurals import listed
from coderefine.errors import JournalError, PublishError
from coderefine.git import diff, diff_files, is_own_mail, mail, scratch, stat
from coderefine.journal import Publication, storage
from coderefine.publishers.message import AUTHOR, PLAIN, Wording, changed_lines
from coderefine.publishers.snapshot import Snapshot, programs
from coderefine.publishers.transaction import publish

UNKNOWN = "coderefine <coderefine@localhost>"


@dataclass(frozen=True, slots=True)
class Files:
    """Write the patch into the working tree; `undo` is possible, and index, HEAD and stash stay as they are."""

    snapshot: Snapshot

    def publish(self, outcome: Outcome) -> str:
        """Write the patch and return a line for the report.

        Raises PublishError if the tree or HEAD changed, or if a file cannot be written; then nothing is written.
        """
        changes = self.snapshot.changes(outcome.best.patch)
        plan = Publication("files", str(self.snapshot.top), changes, self.snapshot.head.sha, self.snapshot.head.ref)
        publish(self.snapshot.journal, plan, lambda: self.snapshot.verify(changes))
        return f"wrote {changed_lines(changes)}; undo: coderefine undo"


@dataclass(frozen=True, slots=True)
class Diff:
    """`--diff`: return the patch as text, write nothing."""

    snapshot: Snapshot

    def publish(self, outcome: Outcome) -> str:
        """Return the unified diff; undecodable bytes are surrogates.

        Raises GitError.
        """
        return self.text(outcome).decode("utf-8", "surrogateescape")

    def text(self, outcome: Outcome) -> bytes:
        """Return the diff from the tree that was checked; `git apply` can apply the diff to that tree."""
        patch = outcome.best.patch
        originals = {path: self.snapshot.judged(path) for path in patch.files}
        return diff_files(self.snapshot.repository, self.snapshot.head.sha, originals, patch.files, patch.programs)


def check_target(file: Path) -> None:
    """Raise PublishError if `file` exists, unless it is a patch that an earlier run wrote."""
    try:
        free = not file.exists() or (file.is_file() and is_own_mail(file.read_bytes()))
    except OSError as error:
        raise PublishError(f"{file} cannot be read: {error.strerror}") from error
    if not free:
        raise PublishError(f"{file} exists and is no patch of coderefine: name another file for the patch")


@dataclass(frozen=True, slots=True)
class PatchFile:
    """`--patch FILE`: write one mail to a file, and change nothing else.

    If the patch was proved on HEAD, users apply the file with `git am` to HEAD; otherwise with `git apply` to the
    working tree with its uncommitted work.
    """

    snapshot: Snapshot
    target: Path
    wording: Wording = PLAIN

    def publish(self, outcome: Outcome) -> str:
        """Write the mail and return a line for the report.

        Raises PublishError if `target` is a file of the user, or cannot be written.
        """
        changes = self.snapshot.changes(outcome.best.patch)
        uncommitted = self.snapshot.uncommitted()
        repository = self.snapshot.repository
        before = repository.tree(self.snapshot.head.sha)
        if uncommitted:
            with scratch(repository, before) as made:
                made.lay({change.path: change.before for change in changes})
                before = made.write()
                made.lay({change.path: change.after for change in changes}, programs(changes))
                after = made.write()
        else:
            after = self.snapshot.patched_head(changes).tree
        subject, _, rest = self.wording.full(outcome, self.snapshot.journal.run).partition("\n")
        text = mail(
            author=self._author(),
            subject=subject,
            body=rest.strip(),
            stat=stat(repository, before, after),
            diff=diff(repository, before, after),
            when=time.time(),
        )
        try:
            check_target(self.target)
            storage.write(self.target.resolve(), text)
        except JournalError as error:
            raise PublishError(f"{self.target} cannot be written: {error.__cause__}") from error
        if uncommitted:
            advice = f"it was proved on uncommitted work in {listed(uncommitted)}, apply it there with"
            return f"wrote {self.target}; {advice}: git apply {self.target}"
        return f"wrote {self.target}; apply it with: git am {self.target}"

    def _author(self) -> str:
        if self.wording.author and AUTHOR.match(self.wording.author):
            return self.wording.author
        result = self.snapshot.repository.run("var", "GIT_AUTHOR_IDENT")
        author = result.stdout.decode("utf-8", "replace").rpartition(">")[0]
        return author + ">" if author and result.returncode == 0 else UNKNOWN
