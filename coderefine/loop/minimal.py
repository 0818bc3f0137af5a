"""Prove parts of a proved patch: each hunk alone, or the smallest part that is still proved.

The search for the smallest part is delta debugging (Zeller and Hildebrandt 2002, ddmin): ever smaller groups of pieces
are left out if the rest is still proved. The pieces are first hunks, then lines. Each part that is admitted costs a run
of all tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from coderefine import judge
from coderefine.core import Attempt, Outcome, Patch, identities
from coderefine.core.plurals import counted
from coderefine.loop.proof import proved_once
from coderefine.loop.state import Parts, State, failing

MOST = 30
"""Maximum number of parts that are judged; each costs a run of all tests."""


@dataclass(frozen=True, slots=True)
class PatchPiece:
    """A hunk; or a whole file that has no hunks (new, deleted or binary) and gets the content `data`."""

    path: str
    hunk: judge.Hunk | None
    data: bytes | None = None

    def __str__(self) -> str:
        if self.hunk is None:
            return f"{self.path}: {'deleted' if self.data is None else 'all of it'}"
        return f"{self.path}:{self.hunk.first}: +{len(self.hunk.new)} −{len(self.hunk.old)}"


def smallest(state: State, whole: Attempt) -> tuple[Attempt, tuple[PatchPiece, ...]]:
    """Search for the smallest part of `whole`, a proved attempt, that repairs as much.

    Return the attempt with that part, and the pieces left out.
    """
    before = state.originals(whole.patch)
    search = _Search(state, whole, before, whole)
    kept = _fewest(tuple(pieces(whole.patch, before)), search.holds)
    finer = tuple(line for piece in kept for line in _lines(piece))
    if len(finer) > len(kept):
        kept = _fewest(finer, search.holds)
    part = {path: search.best.patch.files.get(path, before[path]) for path in whole.patch.files}
    return search.best, tuple(pieces(whole.patch, part))


def pieces(patch: Patch, before: Mapping[str, bytes | None]) -> Iterator[PatchPiece]:
    """Yield the hunks of `patch`, and its files without hunks."""
    for path, data in sorted(patch.files.items()):
        hunks = judge.hunks(path, before[path], data)
        yield from (PatchPiece(path, hunk) for hunk in hunks)
        if not hunks and before[path] != data:
            yield PatchPiece(path, None, data)


def _lines(piece: PatchPiece) -> Iterator[PatchPiece]:
    """Divide a hunk into changes of single lines: each replaces, adds or removes one line.

    A hunk that replaces lines by a different number of lines is not divided.
    """
    hunk = piece.hunk
    if hunk is None or (hunk.old and hunk.new and len(hunk.old) != len(hunk.new)):
        yield piece
        return
    for place in range(max(len(hunk.old), len(hunk.new))):
        first = hunk.first + (place if hunk.old else 0)
        yield PatchPiece(
            piece.path, judge.Hunk(piece.path, first, hunk.old[place : place + 1], hunk.new[place : place + 1])
        )


def _fewest(every: tuple[PatchPiece, ...], holds: Callable[[Sequence[PatchPiece]], bool]) -> tuple[PatchPiece, ...]:
    """Return a part of `every` that `holds` accepts, but would refuse if any single piece were left out."""
    groups = 2
    while len(every) > 1:
        size = -(-len(every) // groups)
        parts = ((*every[:at], *every[at + size :]) for at in range(0, len(every), size))
        rest = next(filter(holds, parts), None)
        if rest is not None:
            every, groups = rest, max(groups - 1, 2)
        elif size == 1:
            break
        else:
            groups = min(len(every), 2 * groups)
    return every


@dataclass(slots=True)
class _Search:
    """Judges parts of `whole`. `best`: the last part that was proved. `before`: the baseline's content of the files."""

    state: State
    whole: Attempt
    before: Mapping[str, bytes | None]
    best: Attempt
    judged: int = 0

    def holds(self, part: Sequence[PatchPiece]) -> bool:
        """Return whether `part` is proved, and leaves only failing tests and findings that `whole` leaves, too.

        If so, store the attempt as `best`. Return False also if MOST parts were judged, or if no time is left.
        """
        left = self.state.seconds_left
        patch = replace(self.whole.patch, files=self._files(part))
        if self.judged >= MOST or (left is not None and left <= 0) or not self.state.admit(patch):
            return False
        self.judged += 1
        self.state.notify("stage", f"a smaller part: {counted(len(part), 'piece')}")
        attempt = proved_once(self.state, Attempt(len(self.state.attempts), patch))
        known, remaining = (identities(judge.remarks(one)).keys() for one in (self.whole, attempt))
        if not attempt.verdict or not remaining <= known or not failing(attempt) <= failing(self.whole):
            return False
        self.best = attempt
        return True

    def _files(self, part: Sequence[PatchPiece]) -> dict[str, bytes | None]:
        files: dict[str, bytes | None] = {piece.path: piece.data for piece in part if piece.hunk is None}
        hunks = [piece.hunk for piece in part if piece.hunk is not None]
        hunks.reverse()  # from the end, so that line numbers stay valid; sorting keeps the order of equal numbers
        for hunk in sorted(hunks, key=lambda hunk: -hunk.first):
            files[hunk.path] = hunk.upon(files.get(hunk.path, self.before[hunk.path]) or b"")
        return files


def alone(parts: Parts, outcome: Outcome, pieces: Sequence[Patch]) -> Iterator[Attempt | None]:
    """Yield for each of `pieces` its proved attempt, or None if the piece must not be applied alone.

    A piece may be applied alone if it can be published, and if every test that the whole patch repairs also passes
    with this piece alone. Pieces after the first MOST, or after the time limit, are not judged and yield None.
    """
    state = State(parts, attempts=[outcome.baseline], flaky=frozenset(outcome.evidence.flaky))
    for number, piece in enumerate(pieces, 1):
        left = state.seconds_left
        if number > MOST or (left is not None and left <= 0):
            yield None
            continue
        state.notify("stage", f"piece {number} of {len(pieces)} alone")
        yield _holding(state, outcome, piece)


def _holding(state: State, outcome: Outcome, piece: Patch) -> Attempt | None:
    best = outcome.best
    if dict(piece.files) == dict(best.patch.files):
        return best
    if not state.admit(piece):
        return None
    attempt = proved_once(state, Attempt(1, piece))
    return attempt if attempt.verdict and failing(attempt) <= failing(best) else None
