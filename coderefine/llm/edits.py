"""Find the file of each block of a reply; apply all blocks, each at its only possible position, or apply no block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import PurePosixPath

from coderefine.errors import ReplyError
from coderefine.llm.folding import MARKED
from coderefine.llm.near_match import find_closest, match_ignoring_whitespace
from coderefine.llm.reply import FENCE, Block, Kept, NothingToApplyError, PartlyUsableError, is_certain
from coderefine.source import decode

MARKUP = (".md", ".mdx", ".markdown", ".rst", ".txt")
"""Ends of the names of files in which a line may be a code fence."""
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")

Lines = tuple[str, ...]


class AlreadyAppliedError(ReplyError):
    """The REPLACE text of a block is in the file once, at the lines that are most similar to the SEARCH text."""


@dataclass(frozen=True, slots=True)
class MatchedBlock:
    """Position of a block: lines `first` to `last` (exclusive) of the file, and their new text with line ends."""

    block: Block
    first: int
    last: int
    lines: Lines


NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class EditableFiles:
    """The files to which edits apply.

    `read` returns the bytes of a file; None if it does not exist. `creatable` returns why no new file may be created
    at a path; None if it may be created. `closed` returns, as "PATH is …", why a file may not be changed or its lines
    may not be shown to the model; None if both are allowed. `shown`: the paths of the files that the model was shown.
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
        """Return the paths of the existing files that `words` name, each once.

        With `new`, a word that is certainly a path is returned as it is, even if no such file exists.
        """
        found = (word if new and is_certain(word) else self.existing(word) for word in words)
        return list(dict.fromkeys(filter(None, found)))

    def is_open(self, path: str) -> bool:
        """Return whether the file may be changed, or does not exist."""
        return self.read(path) is None or self.closed(path) is None


def apply(blocks: Sequence[Block], tree: EditableFiles, kept: Kept = NOTHING_KEPT) -> Mapping[str, bytes]:
    """Apply `blocks` to the files of `tree`; return the new bytes by path.

    `kept`: the usable blocks of an earlier reply that `blocks` correct; they are applied too, except those that
    `blocks` replace. A block that is already applied is left out if another block changes a file.
    Raises ReplyError, whose message can be sent to the model, if a block does not match exactly one position. If other
    blocks match, the error is a PartlyUsableError that contains them. Raises NothingToApplyError if no file changes.
    """
    faults: dict[int, ReplyError] = {}
    placed = _with_kept(list(_located(blocks, tree, kept.path, faults)), kept, len(blocks))
    grouped: dict[str, list[Block]] = {}
    for block in placed:
        grouped.setdefault(block.path, []).append(block)
    files = {path: _file(path, group, tree, faults) for path, group in grouped.items()}
    changed = {path: data for path, data in files.items() if data != tree.read(path)}
    _check(faults, placed, useful=bool(changed))
    if not changed:
        raise NothingToApplyError("The edits change nothing: the file already reads like that. Find another cause.")
    return changed


def _check(faults: Mapping[int, ReplyError], placed: Sequence[Block], *, useful: bool) -> None:
    """Raise an error that lists the faults, if there are any.

    If the edits are `useful` (change a file), a block that is already applied is no fault.
    """
    done = {number for number, fault in faults.items() if useful and isinstance(fault, AlreadyAppliedError)}
    serious = {number: str(fault) for number, fault in faults.items() if number not in done}
    if serious:
        raise _refusal(serious, [block for block in placed if block.number not in done])


def _with_kept(placed: Sequence[Block], kept: Kept, number: int) -> Sequence[Block]:
    """Return `placed`, then the kept blocks that `placed` does not replace; these get numbers from `number` + 1 on."""
    replaced = {(block.path, block.splits[0][0]) for block in placed}
    others = (block for block in kept.blocks if (block.path, block.splits[0][0]) not in replaced)
    return (*placed, *(replace(block, number=at) for at, block in enumerate(others, number + 1)))


def _located(
    blocks: Sequence[Block], tree: EditableFiles, first: str, faults: dict[int, ReplyError]
) -> Iterator[Block]:
    """Yield the blocks with the paths of their files; store errors in `faults` by the number of the block.

    A block that names no file belongs to the file of the previous block. The first block belongs to `first` or, if
    `first` is "", to the only file that the model was shown.
    """
    usual = first or (tree.shown[0] if len(tree.shown) == 1 else "")
    for block in blocks:
        try:
            usual = _path_of(block, usual, tree)
        except ReplyError as fault:
            faults[block.number], usual = fault, ""
        if usual:
            yield replace(block, path=usual)


def _path_of(block: Block, usual: str, tree: EditableFiles) -> str:
    """Return the path of the block's file: from the line above the block, from the text before it, or `usual`.

    Raises ReplyError if the file is outside the repository, or if it is not clear which file the block is for.
    """
    if block.path and (" " not in block.path or tree.existing(block.path)):
        return _resolve(block, tree)
    named = tree.named((*block.above, *block.between), new=block.creates)
    path = _new_path(block, usual, tree) if block.creates else _changed_path(block, usual, named, tree)
    if path:
        return path
    which = f" ({', '.join(named)} are named)" if len(named) > 1 else ""
    raise ReplyError(
        f"Block {block.number} names no file{which}. Write its path, and nothing else, on the line above SEARCH."
    )


def _changed_path(block: Block, usual: str, named: Sequence[str], tree: EditableFiles) -> str:
    """Return the file, of those `named` and `usual`, in which SEARCH occurs; "" if that is not clear.

    A file that the line above the block names comes first, because other files may contain the same lines. If SEARCH
    occurs nowhere, the only possible file is returned, because its error shows the most similar lines.
    """
    above = list(filter(tree.is_open, tree.named(block.above)))
    every = list(dict.fromkeys(filter(None, (*named, usual))))
    possible = [path for path in every if path == usual or tree.is_open(path)]
    fits = partial(_occurs, block, tree)
    fitting = list(filter(fits, above)) or list(filter(fits, every))
    lists = [fitting] if fitting else [above, possible]
    only = next((paths[0] for paths in lists if len(paths) == 1), "")
    return only if only in possible else ""


def _new_path(block: Block, usual: str, tree: EditableFiles) -> str:
    """Return the file of a block without a SEARCH text: the one that the line above the block names, else `usual`.

    Return "" if this is not clear, for example if the line may also be the path of a new file in a folder with blanks.
    """
    above = tree.named(block.above, new=True)
    possible = [path for path in above if tree.is_open(path)]
    if len(possible) == 1 and "/" not in block.path.replace(possible[0], ""):
        return _resolve(replace(block, path=possible[0]), tree)
    others = (path for path in tree.named(block.between) if path != usual and tree.is_open(path))
    return "" if above or any(others) else usual


def _resolve(block: Block, tree: EditableFiles) -> str:
    """Return the path of the existing file that `block.path` names; `block.path` itself for a new or missing file.

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


def _file(path: str, blocks: Sequence[Block], tree: EditableFiles, faults: dict[int, ReplyError]) -> bytes:
    """Return the bytes of the file with its blocks applied; store errors in `faults` by the number of the block."""
    data = tree.read(path)
    found: dict[int, ReplyError] = {}
    try:
        edited = _created(path, blocks, tree) if data is None else _edited(path, data, blocks, found)
    except ReplyError as fault:
        found, edited = dict.fromkeys((block.number for block in blocks), fault), b""
    if found and data is not None and (reason := tree.closed(path)):  # a fault may quote lines of the file
        found = {one: ReplyError(f"Block {one}: {reason}; leave this file as it is.") for one in found}
    faults |= found
    return edited


def _refusal(faults: Mapping[int, str], placed: Sequence[Block]) -> ReplyError:
    """Return the error that lists each different fault once; it keeps the blocks without faults, if there are any."""
    text = "\n".join(dict.fromkeys(faults.values()))
    fine = tuple(block for block in placed if block.number not in faults)
    if not fine:
        return ReplyError(f"{text}\nNothing was applied. Send all blocks again, corrected.")
    rest = "The other block was" if len(fine) == 1 else f"The other {len(fine)} blocks were"
    faulty = [block.path for block in placed if block.number in faults]
    path = faulty[0] if len(faulty) == len(faults) and len(set(faulty)) == 1 else ""
    return PartlyUsableError(
        f"{text}\n{rest} fine and will be applied with it: send only what is corrected.", Kept(fine, path)
    )


def _created(path: str, blocks: Sequence[Block], tree: EditableFiles) -> bytes:
    block = blocks[0]
    if not block.creates:
        known = f" Files shown: {', '.join(tree.shown)}." if tree.shown else ""
        raise ReplyError(f"Block {block.number}: there is no file {path}.{known}")
    if len(blocks) > 1:
        raise ReplyError(f"Blocks {block.number} and {blocks[1].number} both write the new file {path}; use one.")
    reason = tree.creatable(path)
    if reason:
        raise ReplyError(f"Block {block.number}: {path} may not be created: {reason}.")
    return _encoded(_new_text(block, path), path, str.encode, "UTF-8")


def _new_text(block: Block, path: str) -> str:
    """Return the text of a new file. Code fences around all of it are removed, except in markup such as Markdown."""
    text = block.splits[0][1]
    return text if path.lower().endswith(MARKUP) else _unfenced(text)


def _encoded(text: str, path: str, encode: Callable[[str], bytes], encoding: str) -> bytes:
    """Return the bytes of `text`. Raises ReplyError for characters that the encoding does not have."""
    try:
        return encode(text)
    except UnicodeEncodeError as error:
        odd = text[error.start : error.end]
        raise ReplyError(f"{path} is {encoding}, which cannot hold {odd!r}; use other characters.") from None


def _edited(path: str, data: bytes, blocks: Sequence[Block], faults: dict[int, ReplyError]) -> bytes:
    """Return the bytes of the file with the blocks applied; store errors in `faults` by the number of the block.

    Raises ReplyError for errors that concern all blocks.
    """
    source = decode(data)
    if source is None:
        raise ReplyError(f"{path} is no text file and cannot be edited.")
    lines = tuple(LINE.findall(source.text))
    found = (_placed(block, path, lines, faults) for block in blocks)
    places = sorted((place for place in found if place), key=lambda place: place.first)
    for one, other in pairwise(places):
        if other.first < one.last:
            raise ReplyError(
                f"Blocks {one.block.number} and {other.block.number} ({path}) overlap; make them one block."
            )
    for place in reversed(places):
        lines = lines[: place.first] + place.lines + lines[place.last :]
    return _encoded("".join(lines), path, source.encode, source.encoding)


def _occurs(block: Block, tree: EditableFiles, path: str) -> bool:
    """Return whether the SEARCH text of `block` is in the file, perhaps with other white space."""
    source = decode(tree.read(path) or b"")
    lines = tuple(LINE.findall(source.text)) if source else ()
    bare = tuple(line.rstrip("\r\n") for line in lines)
    readings = _readings(block, lines)
    return any(_matches(old, bare) or match_ignoring_whitespace(old, new, bare) for old, new in readings)


def _placed(block: Block, path: str, lines: Lines, faults: dict[int, ReplyError]) -> MatchedBlock | None:
    """Return the only position of `block`; if there is none, store the reason in `faults` and return None.

    If SEARCH is not found with fences around it, it is searched without them.
    """
    try:
        return _place(block, path, lines)
    except ReplyError as fault:
        splits = tuple((bare, _unfenced(new)) for old, new in block.splits if (bare := _unfenced(old)) != old)
        if splits:
            return _placed(replace(block, splits=splits), path, lines, faults)
        faults[block.number] = fault
        return None


def _place(block: Block, path: str, lines: Lines) -> MatchedBlock:
    """Return the only position of `block`. Raises ReplyError if there is none or more than one.

    If the code contains divider lines, the longest possible search text that occurs in the file is used.
    """
    bare = tuple(line.rstrip("\r\n") for line in lines)
    readings = _readings(block, lines)
    found = ((search, new, _matches(search, bare)) for search, new in readings)
    search, new, at = next(filter(itemgetter(2), found), ((), (), []))
    if len(at) > 1:
        raise ReplyError(
            f"Block {block.number} ({path}): SEARCH matches {len(at)} places "
            f"(lines {', '.join(str(index + 1) for index in at[:8])}). Add neighbouring lines until it is unique."
        )
    if at:
        first, last = at[0], at[0] + len(search)
    elif block.creates:
        return _whole(block, path, lines)
    elif loose := next(filter(None, (match_ignoring_whitespace(old, want, bare) for old, want in readings)), None):
        first, last, new = loose
    else:
        raise _not_found(block, path, bare)
    return MatchedBlock(block, first, last, _with_line_ends(new, lines[first:last]))


def _whole(block: Block, path: str, lines: Lines) -> MatchedBlock:
    """Return the position that covers an empty file. Raises ReplyError if the file is not empty."""
    if any(line.strip() for line in lines):
        raise ReplyError(
            f"Block {block.number}: {path} exists, so SEARCH must hold the lines to change; "
            "an empty SEARCH is for new files."
        )
    return MatchedBlock(block, 0, len(lines), tuple(LINE.findall(_new_text(block, path))))


def _unfenced(text: str) -> str:
    """Return `text` without the code fences that enclose all of it."""
    lines = text.splitlines(keepends=True)
    fences = [FENCE.match(line.rstrip("\r\n")) for line in (lines[0], lines[-1])] if len(lines) > 1 else [None]
    first, last = fences[0], fences[-1]
    return "".join(lines[1:-1]) if first and last and first[1] == last[1] and not last[2].strip() else text


def _readings(block: Block, lines: Lines) -> list[tuple[Lines, Lines]]:
    """Return all possible (search, replace) pairs of the block, the longest search text first.

    Our prompt marks executed lines, and the model may copy these marks. They are removed from the pairs, unless the
    file itself contains such marks.
    """
    marked = not any(MARKED.search(line) for line in lines)
    splits = [tuple(MARKED.sub("", part) if marked else part for part in split) for split in block.splits]
    readings = [(_bare(search), _bare(new)) for search, new in splits if search.strip()]
    return sorted(readings, key=lambda reading: -len(reading[0]))


def _bare(text: str) -> Lines:
    """Return the lines of `text` without line ends."""
    return tuple(line.rstrip("\r\n") for line in LINE.findall(text))


def _matches(search: Lines, bare: Lines) -> list[int]:
    """Return the indices at which the lines of `search` occur consecutively."""
    length = len(search)
    return [at for at in range(len(bare) - length + 1) if bare[at] == search[0] and bare[at : at + length] == search]


def _with_line_ends(new: Lines, old: Lines) -> Lines:
    """Return `new` with the line ends of the replaced lines; a missing final line end stays missing."""
    ends = [line[len(line.rstrip("\r\n")) :] for line in old]
    usual = next((end for end in ends if end), "\n")
    last = ends[-1] if ends else usual
    return tuple(line + (usual if index < len(new) - 1 else last) for index, line in enumerate(new))


def _not_found(block: Block, path: str, bare: Lines) -> ReplyError:
    """Return the error that says why SEARCH was not found: already applied, or the most similar lines of the file."""
    head = f"Block {block.number} ({path}): "
    search, new = block.splits[0]
    wanted = _bare(new)
    found = find_closest(_bare(MARKED.sub("", search)), bare)
    if any(line.strip() for line in wanted) and (at := _matches(wanted, bare)):
        kind = AlreadyAppliedError if len(at) == 1 and found and found.contains(at[0] + 1) else ReplyError
        return kind(f"{head}already applied: REPLACE is in the file, SEARCH is not. Leave this block out.")
    if found is None:
        return ReplyError(f"{head}SEARCH was not found, nor anything like it. Copy it from the file as shown.")
    space = " It differs only in whitespace." if found.whitespace else ""
    return ReplyError(
        f"{head}SEARCH was not found.{space} These lines are really there (from line {found.line}):\n{found.text}"
    )
