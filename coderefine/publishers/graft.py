"""Apply the patch to HEAD without the user's uncommitted work, by three-way merge where a file has some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from coderefine.errors import PublishError
from coderefine.git import Repository, Scratch, merge, scratch
from coderefine.journal import FileChange

Item = tuple[int, str] | None
"""(mode, blob id) of an index entry; None for no entry."""

GITLINK = 0o160000


@dataclass(frozen=True, slots=True)
class Graft:
    """The contents that a graft is made of, by path.

    `head`: of HEAD. `base`: of the edited original. `theirs`: patched. `result`: HEAD plus the patch. `tree` is HEAD's
    tree with `result` in it.
    """

    head: Mapping[str, Item]
    base: Mapping[str, Item]
    theirs: Mapping[str, Item]
    result: Mapping[str, Item]
    tree: str


def graft(repository: Repository, head: str | None, changes: Sequence[FileChange]) -> Graft:
    """Return HEAD plus `changes`, as git would store it (line ends, filters, modes).

    Raises PublishError when a patched file has uncommitted work that overlaps the patch, or is in a submodule.
    """
    before = {change.path: change.before for change in changes}
    after = {change.path: change.after for change in changes}
    start = repository.tree(head)
    with scratch(repository, start) as made:
        _no_submodules(made, after)
        ours = _items(made, after)
        made.lay(before)
        base = _items(made, after)
        made.lay(after)
        theirs = _items(made, after)
        result = {path: merged(repository, path, ours[path], base[path], theirs[path]) for path in after}
        made.read_tree(start)
        made.place(result)
        return Graft(ours, base, theirs, result, made.write())


def merged(repository: Repository, path: str, ours: Item, base: Item, theirs: Item) -> Item:
    """Return `ours` with the change from `base` to `theirs`.

    Raises PublishError when the two overlap.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    blob = merge(repository, ours[1], base[1], theirs[1]) if ours and base and theirs else None
    if blob is None or ours is None:
        raise PublishError(
            f"{path} has uncommitted work that the patch builds on, so it cannot be committed alone: "
            "commit or stash it and run again, or write to the tree (no --commit), or take `--patch FILE`"
        )
    return (ours[0], blob)


def _items(made: Scratch, paths: Mapping[str, bytes | None]) -> dict[str, Item]:
    found = made.entries(paths)
    return {path: found.get(path) for path in paths}


def _no_submodules(made: Scratch, paths: Mapping[str, bytes | None]) -> None:
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents if str(parent) != "."}
    for path, (mode, _) in made.entries(parents).items():
        if mode == GITLINK:
            raise PublishError(f"the patch is in the submodule {path}: run coderefine there to commit it")
