"""git: a small typed view of one repository; the only package that touches GitPython, and only to read objects."""

from __future__ import annotations

from coderefine.git.commit import commit_with_hooks
from coderefine.git.mail import mail
from coderefine.git.merge import merge, merge_bytes
from coderefine.git.objects import TreeFile, read_blobs, read_files
from coderefine.git.patch_format import diff, diff_files, stat
from coderefine.git.repository import Head, Repository
from coderefine.git.scratch import Scratch, copy_index, entries_of, scratch, snapshot, strangers

__all__ = [
    "Head",
    "Repository",
    "Scratch",
    "TreeFile",
    "commit_with_hooks",
    "copy_index",
    "diff",
    "diff_files",
    "entries_of",
    "mail",
    "merge",
    "merge_bytes",
    "read_blobs",
    "read_files",
    "scratch",
    "snapshot",
    "stat",
    "strangers",
]
