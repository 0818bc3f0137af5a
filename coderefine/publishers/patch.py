"""`--patch FILE`: write one mail for `git am`, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Outcome
from coderefine.errors import JournalError, PublishError
from coderefine.git import diff, mail, scratch, stat
from coderefine.journal import FileChange, storage
from coderefine.judge import listed
from coderefine.publishers.identity import AUTHOR
from coderefine.publishers.message import PLAIN, Wording
from coderefine.publishers.snapshot import Snapshot

UNKNOWN = "coderefine <coderefine@localhost>"


@dataclass(frozen=True, slots=True)
class PatchFile:
    """Write a mail.

    `git am` applies it to HEAD where HEAD was proved, else to the working tree with its uncommitted work.
    """

    snapshot: Snapshot
    target: Path
    wording: Wording = PLAIN
    name: str = "patch"

    def publish(self, outcome: Outcome) -> str:
        """Write the mail.

        Raises PublishError when `target` cannot be written.
        """
        changes = self.snapshot.changes(outcome.best.patch)
        strayed = self.snapshot.strayed()
        before, after = self._trees(changes, exact=not strayed)
        repository = self.snapshot.repository
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
            storage.write(self.target, text)
        except JournalError as error:
            raise PublishError(f"{self.target} cannot be written: {error.__cause__}") from error
        if strayed:
            said = f"it was proved on uncommitted work in {listed(strayed)}, apply it there with"
            return f"wrote {self.target}; {said}: git apply {self.target}"
        return f"wrote {self.target}; apply it with: git am {self.target}"

    def _trees(self, changes: Sequence[FileChange], *, exact: bool) -> tuple[str, str]:
        """Return the trees before and after: of HEAD and HEAD plus the patch, or of the working tree."""
        repository = self.snapshot.repository
        start = repository.tree(self.snapshot.head.sha)
        if exact:
            return start, self.snapshot.graft(changes).tree
        with scratch(repository, start) as made:
            made.lay({change.path: change.before for change in changes})
            before = made.write()
            made.lay({change.path: change.after for change in changes})
            return before, made.write()

    def _author(self) -> str:
        if self.wording.author and AUTHOR.match(self.wording.author):
            return self.wording.author
        said = self.snapshot.repository.run("var", "GIT_AUTHOR_IDENT")
        who = said.stdout.decode("utf-8", "replace").rpartition(">")[0]
        return who + ">" if who and said.returncode == 0 else UNKNOWN
