"""Find the tests that changed files can affect, by the import graph of the project's own modules (import_graph.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from coderefine.import_graph import imported, imports_of, reached, users_of

SPECIAL = ("conftest.py", "__init__.py")
"""Names of files that pytest loads for other test files; the only tests in them are doctests."""


def affected(
    top: Path,
    files: Iterable[str],
    changed: Iterable[str],
    is_test: Callable[[str], bool],
    hidden: Mapping[str, bytes | None] = MappingProxyType({}),
    *,
    strings: bool = True,
) -> list[str]:
    """Return the test files among `files` (Python, repo-relative) that are in `changed` or import a changed file.

    Indirect imports count, and a changed conftest.py affects all tests in its folder and below. The result may contain
    too many tests, because a module name may belong to several files. Data files, plug-ins and programs are not
    followed. `hidden`: contents to read instead of the files below `top`. `strings`: see `imports_of`.
    """
    known = sorted(files)
    found = reached(users(top, known, hidden, strings=strings), changed)
    conftests = conftests_of(found)
    return [path for path in known if is_test_file(path, is_test) and (path in found or above(path, conftests))]


def users(
    top: Path,
    files: Iterable[str],
    hidden: Mapping[str, bytes | None] = MappingProxyType({}),
    *,
    strings: bool = True,
) -> dict[str, list[str]]:
    """Return the import graph of `files`: for each file, the files that import it. Options: see `affected`."""
    texts = {path: hidden.get(path) for path in files}
    imports = {
        path: imported(str(top / path), path, strings=strings)
        if text is None
        else imports_of(text, path, strings=strings)
        for path, text in texts.items()
    }
    return users_of(imports)


def conftests_of(found: Iterable[str]) -> dict[PurePosixPath, str]:
    """Return the conftest.py files of `found`, by their folders."""
    return {PurePosixPath(path).parent: path for path in found if PurePosixPath(path).name == "conftest.py"}


def above(path: str, conftests: Mapping[PurePosixPath, str]) -> str:
    """Return the nearest of `conftests` that is in or above the folder of `path`; "" if there is none."""
    return next((conftests[home] for home in PurePosixPath(path).parents if home in conftests), "")


def is_test_file(path: str, is_test: Callable[[str], bool]) -> bool:
    """Return whether pytest may find tests in the file `path`; False for conftest.py and `__init__.py`."""
    return is_test(path) and PurePosixPath(path).name not in SPECIAL
