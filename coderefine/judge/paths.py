"""Which files a patch may write at all."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from coderefine.judge.change import Change
from coderefine.project.protected_names import NAMES

Reason = Callable[[str], "str | None"]

STARTUP = frozenset(("conftest.py", "sitecustomize.py", "usercustomize.py"))
PRIVATE = re.compile(r"_(?!_)")
TEST = re.compile(r"(test_.*|.*_test|tests?)\.py")
SETTINGS = (*NAMES["is lint or test configuration"], *NAMES["is a hook"])


def within(path: str, scope: Sequence[str]) -> bool:
    """Whether `path` is one of the files or lies in one of the folders of `scope` ("." is everything)."""
    parts = PurePosixPath(path).parts
    return any(parts[: len(PurePosixPath(item).parts)] == PurePosixPath(item).parts for item in scope)


def forbidden(
    change: Change, reason: Reason, scope: Sequence[str], roots: Sequence[str], modules: frozenset[str]
) -> Iterator[str]:
    """Reasons why this file may not be written."""
    path = change.path
    if _unsafe(path):
        yield f"{path!r} is no path inside the project"
        return
    why = reason(path)
    if why:
        yield f"{path} may not be changed: {why}"
    if not within(path, scope):
        yield f"{path} is outside the asked path ({', '.join(scope)})"
    if change.created:
        yield from _new_file(path, roots, modules)
    if change.deleted and not PRIVATE.match(PurePosixPath(path).name):
        yield f"deletes {path}"


def _unsafe(path: str) -> bool:
    parts = PurePosixPath(path).parts
    odd = not parts or path.startswith("/") or "\\" in path or "\0" in path or ":" in parts[0]
    return odd or ".." in parts or any(part.lower() in (".git", ".hg", ".svn") for part in parts)


def _new_file(path: str, roots: Sequence[str], modules: frozenset[str]) -> Iterator[str]:
    name = PurePosixPath(path).name
    if name in STARTUP or name.endswith(".pth"):
        yield f"creates {path}, which would change how the tests run"
    elif TEST.fullmatch(name):
        yield f"creates a test file, {path}"
    elif any(fnmatchcase(name.lower(), pattern) for pattern in SETTINGS):
        yield f"creates {path}, which configures the checks"
    module = _top_module(path, roots)
    if module in sys.stdlib_module_names or module in modules:
        yield f"creates {path}, which hides the module {module!r}"


def _top_module(path: str, roots: Sequence[str]) -> str | None:
    """The importable name that a new file adds at one of the import roots; None when it adds none."""
    for root in roots:
        try:
            relative = PurePosixPath(path).relative_to(root)
        except ValueError:
            continue
        if len(relative.parts) == 1 and relative.suffix in (".py", ".pyi", ".so", ".pyd"):
            return relative.stem.partition(".")[0]
        if len(relative.parts) == 2 and relative.name == "__init__.py":
            return relative.parts[0]
    return None
