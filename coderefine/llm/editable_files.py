"""The files to which edits apply, and which of them each block of a reply is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from coderefine.errors import ReplyError
from coderefine.llm.named_paths import is_certain
from coderefine.llm.reply import Block


@dataclass(frozen=True, slots=True)
class EditableFiles:
    """The files to which edits apply.

    `read` returns the bytes of a file; None if it does not exist. `creatable` returns why no new file may be created
    at a path; None if it may be created. `closed` returns why a file may not be changed or its lines not be told to
    the model, as "PATH is …"; None if both is allowed. `shown`: the paths that the model was shown.
    """

    read: Callable[[str], bytes | None]
    creatable: Callable[[str], str | None] = lambda _: None
    closed: Callable[[str], str | None] = lambda _: None
    shown: tuple[str, ...] = ()

    def existing(self, path: str) -> str:
        """Return the path of the file that `path` means: itself, or the only shown path that resembles it; or "".

        Two paths resemble each other if one is the end of the other.
        """
        if not _is_outside(path) and self.read(path) is not None:
            return path
        alike = [known for known in self.shown if known.endswith(f"/{path}") or path.endswith(f"/{known}")]
        return alike[0] if len(alike) == 1 else ""

    def named(self, words: Sequence[str], *, new: bool = False) -> list[str]:
        """Return the existing files that `words` name, each once. `new`: a path is that of a new file, literally."""
        found = (word if new and is_certain(word) else self.existing(word) for word in words)
        return list(dict.fromkeys(filter(None, found)))

    def is_open(self, path: str) -> bool:
        """Return whether the file may be changed, or does not exist."""
        return self.read(path) is None or self.closed(path) is None


def located(
    blocks: Sequence[Block],
    tree: EditableFiles,
    first: str,
    faults: dict[int, ReplyError],
    occurs: Callable[[Block, str], bool],
) -> Iterator[Block]:
    """Yield the blocks with the paths of their files; store errors in `faults` by the number of the block.

    A block that names no file belongs to that of the previous block, the first one to `first` or the only shown file.
    `occurs` returns whether the SEARCH text of a block occurs in a file.
    """
    usual = first or (tree.shown[0] if len(tree.shown) == 1 else "")
    for block in blocks:
        try:
            usual = _path_of(block, usual, tree, occurs)
        except ReplyError as fault:
            faults[block.number], usual = fault, ""
        if usual:
            yield replace(block, path=usual)


def _path_of(block: Block, usual: str, tree: EditableFiles, occurs: Callable[[Block, str], bool]) -> str:
    """Return the path of the block's file: the line above it, else the file that is named before it, else `usual`.

    Raises ReplyError if the file is outside the repository, or if it is not clear which file the block is for.
    """
    if block.path and (" " not in block.path or tree.existing(block.path)):
        return _resolve(block, tree)
    named = tree.named((*block.above, *block.between), new=block.creates)
    path = (
        _new_path(block, usual, tree)
        if block.creates
        else _changed_path(block, usual, named, tree, partial(occurs, block))
    )
    if path:
        return path
    which = f" ({', '.join(named)} are named)" if len(named) > 1 else ""
    raise ReplyError(
        f"Block {block.number} names no file{which}. Write its path, and nothing else, on the line above SEARCH."
    )


def _changed_path(
    block: Block, usual: str, named: Sequence[str], tree: EditableFiles, fits: Callable[[str], bool]
) -> str:
    """Return the file, of those `named` and `usual`, in which SEARCH occurs (`fits`); "" if that is not clear.

    A file that the line above names comes first, since the same lines may be in others. If SEARCH occurs nowhere, the
    only possible file is returned, because its error shows the most similar lines.
    """
    above = [path for path in tree.named(block.above) if tree.is_open(path)]
    every = list(dict.fromkeys(filter(None, (*named, usual))))
    possible = [path for path in every if path == usual or tree.is_open(path)]
    fitting = list(filter(fits, above)) or list(filter(fits, every))
    only = _first_single((fitting,) if fitting else (above, possible))
    return only if only in possible else ""


def _first_single(lists: Sequence[Sequence[str]]) -> str:
    """Return the only path of the first list that has one; "" if none has."""
    return next((paths[0] for paths in lists if len(paths) == 1), "")


def _new_path(block: Block, usual: str, tree: EditableFiles) -> str:
    """Return the file that the line above a block without a SEARCH text names, else `usual`; "" if it is not clear."""
    above = tree.named(block.above, new=True)
    if path := _only_open(above, block, tree):
        return _resolve(replace(block, path=path), tree)
    others = (path for path in tree.named(block.between) if path != usual and tree.is_open(path))
    return "" if above or any(others) else usual


def _only_open(paths: Sequence[str], block: Block, tree: EditableFiles) -> str:
    """Return the only one of `paths`, which the line above `block` names, that may be changed; "" if there is none.

    There is none, too, if the line may be the path of a new file in a folder with blanks.
    """
    possible = [path for path in paths if tree.is_open(path)]
    only = possible[0] if len(possible) == 1 else ""
    return "" if "/" in block.path.replace(only, "") else only


def _resolve(block: Block, tree: EditableFiles) -> str:
    """Return the path of a block that has one: that of an existing file, or of a new one.

    Raises ReplyError if the path is outside the repository.
    """
    outside = _is_outside(block.path)
    if block.creates and not outside:
        return block.path
    found = tree.existing(block.path)
    if outside and not found:
        raise ReplyError(f"Block {block.number}: {block.path} is outside the repository. Use the paths you were shown.")
    return found or block.path


def _is_outside(path: str) -> bool:
    parts = PurePosixPath(path)
    return parts.is_absolute() or ".." in parts.parts or bool(re.match(r"[A-Za-z]:", path))
