"""The files that make their folder a project. The hook's fast path imports this module, so it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
"""Files whose folder is a separate project, also inside a larger repository."""


def is_project(folder: str, is_file: Callable[[str], bool]) -> bool:
    """Return whether one of MARKERS is in `folder` ("" is the top)."""
    return any(is_file(f"{folder}/{name}" if folder else name) for name in MARKERS)


def project_of(folder: str, is_file: Callable[[str], bool]) -> str | None:
    """Return the nearest project folder at or above `folder` (repo-relative, "" is the top); None if there is none."""
    while not is_project(folder, is_file):
        if not folder:
            return None
        folder = folder.rpartition("/")[0]
    return folder
