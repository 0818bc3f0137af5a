"""List what git ignores."""

from __future__ import annotations

from pathlib import Path

from coderefine.git import process


def ignored(folder: Path) -> frozenset[str]:
    """Return the files and folders (without trailing slash) that git ignores below `folder`, relative to the top.

    Raises GitError if git cannot list them.
    """
    argv = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name", "-z")
    result = process.run(argv, cwd=folder)
    if result.returncode:
        raise process.complaint(result, folder)
    names = result.stdout.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(name.rstrip("/") for name in names if name)
