"""The user's files with a patch laid over them in memory: what a model edits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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

    def text(self, path: str) -> str | None:
        return text_of(self.read(path))
