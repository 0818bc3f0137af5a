"""Plausible patches that are offered, not written: the alternatives, and the inputs that tell them apart."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from coderefine.core.patches import EMPTY, Patch

CONTEXT, LINES = 1, 14
"""Unchanged lines around a change, and lines of one diff, that are shown."""
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

    def text(self, first: int = 1) -> str:
        """`pluralize('cat') → 1: 'cats' | 2, 3: 'cates'`; the alternatives are numbered from `first` on."""
        by_answer: dict[str, list[str]] = {}
        for number, answer in enumerate(self.answers, first):
            by_answer.setdefault(answer or "unknown", []).append(str(number))
        said = " | ".join(f"{', '.join(numbers)}: {answer}" for answer, numbers in by_answer.items())
        return f"{self.call} → {said}"


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

    def diff(self, alternative: Alternative) -> list[str]:
        """The lines that `alternative` changes, with a little around them; cut when it is long."""
        found: list[str] = []
        for path, data in alternative.patch.files.items():
            old, new = ((one or b"").decode("utf-8", "replace").splitlines() for one in (self.before.get(path), data))
            rows = difflib.unified_diff(old, new, lineterm="", n=CONTEXT)
            found += [line for line in rows if not line.startswith(("---", "+++", "@@"))]
        return found if len(found) <= LINES else [*found[: LINES - 1], "…"]
