"""Three-way merge of one file's blobs."""

from __future__ import annotations

from coderefine import temporary
from coderefine.git.objects import read_blobs
from coderefine.git.repository import Repository


def merge(repository: Repository, ours: str, base: str, theirs: str) -> str | None:
    """The blob of `ours` with the change from `base` to `theirs`, or None when they overlap (or are binary)."""
    data = merge_bytes(repository, *read_blobs(repository, (ours, base, theirs)))
    return None if data is None else repository.git("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def merge_bytes(repository: Repository, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """`ours` with the change from `base` to `theirs`, or None when they overlap (or are binary)."""
    with temporary.folder("merge") as folder:
        paths = [folder / part for part in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        result = repository.run("merge-file", "-p", "-q", *(str(path) for path in paths))
        return None if result.returncode else result.stdout
