"""Files whose content a model does not get by asking for them: hidden files, keys, and what git ignores."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path, PurePosixPath

from coderefine.errors import GitError
from coderefine.git.changes import ignored
from coderefine.project import Place

KEYS = (".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ovpn", ".tfvars", ".tfstate")
"""Ends of the names of files with keys or settings of this machine, which may be under version control."""


class PrivateFiles:
    """Decides which files of the repository are private; git is asked once, at the first use."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._top = place.top.resolve()
        self._known: dict[str, str | None] = {}

    def reason(self, path: str) -> str | None:
        """Return why the file, or the file to which it is a link, is private, as "PATH is …"; None if it is not."""
        if path not in self._known:  # to follow links takes long, and a search for a name reads many files
            why = self._why(path) or self._why(self._target(path))
            self._known[path] = f"{path} {why}" if why else None
        return self._known[path]

    def _why(self, path: str) -> str | None:
        parts = PurePosixPath(path.casefold())
        if any(part.startswith(".") for part in parts.parts):
            return "is hidden"
        if parts.name.endswith(KEYS):
            return "may hold keys"
        if self._ignored is None:
            return "may be ignored by git"
        return None if self._ignored.isdisjoint(map(str, (parts, *parts.parents))) else "is ignored by git"

    @cached_property
    def _ignored(self) -> frozenset[str] | None:
        """Return what git ignores, in small letters; None if git cannot tell.

        A folder with the whole project, which an outer repository ignores, is not among it.
        """
        if self._place.git_dir is None:
            return frozenset()
        try:
            names = frozenset(name.casefold() for name in ignored(self._place.top))
        except GitError:
            return None
        project = PurePosixPath(self._place.prefix.casefold())
        return names.difference(map(str, (project, *project.parents)))

    def _target(self, path: str) -> str:
        """Return the path inside the repository to which links lead from `path`; `path` if it leads elsewhere."""
        try:
            target = Path(self._top, path).resolve()
        except (OSError, ValueError):
            return path
        return target.relative_to(self._top).as_posix() if target.is_relative_to(self._top) else path
