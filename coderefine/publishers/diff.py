"""`--diff`: return the patch as text, write nothing."""

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
        """Return the unified diff; undecodable bytes are surrogates.

        Raises GitError.
        """
        return self.text(outcome).decode("utf-8", "surrogateescape")

    def text(self, outcome: Outcome) -> bytes:
        """Return the diff against the tree that was checked, to which `git apply` can apply it."""
        files = outcome.best.patch.files
        originals = {path: self.snapshot.judged(path) for path in files}
        return diff_files(self.snapshot.repository, self.snapshot.head.sha, originals, files)
