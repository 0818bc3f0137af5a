"""Patches (new content by path), and plausible patches that are offered instead of written."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

EMPTY: Mapping[str, bytes | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Patch:
    """New content by repo-relative path, *always relative to the baseline*; `None` deletes a file.

    Contents are bytes, not text, so that encodings, line ends and byte-order marks are preserved. `origin`: name of the
    proposer, or see PICKED and PROVE. `programs`: the new files that are executable; other files keep their modes.
    """

    files: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    origin: str = ""
    summary: str = ""
    programs: frozenset[str] = frozenset()

    def then(self, files: Mapping[str, bytes | None], *, origin: str, summary: str) -> Patch:
        """Return a patch with the files of this one, of which `files` are added or replaced."""
        return Patch({**self.files, **files}, origin, summary, self.programs)

    def __bool__(self) -> bool:
        return bool(self.files)


KEEPING = frozenset({"rewrite", "simplify"})
"""Origins of patches that must keep behaviour: see proposers/refactoring.py."""
CONTEXT, LINES = 1, 14
"""Number of unchanged lines that are shown around a change, and maximum number of lines that are shown of a diff."""
PICKED = "pick"
"""The origin of a patch that the user chose among those that were offered."""
PLAUSIBLE = "plausible, offered"
"""Beginning of the verdict on an attempt that passed every check and is not written."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One plausible patch. Its files are complete new contents, based on the contents in `Offer.before`.

    `changed`: (number of calls whose result the patch changes, number of compared calls). The compared calls are those
    that tests make, and variants of these. `alike`: number of plausible patches with the same behaviour, including this
    one.
    """

    patch: Patch
    changed: tuple[int, int] | None = None
    alike: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A call on which alternatives differ, as source text, and the answer of each alternative, in order.

    If there is a single alternative, it changes the answer of this call. `module`: the module of the called function.
    `answers`: results as text; "" if unknown. `now`: the answer of the unchanged program; "" if unknown.
    """

    call: str
    module: str
    answers: tuple[str, ...]
    now: str = ""

    def text(self, first: int = 1) -> str:
        """Return the call and its answers in one line: `pluralize('cat') → 1: 'cats' | 2, 3: 'cates' (now 'cat')`.

        The numbers are those of the alternatives; the first alternative has the number `first`.
        """
        by_answer: dict[str, list[str]] = {}
        for number, answer in enumerate(self.answers, first):
            by_answer.setdefault(answer or "unknown", []).append(str(number))
        answers = " | ".join(f"{', '.join(numbers)}: {answer}" for answer, numbers in by_answer.items())
        return f"{self.call} → {answers}{f' (now {self.now})' if self.now else ''}"


@dataclass(frozen=True, slots=True)
class Offer:
    """Patches that repair the same `tests`, the most likely first, none of them certain enough to be applied.

    `why`: the reason against applying the first patch. `ways`: number of different behaviours of all plausible patches.
    `modules`: the modules from which to import the names in `questions`. `before`: contents of the files that the
    alternatives change, without these changes.
    """

    alternatives: tuple[Alternative, ...]
    tests: frozenset[str] = frozenset()
    why: str = ""
    ways: int = 1
    questions: tuple[Question, ...] = ()
    modules: tuple[str, ...] = ()
    before: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)

    @property
    def together(self) -> list[tuple[int, ...]]:
        """Return groups of at least two alternatives (their indices) with the same answers to all `questions`."""
        found: dict[tuple[str, ...], list[int]] = {}
        for at in range(len(self.alternatives)):
            found.setdefault(tuple(question.answers[at] for question in self.questions), []).append(at)
        return [tuple(places) for places in found.values() if len(places) > 1]

    def diff(self, alternative: Alternative) -> list[str]:
        """Return the unified diff of `alternative` without headers and blank lines, at most LINES lines.

        If lines are missing at the end, the last one is "…".
        """
        found: list[str] = []
        for path, data in alternative.patch.files.items():
            old, new = ((one or b"").decode("utf-8", "replace").splitlines() for one in (self.before.get(path), data))
            rows = islice(difflib.unified_diff(old, new, lineterm="", n=CONTEXT), 2, None)
            found += [line for line in rows if line.strip() and not line.startswith("@@")]
        return found if len(found) <= LINES else [*found[: LINES - 1], "…"]
