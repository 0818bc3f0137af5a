"""Which tests can be affected by changed files: the import graph of the project's own modules (import_graph.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from coderefine.import_graph import imported, reached, users_of, walk


def affected(top: Path, files: Iterable[str], changed: Iterable[str], is_test: Callable[[str], bool]) -> list[str]:
    """Test files among `files` (Python, repo-relative) that import a file of `changed`, directly or not, or are one.

    A changed conftest.py affects all tests beside and below it. Errs on the side of too many: a name may stand for
    several files. What is only reached through data, plug-ins or other programs is not seen.
    """
    known = sorted(files)
    found = reached(users_of({path: imported(str(top / path), path) for path in known}), changed)
    homes = {PurePosixPath(path).parent for path in found if PurePosixPath(path).name == "conftest.py"}
    return [path for path in known if is_test_file(path, is_test) and (path in found or _below(path, homes))]


def is_test_file(path: str, is_test: Callable[[str], bool]) -> bool:
    """Whether pytest may find tests in it: what only supports tests is none."""
    return is_test(path) and PurePosixPath(path).name not in ("conftest.py", "__init__.py")


def _below(path: str, homes: set[PurePosixPath]) -> bool:
    return any(home in homes for home in PurePosixPath(path).parents)


def python_files(top: Path) -> list[str]:
    """Repo-relative Python files below `top`, environments and hidden folders left out; no process is started."""
    return list(walk(str(top)))
