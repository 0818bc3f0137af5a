"""Lays the blocks of a reply over files: every one in exactly one place, or none at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from coderefine.errors import ReplyError
from coderefine.llm.closest_lines import find_closest
from coderefine.llm.folding import MARKED
from coderefine.llm.reply import Block, NothingToApplyError, PartlyUsableError
from coderefine.llm.whitespace_match import WhitespaceMatch, match_ignoring_whitespace
from coderefine.source import Source, decode

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")

Lines = tuple[str, ...]
"""Lines with their ends."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The files that edits apply to.

    `read` gives a file's bytes, None when there is none; `creatable` says why a new file may not be made
    there (None: it may); `shown` are the paths that the model was shown.
    """

    read: Callable[[str], bytes | None]
    creatable: Callable[[str], str | None] = lambda _: None
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block goes: lines `first` to `last` (exclusive) of the file, and what comes there."""

    block: Block
    first: int
    last: int
    lines: Lines


def apply(blocks: Sequence[Block], tree: Tree) -> Mapping[str, bytes]:
    """New bytes by path.

    Raises ReplyError naming each block that has no single place, with what is really there; it can be
    sent back to the model (a PartlyUsableError, which has the other blocks, where some are fine). Raises
    NothingToApplyError when the files would stay as they are.
    """
    grouped: dict[str, list[Block]] = {}
    for block in blocks:
        grouped.setdefault(_resolve(block, tree), []).append(block)
    results = [_file(path, group, tree) for path, group in grouped.items()]
    faults = [fault for result in results for fault in result.faults]
    if faults:
        raise _refusal(results, faults, blocks)
    changed = {result.path: result.data for result in results if result.data != tree.read(result.path)}
    if not changed:
        raise NothingToApplyError("The edits change nothing: the file already reads like that. Find another cause.")
    return changed


@dataclass(frozen=True, slots=True)
class _Result:
    """One file after its blocks, or what is wrong with them; `wrong`: the numbers of the blocks at fault."""

    path: str
    data: bytes = b""
    faults: tuple[str, ...] = ()
    wrong: frozenset[int] = frozenset()


def _refusal(results: Sequence[_Result], faults: list[str], blocks: Sequence[Block]) -> ReplyError:
    """Make the error that names the faults and holds the blocks that are fine."""
    wrong = {number for result in results for number in result.wrong}
    fine = tuple(block for block in blocks if block.number not in wrong)
    verdict = _verdict(faults, fine)
    return PartlyUsableError(verdict, fine) if fine else ReplyError(verdict)


def _verdict(faults: list[str], fine: Sequence[Block]) -> str:
    said = "\n".join(faults)
    if not fine:
        return f"{said}\nNothing was applied. Send all blocks again, corrected."
    kept = "The other block was" if len(fine) == 1 else f"The other {len(fine)} blocks were"
    return f"{said}\n{kept} fine and will be applied with it: send only what is corrected."


def _resolve(block: Block, tree: Tree) -> str:
    """The path a block means: as written, else the only shown file whose path ends like it."""
    path = block.path
    if not path:
        if len(tree.shown) == 1:
            return tree.shown[0]
        raise ReplyError(f"Block {block.number} names no file. Write its path on the line above SEARCH.")
    known = _alike(path, tree.shown) if _foreign(path) or tree.read(path) is None else None
    if known is None and _foreign(path):
        raise ReplyError(f"Block {block.number}: {path} is outside the repository. Use the paths you were shown.")
    return known or path


def _foreign(path: str) -> bool:
    """Whether `path` leads out of the repository."""
    parts = PurePosixPath(path)
    return parts.is_absolute() or ".." in parts.parts or bool(re.match(r"[A-Za-z]:", path))


def _alike(path: str, shown: Sequence[str]) -> str | None:
    near = [known for known in shown if known.endswith(f"/{path}") or path.endswith(f"/{known}")]
    return near[0] if len(near) == 1 else None


def _file(path: str, blocks: Sequence[Block], tree: Tree) -> _Result:
    try:
        data = tree.read(path)
        return _Result(path, _created(path, blocks, tree)) if data is None else _edited(path, data, blocks)
    except ReplyError as fault:
        return _Result(path, faults=(str(fault),), wrong=frozenset(block.number for block in blocks))


def _edited(path: str, data: bytes, blocks: Sequence[Block]) -> _Result:
    source = decode(data)
    if source is None:
        raise ReplyError(f"{path} is no text file and cannot be edited.")
    lines = tuple(LINE.findall(source.text))
    found = [_tried(block, path, lines) for block in blocks]
    faults = {block.number: item for block, item in zip(blocks, found, strict=True) if isinstance(item, str)}
    if faults:
        return _Result(path, faults=tuple(faults.values()), wrong=frozenset(faults))
    places = sorted((item for item in found if isinstance(item, Place)), key=lambda place: place.first)
    _check_apart(places, path)
    for place in reversed(places):
        lines = lines[: place.first] + place.lines + lines[place.last :]
    return _Result(path, _encoded(source, "".join(lines), path))


def _tried(block: Block, path: str, lines: Lines) -> Place | str:
    """The place of `block`, or why it has none."""
    try:
        return _place(block, path, lines)
    except ReplyError as fault:
        return str(fault)


def _created(path: str, blocks: Sequence[Block], tree: Tree) -> bytes:
    block = blocks[0]
    if not block.creates:
        known = f" Files shown: {', '.join(tree.shown)}." if tree.shown else ""
        raise ReplyError(f"Block {block.number}: there is no file {path}.{known}")
    if len(blocks) > 1:
        raise ReplyError(f"Blocks {block.number} and {blocks[1].number} both write the new file {path}; use one.")
    reason = tree.creatable(path)
    if reason:
        raise ReplyError(f"Block {block.number}: {path} may not be created: {reason}.")
    return block.splits[0][1].encode()


def _place(block: Block, path: str, lines: Lines) -> Place:
    """The one place of `block`. Raises ReplyError when there is none or more than one.

    Where code holds divider lines, the reading with the longest search that occurs in the file is meant.
    """
    readings = sorted(_readings(block, lines), key=lambda reading: -len(reading[0]))
    found = ((search, new, _matches(search, lines)) for search, new in readings)
    search, new, at = next((item for item in found if item[2]), ((), (), []))
    if len(at) == 1:
        last = at[0] + len(search)
        return Place(block, at[0], last, _ended(new, lines[at[0] : last]))
    if at:
        raise ReplyError(
            f"Block {block.number} ({path}): SEARCH matches {len(at)} places "
            f"(lines {', '.join(str(index + 1) for index in at[:8])}). Add neighbouring lines until it is unique."
        )
    if block.creates:
        return _whole(block, path, lines)
    loose: WhitespaceMatch | None = next(
        filter(None, (match_ignoring_whitespace(old, want, _bare(lines)) for old, want in readings)), None
    )
    if loose:
        return Place(block, loose.first, loose.last, _ended(loose.lines, lines[loose.first : loose.last]))
    raise ReplyError(_missing(block, path, lines))


def _whole(block: Block, path: str, lines: Lines) -> Place:
    if any(line.strip() for line in lines):
        raise ReplyError(
            f"Block {block.number}: {path} exists, so SEARCH must hold the lines to change; "
            "an empty SEARCH is for new files."
        )
    return Place(block, 0, len(lines), tuple(_split(block.splits[0][1], keep=True)))


def _readings(block: Block, lines: Lines) -> list[tuple[Lines, Lines]]:
    """Every way to read the block; the mark of executed lines is taken off, unless it is in the file itself."""
    marked = not any(MARKED.search(line) for line in lines)
    splits = [tuple(MARKED.sub("", part) if marked else part for part in split) for split in block.splits]
    return [(_split(search), _split(new)) for search, new in splits if search.strip()]


def _bare(lines: Lines) -> Lines:
    return tuple(line.rstrip("\r\n") for line in lines)


def _split(text: str, *, keep: bool = False) -> Lines:
    lines = tuple(LINE.findall(text))
    return lines if keep else tuple(line.rstrip("\r\n") for line in lines)


def _matches(search: Lines, lines: Lines) -> list[int]:
    """Indices where the lines of `search` stand one after the other, line ends aside."""
    bare = [line.rstrip("\r\n") for line in lines]
    length = len(search)
    return [
        at for at in range(len(bare) - length + 1) if bare[at] == search[0] and tuple(bare[at : at + length]) == search
    ]


def _ended(new: Lines, old: Lines) -> Lines:
    """`new` with the line ends of what it replaces; a missing final line end stays missing."""
    ends = [line[len(line.rstrip("\r\n")) :] for line in old]
    usual = next((end for end in ends if end), "\n")
    last = ends[-1] if ends else usual
    return tuple(line + (usual if index < len(new) - 1 else last) for index, line in enumerate(new))


def _check_apart(places: Sequence[Place], path: str) -> None:
    for one, other in pairwise(places):
        if other.first < one.last:
            raise ReplyError(
                f"Blocks {one.block.number} and {other.block.number} ({path}) overlap; make them one block."
            )


def _missing(block: Block, path: str, lines: Lines) -> str:
    """Why SEARCH was not found: already applied, or the closest real lines."""
    head = f"Block {block.number} ({path}): "
    search, new = block.splits[0]
    wanted = _split(new)
    if wanted and any(line.strip() for line in wanted) and _matches(wanted, lines):
        return f"{head}already applied: REPLACE is in the file, SEARCH is not. Leave this block out."
    search = MARKED.sub("", search)
    found = find_closest(_split(search), _split("".join(lines)))
    if found is None:
        return f"{head}SEARCH was not found, nor anything like it. Copy it from the file as shown."
    space = " It differs only in whitespace." if found.whitespace else ""
    return f"{head}SEARCH was not found.{space} These lines are really there (from line {found.line}):\n{found.text}"


def _encoded(source: Source, text: str, path: str) -> bytes:
    try:
        return source.encode(text)
    except UnicodeEncodeError as error:
        odd = text[error.start : error.end]
        raise ReplyError(f"{path} is {source.encoding}, which cannot hold {odd!r}; use other characters.") from None
