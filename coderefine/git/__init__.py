"""git: a small typed view of one repository; the only package that touches GitPython, and only to read objects."""

from __future__ import annotations

from coderefine.git.diff import diff, diff_files, stat
from coderefine.git.mail import mail
from coderefine.git.objects import Entry, read_files
from coderefine.git.repository import Head, Repository
from coderefine.git.scratch import Scratch, scratch, snapshot

__all__ = [
    "Entry",
    "Head",
    "Repository",
    "Scratch",
    "diff",
    "diff_files",
    "mail",
    "read_files",
    "scratch",
    "snapshot",
    "stat",
]
