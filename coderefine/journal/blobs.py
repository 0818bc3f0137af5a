"""Contents by their SHA-256, one file each: kept apart from git, so that no gc and no filter can change them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from coderefine.errors import JournalError
from coderefine.journal import storage


@dataclass(frozen=True, slots=True)
class Blobs:
    folder: Path

    def keep(self, data: bytes) -> str:
        """Store `data`; its key. Raises JournalError."""
        key = hashlib.sha256(data).hexdigest()
        path = self.folder / key
        if not path.exists():
            storage.make_folder(self.folder)
            storage.write(path, data)
        return key

    def fetch(self, key: str) -> bytes:
        """What `keep` stored as `key`. Raises JournalError when it is missing or damaged."""
        try:
            data = (self.folder / key).read_bytes()
        except OSError as error:
            raise JournalError(f"a recorded content is missing: {self.folder / key}") from error
        if hashlib.sha256(data).hexdigest() != key:
            raise JournalError(f"a recorded content is damaged: {self.folder / key}")
        return data
