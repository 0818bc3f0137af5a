"""Which tests can be affected by changed files: the import graph of the project's own modules (import_graph.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from coderefine.import_graph import imported, imports_of, reached, users_of, walk

SPECIAL = ("conftest.py", "__init__.py")
"""Names of files that pytest loads for other test files, and in which it finds at most doctests."""


def affected(
    top: Path,
    files: Iterable[str],
    changed: Iterable[str],
    is_test: Callable[[str], bool],
    hidden: Mapping[str, bytes | None] = MappingProxyType({}),
) -> list[str]:
    """Return tests among `files` (Python, repo-relative) that import one of `changed`, directly or not, or are one.

    A changed conftest.py affects all tests beside and below it. Rather too many than too few: a name may stand for
    several files. What is only reached through data, plug-ins or other programs is not seen. `hidden`: contents to
    read instead of those below `top`.
    """
    known = sorted(files)
    found = reached(users(top, known, hidden), changed)
    conftests = conftests_of(found)
    return [path for path in known if is_test_file(path, is_test) and (path in found or above(path, conftests))]


def users(
    top: Path, files: Iterable[str], hidden: Mapping[str, bytes | None] = MappingProxyType({})
) -> dict[str, list[str]]:
    """By file, those of `files` that import it. `hidden` as for `affected`."""
    texts = {path: hidden.get(path) for path in files}
    imports = {
        path: imported(str(top / path), path) if text is None else imports_of(text, path)
        for path, text in texts.items()
    }
    return users_of(imports)


def conftests_of(found: Iterable[str]) -> dict[PurePosixPath, str]:
    """The files of `found` that are a conftest.py, by their folders."""
    return {PurePosixPath(path).parent: path for path in found if PurePosixPath(path).name == "conftest.py"}


def above(path: str, conftests: Mapping[PurePosixPath, str]) -> str:
    """Return the first of `conftests` in the folder of `path` or above, whose fixtures it may use; "" if none."""
    return next((conftests[home] for home in PurePosixPath(path).parents if home in conftests), "")


def is_test_file(path: str, is_test: Callable[[str], bool]) -> bool:
    """Return whether pytest may find tests in the file `path`; not in conftest.py or `__init__.py`."""
    return is_test(path) and PurePosixPath(path).name not in SPECIAL


def python_files(top: Path) -> list[str]:
    """Return repo-relative Python files below `top`, environments and hidden folders left out; starts no process."""
    return list(walk(str(top)))
