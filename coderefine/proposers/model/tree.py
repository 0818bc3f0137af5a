"""The user's files with a patch laid over them in memory: what a model edits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coderefine.core import Patch
from coderefine.llm.context import text_of

LARGEST = 1_000_000
"""Bytes: a larger file is no source a model could edit."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """`top` is the repository; nothing outside it is ever read, through symlinks neither."""

    top: Path
    patch: Patch

    def read(self, path: str) -> bytes | None:
        """Bytes of `path`, None when there is no such regular file."""
        if path in self.patch.files:
            return self.patch.files[path]
        file = self.top / path
        try:
            inside = file.resolve().is_relative_to(self.top.resolve())
            return file.read_bytes() if inside and file.is_file() and file.stat().st_size <= LARGEST else None
        except (OSError, ValueError):
            return None

    def listing(self, folder: str) -> tuple[str, ...]:
        """The files that lie in `folder`, repo-relative and sorted; hidden ones left out."""
        try:
            found = {entry.name for entry in os.scandir(self.top / folder) if entry.is_file(follow_symlinks=False)}
        except OSError:
            found = set()
        given = {path for path in self.patch.files if PurePosixPath(path).parent == PurePosixPath(folder)}
        paths = {(PurePosixPath(folder) / name).as_posix() for name in found if not name.startswith(".")} | given
        return tuple(sorted(path for path in paths if self.patch.files.get(path, b"") is not None))

    def text(self, path: str) -> str | None:
        return text_of(self.read(path))
