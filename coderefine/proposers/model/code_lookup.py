"""Look up code that a model requests: by `NEED path:symbol`, or by naming a file or function in the text.

Files that git ignores, hidden files and keys are private: a model does not get their content by asking for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath

from coderefine.errors import GitError
from coderefine.git.changes import ignored
from coderefine.import_graph import walk
from coderefine.llm.folding import shown
from coderefine.llm.modules import Definition, ModuleIndex
from coderefine.llm.normalize import cut
from coderefine.llm.reply import mentioned, needs
from coderefine.project import Place
from coderefine.proposers.model.prompt_state import Overlay

MOST = 6_000
"""Maximum number of characters of code that is shown completely; of longer code, only the signatures are shown."""
TOGETHER = 4
"""Maximum number of requests for code in one reply."""
FILES = 2_000
"""Maximum number of Python files that are searched for a name without a path."""
PYTHON = (".py", ".pyi")
KEYS = (".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ovpn", ".tfvars", ".tfstate")
"""Ends of the names of files with keys or settings of this machine, which may be under version control."""

Need = tuple[str, str]
"""(path, qualified name); the name "" means the whole file."""


class PrivateFiles:
    """Decides which files of the repository are private; git is asked once, at the first use."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._top = place.top.resolve()
        self._known: dict[str, str | None] = {}

    def reason(self, path: str) -> str | None:
        """Return why the file, or the file to which it links, is private: "PATH is …"; None if it is not private."""
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
        """Return the paths that git ignores, in lower case; None if git cannot list them.

        If an outer repository ignores a folder that contains the whole project, this folder is left out.
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
        """Follow the symbolic links of `path`; return `path` unchanged if they lead out of the repository."""
        try:
            target = Path(self._top, path).resolve()
        except (OSError, ValueError):
            return path
        return target.relative_to(self._top).as_posix() if target.is_relative_to(self._top) else path


class CodeLookup:
    """Finds the code that a reply requests. Private files, and files outside the tree, are excluded.

    `roots`: see ModuleIndex. `private` returns why a file is private; None if it is not.
    """

    def __init__(self, tree: Overlay, roots: tuple[str, ...], private: Callable[[str], str | None]) -> None:
        self._tree = tree
        self._private = private
        self._project = ModuleIndex(self._read, roots, tree.listing)

    def wanted(self, text: str) -> tuple[Need, ...]:
        """Return the files and definitions that `text` requests and that exist, at most TOGETHER.

        A text without NEED requests the Python code that it mentions, but no other files.
        """
        asked = needs(text)
        found = [need for one in asked for need in self._resolved(one)] if asked else self._mentioned(text)
        return tuple(dict.fromkeys(found))[:TOGETHER]

    def unknown(self, text: str) -> tuple[str, ...]:
        """Return the requests by NEED in `text` for files and definitions that do not exist."""
        return tuple(":".join(filter(None, need)) for need in needs(text) if not self._resolved(need))

    def code(self, need: Need) -> str:
        """Return the requested code.

        If it is longer than MOST, return only its signatures; for a file that is not Python, only its head and tail.
        """
        path, name = need
        module = self._project.module(path)
        if module is None:
            return cut(self._read(path) or "", MOST)
        item = module.by_name.get(name)
        lines = item.lines if item else range(1, len(module.lines) + 1)
        if module.size(lines) <= MOST:
            return shown(module, lines)
        heads = [part.head for part in module.definitions if part.first in lines]
        return shown(module, {line for head in heads for line in head})

    def _resolved(self, need: Need) -> list[Need]:
        """Return what is found for one request: a file, a definition, or what a request in plain words mentions."""
        found = self._found(*need)
        in_words = any(" " in part for part in need)
        return [found] if found else self._mentioned(" ".join(need)) if in_words else []

    def _mentioned(self, text: str) -> list[Need]:
        found = (self._found("", name) for name in mentioned(text))
        return [need for need in found if need and need[0].endswith(PYTHON)]

    def _found(self, path: str, symbol: str) -> Need | None:
        """Return the requested file or definition, or None. If `path` is "", `symbol` may be a file or a definition."""
        return (self._file(path, symbol) if path else self._file(symbol, "")) or self._anywhere(symbol)

    def _file(self, path: str, symbol: str) -> Need | None:
        """Return the definition of `symbol` in the file `path`, or the whole file if `symbol` is "".

        If there is no such file, take the only file whose path ends with `path`.
        """
        if self._read(path) is None:
            paths = [other for other in self._files() if other.endswith(f"/{path}")]
            if len(paths) != 1:
                return None
            path = paths[0]
        return self._defined(path, symbol) if symbol else (path, "")

    def _defined(self, path: str, symbol: str) -> Need | None:
        located = self._project.locate(symbol, path)
        if isinstance(located, Definition):
            return located.path, located.name
        module = self._project.module(path)
        definitions = module.definitions if module else ()
        return next(((path, item.name) for item in definitions if item.name.endswith(f".{symbol}")), None)

    def _anywhere(self, symbol: str) -> Need | None:
        """Return the only definition of `symbol` in the project, or of its last part if the name is dotted."""
        last = symbol.rpartition(".")[2]
        if not re.fullmatch(r"[A-Za-z_]\w{2,}", last):
            return None
        items: list[Definition] = []
        for path in (path for path in self._files() if last in (self._read(path) or "")):
            module = self._project.module(path)
            items += _called(module.definitions if module else (), symbol, last)
        return (items[0].path, items[0].name) if len(items) == 1 else None

    def _files(self) -> list[str]:
        return sorted(walk(str(self._tree.top)))[:FILES]

    def _read(self, path: str) -> str | None:
        return self._tree.text(path) if path and self._private(path) is None else None


def _called(definitions: Iterable[Definition], symbol: str, last: str) -> list[Definition]:
    """Return the definitions with qualified name `symbol`, else those whose unqualified name is `last`."""
    alike = [item for item in definitions if item.name.rpartition(".")[2] == last]
    return [item for item in alike if item.name == symbol] or alike
