"""`--diff`: the patch as text, nothing written anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from coderefine.core import Outcome
from coderefine.git import diff_files
from coderefine.publishers.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Diff:
    snapshot: Snapshot
    name: str = "diff"

    def publish(self, outcome: Outcome) -> str:
        """The unified diff itself, undecodable bytes as surrogates. Raises GitError."""
        return self.text(outcome).decode("utf-8", "surrogateescape")

    def text(self, outcome: Outcome) -> bytes:
        """The diff against the tree that was judged: `git apply` takes it there."""
        files = outcome.best.patch.files
        originals = {path: self.snapshot.judged(path) for path in files}
        return diff_files(self.snapshot.repository, self.snapshot.head.sha, originals, files)
