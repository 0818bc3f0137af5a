"""Publish a proved patch: write it to files, a commit, a branch, or a pull request.

Every publisher is a compare-and-swap: it never overwrites what changed since the snapshot. The modules `transaction`
and `commit` describe the order of writes to the disk, and the state that a killed process leaves behind.
"""

from __future__ import annotations

from coderefine.publishers.branch import Branch, PullRequest
from coderefine.publishers.commit import Commit
from coderefine.publishers.files import Diff, Files, PatchFile, check_target
from coderefine.publishers.message import Wording
from coderefine.publishers.recover import recover
from coderefine.publishers.snapshot import Snapshot
from coderefine.publishers.undo import undo

__all__ = [
    "Branch",
    "Commit",
    "Diff",
    "Files",
    "PatchFile",
    "PullRequest",
    "Snapshot",
    "Wording",
    "check_target",
    "recover",
    "undo",
]
