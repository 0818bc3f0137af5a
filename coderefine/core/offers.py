"""Plausible patches that are offered, not written: the alternatives, and the inputs that tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coderefine.core.patches import EMPTY, Patch

PLAUSIBLE = "plausible, offered"
"""How the verdict on an attempt begins that passed every check and is not written."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One plausible patch. Its files are whole new contents, made from those that the offer holds in `before`.

    `changed`: nearby answers that it changes, and all that were compared. `alike`: plausible patches found that behave
    as it does, itself included.
    """

    patch: Patch
    changed: tuple[int, int] | None = None
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """An input on which alternatives differ: a call as source text, and the answer of each alternative, in order."""

    call: str
    module: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """Patches that repair the same `tests`, the most likely first, none of them sure enough to be written.

    `why` the first is not. `ways`: how many behaviours all plausible patches have. `modules`: where to find the names
    that questions use. `before`: what the alternatives' files hold without them.
    """

    alternatives: tuple[Alternative, ...]
    tests: frozenset[str] = frozenset()
    why: str = ""
    ways: int = 1
    questions: tuple[Question, ...] = ()
    modules: tuple[str, ...] = ()
    before: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
