"""The user's files as they were when the run began."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from coderefine.errors import PublishError, SurroundingsError
from coderefine.workspace.lay import plain


class Originals(Mapping[str, "bytes | None"]):
    """Content by repo-relative path, None where there is no file; each is read once, when first asked for.

    A file that was written after the run began is refused (PublishError): what was judged is no longer there.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._began = time.time_ns()
        self._known: dict[str, bytes | None] = {}

    def __getitem__(self, path: str) -> bytes | None:
        if path not in self._known:
            self._known[path] = self._read(self._top.joinpath(*plain(path)), path)
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str)

    def _read(self, file: Path, path: str) -> bytes | None:
        try:
            if file.stat().st_ctime_ns > self._began:
                raise PublishError(f"{path} changed while coderefine was at work: nothing was written, run again")
            return file.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, UnicodeEncodeError):
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise SurroundingsError(f"{path} cannot be read: {error.strerror or error}") from error
