"""A small typed interface to one git repository; the only user of GitPython, which only reads objects."""

from __future__ import annotations

from coderefine.git.objects import merge, merge_bytes, read_blobs, read_files
from coderefine.git.patch_format import diff, diff_files, is_own_mail, mail, stat
from coderefine.git.repository import Head, Repository, commit_with_hooks
from coderefine.git.scratch import EXECUTABLE, Scratch, copy_index, entries_of, scratch, snapshot, untracked_files

__all__ = [
    "EXECUTABLE",
    "Head",
    "Repository",
    "Scratch",
    "commit_with_hooks",
    "copy_index",
    "diff",
    "diff_files",
    "entries_of",
    "is_own_mail",
    "mail",
    "merge",
    "merge_bytes",
    "read_blobs",
    "read_files",
    "scratch",
    "snapshot",
    "stat",
    "untracked_files",
]
