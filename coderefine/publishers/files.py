"""The default: the proved patch goes into the working tree, and the run keeps what is needed to undo it."""

from __future__ import annotations

from dataclasses import dataclass

from coderefine.core import Outcome
from coderefine.journal import Publication
from coderefine.publishers.snapshot import Snapshot
from coderefine.publishers.swap import publish
from coderefine.publishers.wrote import wrote


@dataclass(frozen=True, slots=True)
class Files:
    """Writes files; index, HEAD and stash are not touched."""

    snapshot: Snapshot
    name: str = "files"

    def publish(self, outcome: Outcome) -> str:
        """Raises PublishError when the tree or HEAD moved, or a file cannot be written; then nothing was."""
        changes = self.snapshot.changes(outcome.best.patch)
        plan = Publication("files", str(self.snapshot.top), changes, self.snapshot.head.sha, self.snapshot.head.ref)
        publish(self.snapshot.journal, plan, lambda: self.snapshot.verify(changes))
        return f"wrote {wrote(changes)}; undo: coderefine undo"
