"""Apply the blocks of a reply to files: all of them, each at its only possible position, or none of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

from coderefine.errors import ReplyError
from coderefine.llm.editable_files import EditableFiles, located
from coderefine.llm.folding import MARKED
from coderefine.llm.near_match import find_closest, match_ignoring_whitespace
from coderefine.llm.reply import FENCE, Block, Kept, NothingToApplyError, PartlyUsableError
from coderefine.source import decode

MARKUP = (".md", ".mdx", ".markdown", ".rst", ".txt")
"""Ends of the names of files in which a line may be a code fence."""

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")

Lines = tuple[str, ...]


class AlreadyAppliedError(ReplyError):
    """REPLACE is in the file once, at the lines that are most similar to SEARCH."""


@dataclass(frozen=True, slots=True)
class MatchedBlock:
    """Position of a block: lines `first` to `last` (exclusive) of the file, and their new text with line ends."""

    block: Block
    first: int
    last: int
    lines: Lines


NOTHING_KEPT = Kept()


def apply(blocks: Sequence[Block], tree: EditableFiles, kept: Kept = NOTHING_KEPT) -> Mapping[str, bytes]:
    """Apply `blocks` to the files of `tree`; return the new bytes by path.

    `kept`: what is left of the reply that `blocks` correct; its blocks are applied too, except those that `blocks`
    replace. A block that is already applied is left out if another one changes something. Raises ReplyError, whose
    message can be sent to the model, if a block does not match exactly one position. If other blocks match, the error
    is a PartlyUsableError that contains them. Raises NothingToApplyError if no file would change.
    """
    faults: dict[int, ReplyError] = {}
    found = located(blocks, tree, kept.path, faults, lambda block, path: _occurs(block, tree.read(path)))
    placed = _with_kept(list(found), kept, len(blocks))
    grouped: dict[str, list[Block]] = {}
    for block in placed:
        grouped.setdefault(block.path, []).append(block)
    files = {path: _file(path, group, tree, faults) for path, group in grouped.items()}
    changed = {path: data for path, data in files.items() if data != tree.read(path)}
    _check(faults, placed, useful=bool(changed))
    if not changed:
        raise NothingToApplyError("The edits change nothing: the file already reads like that. Find another cause.")
    return changed


def _with_kept(placed: Sequence[Block], kept: Kept, number: int) -> Sequence[Block]:
    """Return `placed` and the kept blocks that `placed` does not replace, with numbers after `number`."""
    replaced = {(block.path, block.splits[0][0]) for block in placed}
    others = (block for block in kept.blocks if (block.path, block.splits[0][0]) not in replaced)
    return (*placed, *(replace(block, number=at) for at, block in enumerate(others, number + 1)))


def _check(faults: Mapping[int, ReplyError], placed: Sequence[Block], *, useful: bool) -> None:
    """Raise the error with all faults. If the edits are `useful`, a block that is already applied is no fault."""
    done = {number for number, fault in faults.items() if useful and isinstance(fault, AlreadyAppliedError)}
    serious = {number: str(fault) for number, fault in faults.items() if number not in done}
    if serious:
        raise _refusal(serious, [block for block in placed if block.number not in done])


def _file(path: str, blocks: Sequence[Block], tree: EditableFiles, faults: dict[int, ReplyError]) -> bytes:
    """Return the file with its blocks applied; store errors in `faults` by the number of the block."""
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
    """Return the error with all different faults; it contains the blocks without faults."""
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
    """Return the text of a new file, without fences around all of it, except in a file that may have fences."""
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
    """Return the file with the blocks applied; store errors in `faults` by the number of the block.

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


def _occurs(block: Block, data: bytes | None) -> bool:
    """Return whether the SEARCH text of `block` is in a file, perhaps with other white space."""
    source = decode(data or b"")
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
        last = at[0] + len(search)
        return MatchedBlock(block, at[0], last, _with_line_ends(new, lines[at[0] : last]))
    if block.creates:
        return _whole(block, path, lines)
    loose = next(filter(None, (match_ignoring_whitespace(old, want, bare) for old, want in readings)), None)
    if loose is None:
        raise _not_found(block, path, bare)
    return MatchedBlock(block, loose.first, loose.last, _with_line_ends(loose.lines, lines[loose.first : loose.last]))


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
