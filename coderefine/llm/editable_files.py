"""The files to which edits apply, and which of them each block of a reply is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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

    def named(self, words: Sequence[str], *, new: bool) -> list[str]:
        """Return the files that `words` name, each once. `new`: a path is meant literally, as that of a new file."""
        certain = {word: word if is_certain(word) else "" for word in words}
        found = ((new and certain[word]) or self.existing(word) or certain[word] for word in words)
        return list(dict.fromkeys(filter(None, found)))

    def is_open(self, path: str) -> bool:
        """Return whether the file may be changed, or does not exist."""
        return self.read(path) is None or self.closed(path) is None


def located(blocks: Sequence[Block], tree: EditableFiles, first: str, faults: dict[int, ReplyError]) -> Iterator[Block]:
    """Yield the blocks with the paths of their files; store errors in `faults` by the number of the block.

    A block that names no file belongs to that of the previous block, the first one to `first` or the only shown file.
    """
    usual = first or (tree.shown[0] if len(tree.shown) == 1 else "")
    for block in blocks:
        usual = _clear_path(block, usual, tree, faults)
        if usual:
            yield replace(block, path=usual)


def _clear_path(block: Block, usual: str, tree: EditableFiles, faults: dict[int, ReplyError]) -> str:
    """Return the path of the block's file; if it is not clear, store the reason in `faults` and return ""."""
    try:
        return _path_of(block, usual, tree)
    except ReplyError as fault:
        faults[block.number] = fault
        return ""


def _path_of(block: Block, usual: str, tree: EditableFiles) -> str:
    """Return the path of the block's file: the line above it, else the only file that this line names, else `usual`.

    Raises ReplyError if the file is outside the repository, or if it is not clear which file the block is for.
    """
    if block.path and (" " not in block.path or tree.existing(block.path)):
        return _resolve(block, tree)
    above = tree.named(block.above, new=block.creates)
    if path := _only_open(above, block, tree):
        return _resolve(replace(block, path=path), tree)
    named = above or _others_between(block, usual, tree)
    if named or not usual:
        which = f" ({', '.join(named)} are named)" if len(named) > 1 else ""
        raise ReplyError(
            f"Block {block.number} names no file{which}. Write its path, and nothing else, on the line above SEARCH."
        )
    return usual


def _only_open(paths: Sequence[str], block: Block, tree: EditableFiles) -> str:
    """Return the only one of `paths`, which the line above `block` names, that may be changed; "" if there is none.

    There is none, too, if the line may be the path of a new file in a folder with blanks.
    """
    possible = [path for path in paths if tree.is_open(path)]
    only = possible[0] if len(possible) == 1 else ""
    return "" if block.creates and "/" in block.path.replace(only, "") else only


def _others_between(block: Block, usual: str, tree: EditableFiles) -> list[str]:
    """Return the other files that may be changed and are named between the previous block and this one."""
    known = (path for path in tree.named(block.between, new=False) if tree.existing(path))
    return [path for path in known if path != usual and tree.is_open(path)]


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
