"""New content by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

EMPTY: Mapping[str, bytes | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Patch:
    """New content by repo-relative path, *cumulative from the baseline*; `None` deletes a file.

    Bytes, not text: encodings, line ends and byte-order marks are the file's own business.
    """

    files: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    origin: str = ""
    summary: str = ""

    def then(self, files: Mapping[str, bytes | None], *, origin: str, summary: str) -> Patch:
        """This patch with `files` laid over it."""
        return Patch({**self.files, **files}, origin, summary)

    def __bool__(self) -> bool:
        return bool(self.files)
