"""Check that this process has loaded the patched code; if not, the client voids the result.

A view has another path than the user's tree, and an editable installation of the project may point to the user's tree.
If the project is installed as a copy, the tests run that copy, and not the patched tree.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Module = tuple[str, str]
"""Name and file of a module."""


class LoadedModules:
    """Checks which files the modules of this process were loaded from.

    The `job` contains `top` (root of the view), `root` (where pytest runs) and `origin` (root of the user's tree).
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        self._top = str(job["top"])
        self._root = str(job["root"])
        self._origin = str(job["origin"])
        self._folders: dict[str, str] = {}

    def report(self, paths: Iterable[str]) -> dict[str, Any]:
        """Return the digests of the files at `paths` (relative to `top`), and a description of the fault ("": none)."""
        given = list(paths)
        return {"digests": {path: self._digest(path) for path in given}, "fault": self.fault(given)}

    def fault(self, paths: Iterable[str]) -> str:
        """Describe a module that was loaded from the wrong place; "" if there is none.

        The wrong place is the user's tree, or for one of `paths` (the patched files) any file but the patched one.
        """
        modules = list(_modules())
        foreign = self._foreign(modules, frozenset(paths))
        if foreign:
            return f"{foreign[0]} was imported from the original tree ({foreign[1]}), not from the private copy"
        return next(filter(None, (self._instead(path, modules) for path in paths if path.endswith(".py"))), "")

    def _foreign(self, modules: list[Module], paths: frozenset[str]) -> Module | None:
        """Return a module that was loaded from the user's tree, if the view has another path."""
        if self._origin == self._top:
            return None
        for name, file in modules:
            real = self._real(file)
            if real.startswith(self._origin + os.sep) and not real.startswith(self._top + os.sep):
                path = real[len(self._origin) + 1 :]
                if path in paths or os.path.lexists(os.path.join(self._top, path)):
                    return name, file
        return None

    def _instead(self, path: str, modules: list[Module]) -> str:
        """Describe the module that was loaded in place of the patched file `path`; "" if there is none."""
        full = os.path.join(self._top, path)
        stem = os.path.basename(path)
        if any(os.path.basename(file) == stem and self._real(file) == os.path.realpath(full) for _, file in modules):
            return ""
        name = self._importable(full)
        file = next((file for known, file in modules if known == name), "")
        if not name or not file or self._real(file) == os.path.realpath(full):
            return ""
        return f"{name} was imported from {file}, so nothing ran of {path}: install the project editable"

    def _importable(self, full: str) -> str:
        """Return the module name of the file; "" if its folder is not on the import path."""
        folder, base = os.path.split(full)
        parts = [] if base == "__init__.py" else [base[:-3]]
        while os.path.exists(os.path.join(folder, "__init__.py")):
            folder, base = os.path.split(folder)
            parts.insert(0, base)
        roots = [self._root, os.path.join(self._root, "src"), *sys.path]
        return ".".join(parts) if os.path.realpath(folder) in map(os.path.realpath, roots) else ""

    def _digest(self, path: str) -> str:
        try:
            with open(os.path.join(self._top, path), "rb") as stream:
                return hashlib.sha256(stream.read()).hexdigest()
        except OSError:
            return ""

    def _real(self, file: str) -> str:
        """Return the real path of `file`; the real paths of folders are cached."""
        folder, name = os.path.split(file)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        full = os.path.join(self._folders[folder], name)
        return os.path.realpath(full) if os.path.islink(full) else full


def loaded() -> list[tuple[str, Any]]:
    """Return the loaded modules by name, except weak references to modules, which jinja2 stores.

    Garbage collection removes these references from `sys.modules` at any time, even while this loop runs.
    """
    modules: dict[str, Any] = sys.modules.copy()
    return [(name, module) for name, module in modules.items() if type(module) is not weakref.ProxyType]


def import_files(paths: Iterable[str], top: str) -> None:
    """Import the modules in the files `paths` (relative to `top`) that the program imports only when it needs them.

    A module is imported if the package that contains it is loaded, so that its name is known. Errors are ignored: the
    tests import the module when they need it.
    """
    packages = {folder: name for name, module in loaded() for folder in _folders(module)}
    for path in paths:
        folder, file = os.path.split(os.path.realpath(os.path.join(top, path)))
        if file == "__init__.py":
            folder, file = os.path.split(folder)
        part = file.removesuffix(".py")
        name = f"{packages.get(folder, '')}.{part}"
        if folder in packages and part.isidentifier() and not part.startswith("__") and name not in sys.modules:
            with contextlib.suppress(Exception, SystemExit):
                packages.update(dict.fromkeys(_folders(importlib.import_module(name)), name))


def _folders(module: Any) -> list[str]:
    """Return the folders of a package; [] for another module, also if it has unusual attributes."""
    try:
        return [os.path.realpath(folder) for folder in getattr(module, "__path__", ())]
    except Exception:  # an object in `sys.modules` may be anything
        return []


def _modules() -> Iterator[Module]:
    for name, module in loaded():
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            yield name, file
