"""The bundle: what the run that executes the pull request's code passes to the run that posts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

VERSION = 1
NAME = "suggest.json"
PATCH = "coderefine.patch"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion: lines `first`..`last` of `path` at the head are `old` and should be `new` (without line ends).

    `rules` are what it clears (`pytest/failed`, `ruff/F401`), `why` says so for a reader.
    """

    path: str
    first: int
    last: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    rules: tuple[str, ...]
    why: str

    @property
    def fingerprint(self) -> str:
        """Return an identity that stays the same when a push only moves the lines: no line numbers, blanks squeezed."""
        parts = (self.path, " ".join(sorted(set(self.rules))), _squeezed(self.old), _squeezed(self.new))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Note:
    """A remaining finding, for an annotation."""

    path: str
    first: int
    last: int
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything to post.

    `head` is the commit that it was proved on. `patch` is the whole patch as a unified diff, "" for none. `behaviour`:
    it repairs more than style. `evidence` and `summary` are one line each.
    """

    head: str
    base: str
    summary: str = ""
    evidence: str = ""
    patch: str = ""
    behaviour: bool = False
    suggestions: tuple[Suggestion, ...] = ()
    notes: tuple[Note, ...] = ()

    def speaks(self, *, style: bool) -> bool:
        """Return whether there is something to post: a patch, and one of behaviour unless `style` is wanted, too."""
        return bool(self.patch) and (self.behaviour or style)

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _squeezed(lines: tuple[str, ...]) -> str:
    return "\n".join(" ".join(line.split()) for line in lines)
