"""The default publisher: write the proved patch into the working tree, and keep what is needed to undo it."""

from __future__ import annotations

from dataclasses import dataclass

from coderefine.core import Outcome
from coderefine.journal import Publication
from coderefine.publishers.snapshot import Snapshot
from coderefine.publishers.transaction import publish
from coderefine.publishers.wrote import wrote


@dataclass(frozen=True, slots=True)
class Files:
    """Write files; index, HEAD and stash stay as they are."""

    snapshot: Snapshot
    name: str = "files"

    def publish(self, outcome: Outcome) -> str:
        """Write the patch.

        Raises PublishError when the tree or HEAD changed, or a file cannot be written; then nothing is.
        """
        changes = self.snapshot.changes(outcome.best.patch)
        plan = Publication("files", str(self.snapshot.top), changes, self.snapshot.head.sha, self.snapshot.head.ref)
        publish(self.snapshot.journal, plan, lambda: self.snapshot.verify(changes))
        return f"wrote {wrote(changes)}; undo: coderefine undo"
