"""Record the digests of the project's source files when they are compiled.

Digests that are computed after the run do not suffice: the code under test could change a test file before the file is
imported, and restore it before the run ends.
"""

from __future__ import annotations

import hashlib
import sys
import time
from typing import Any

from . import pytest_internals
from .failure_details import ProjectPaths


class CompiledSources:
    """The digests of the project's source files that this process imported, by path: several if a file was changed.

    Text that tests or tools compile under the name of a file, such as a style check with `ast.parse`, does not count.
    """

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self._found: dict[str, set[str]] = {}
        self._busy = False

    def watch(self) -> None:
        """Start recording; it cannot be stopped, because audit hooks cannot be removed.

        Bytecode of test files that is written from now on is not read, because it may not belong to their source.
        """
        sys.addaudithook(self._audited)
        pytest_internals.read_no_bytecode_after(time.time_ns())

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "compile" or self._busy:
            return
        self._busy = True
        try:
            source, name = arguments
            if isinstance(source, bytes) and isinstance(name, str) and self._paths.ours(name) and _imported():
                self._found.setdefault(self._paths.relative(name), set()).add(hashlib.sha256(source).hexdigest())
        except Exception:
            pass
        finally:
            self._busy = False

    def report(self) -> dict[str, list[str]]:
        """Return the digests recorded so far, by path."""
        return {path: sorted(digests) for path, digests in self._found.items()}


def _imported() -> bool:
    """Return whether an import is compiling a module's own source; False if code of a module compiles something."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name in {"exec_module", "<module>"}:
            return frame.f_code.co_name == "exec_module"
    return False
