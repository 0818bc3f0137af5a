"""Check that a process that judged a patch had loaded the patched files (agent/loaded_modules.py reports them)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from coderefine.core import View
from coderefine.errors import VoidError
from coderefine.runner.wire import Message


def patched(view: View) -> Mapping[str, str]:
    """Digests of what was laid into `view`, by path; "" for what was removed."""
    files = view.patch.files.items()
    return {path: hashlib.sha256(data).hexdigest() if data is not None else "" for path, data in files}


def check_loaded(report: Message | None, expected: Mapping[str, str]) -> None:
    """Raise VoidError unless `report` says that all patched files were there, and nothing was loaded in their place."""
    if report is None:
        raise VoidError("the test process did not say which files it had loaded")
    if fault := str(report["fault"]):
        raise VoidError(f"not the patched code was tested: {fault}", elsewhere=True)
    found = report["digests"]
    wrong = next((path for path, digest in expected.items() if found.get(path) != digest), "")
    if wrong:
        raise VoidError(f"not the patched code was tested: {wrong} is not what the patch makes it", elsewhere=True)


__all__ = ["check_loaded", "patched"]
