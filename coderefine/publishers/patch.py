"""`--patch FILE`: one mail that `git am` takes; nothing else is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Outcome
from coderefine.errors import JournalError, PublishError
from coderefine.git import diff, mail, scratch, stat
from coderefine.journal import durable
from coderefine.publishers.graft import graft
from coderefine.publishers.identity import AUTHOR
from coderefine.publishers.message import PLAIN, Wording
from coderefine.publishers.snapshot import Snapshot

UNKNOWN = "coderefine <coderefine@localhost>"


@dataclass(frozen=True, slots=True)
class PatchFile:
    """The mail is against HEAD where the patch can stand on it alone, else against the dirty working tree."""

    snapshot: Snapshot
    target: Path
    wording: Wording = PLAIN
    name: str = "patch"

    def publish(self, outcome: Outcome) -> str:
        """Raises PublishError when `target` cannot be written."""
        before, after, base = self._trees(outcome)
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
            durable.write(self.target, text)
        except JournalError as error:
            raise PublishError(f"{self.target} cannot be written: {error.__cause__}") from error
        return f"wrote {self.target}; apply it with: git {'am' if base == 'HEAD' else 'apply'} {self.target}"

    def _trees(self, outcome: Outcome) -> tuple[str, str, str]:
        """Tree before, tree after, and what the first is: HEAD, or the working tree."""
        repository, head = self.snapshot.repository, self.snapshot.head.sha
        changes = self.snapshot.changes(outcome.best.patch)
        start = repository.tree(head)
        try:
            return start, graft(repository, head, changes).tree, "HEAD"
        except PublishError:
            with scratch(repository, start) as made:
                made.lay({change.path: change.before for change in changes})
                before = made.write()
                made.lay({change.path: change.after for change in changes})
                return before, made.write(), "the working tree"

    def _author(self) -> str:
        if self.wording.author and AUTHOR.match(self.wording.author):
            return self.wording.author
        said = self.snapshot.repository.run("var", "GIT_AUTHOR_IDENT")
        who = said.stdout.decode("utf-8", "replace").rpartition(">")[0]
        return who + ">" if who and said.returncode == 0 else UNKNOWN
