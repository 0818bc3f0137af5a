"""Reduce the complexity and size of functions to their limits by refactorings that keep behaviour (`sequence.py`)."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from coderefine.core import Listen
from coderefine.lint import TextEdit, apply
from coderefine.proposers.refactorings.measures import COMPLEXITY, COUNTED
from coderefine.source import decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.core import Finding, Situation, View
    from coderefine.llm.client import Client
    from coderefine.project import Interpreter, Place, Protection
    from coderefine.proposers.refactoring import CodeChange
    from coderefine.proposers.refactorings.declared import ProjectTypes
    from coderefine.proposers.refactorings.measures import Limits
    from coderefine.proposers.refactorings.model_names import ModelNames
    from coderefine.proposers.refactorings.sequence import Draft
    from coderefine.proposers.refactorings.trees import Unit

NAME = "simplify"
RULES = {"radon": (COMPLEXITY,), "ruff": tuple(COUNTED)}
"""The rules that the refactorings repair, by critic."""
OVER = re.compile(r"\((\d+) > (\d+)\)")
"""In messages of ruff: the value, and its limit."""
Excess = tuple[tuple[str, int | None], ...]
"""For each finding, its rule, and by how much the limit is exceeded (None: the limit for radon counts)."""
PRIVATE = re.compile(r"\b_[A-Za-z]\w*")


class ComplexityChanges:
    """Finds, for each function over a limit, the best sequence of refactorings to reach its limits."""

    def __init__(
        self,
        place: Place,
        config: Config,
        interpreter: Interpreter,
        protection: Protection,
        listen: Listen = lambda _: None,
        *,
        client: Client | None = None,
    ) -> None:
        """Create the source of changes. `client`: access to a model that names the new functions (None: no model)."""
        from coderefine.proposers.refactoring import Guard

        self._guard = Guard(listen)
        self._listen, self._client = listen, client
        self._place, self._config, self._interpreter = place, config, interpreter
        self._protection = protection
        self._limit, self._floor = config.max_complexity, config.min_maintainability
        self._known: dict[tuple[str, str, int, Excess], tuple[str, str] | None] = {}
        """For (old text, function, line, excess): the new text of the file, and why the change is only offered, or "".

        The value is None if no change was found.
        """
        self._added: dict[tuple[str, str], frozenset[str]] = {}
        """The names of the new functions by (path, function)."""
        self._private: frozenset[str] | None = None
        self._project: ProjectTypes | None = None
        self._ends = math.inf
        """The monotonic time at which drafting ends."""

    def __call__(self, view: View, situation: Situation) -> Iterator[CodeChange]:
        """Yield the change for each function with a finding of RULES in a writable file, if a change is found.

        The least complex functions come first: they take the least time and most often come under the limit. Stop when
        the time of `situation` is over.
        """
        self._ends = math.inf if situation.ends is None else situation.ends
        made: dict[str, list[TextEdit]] = {}
        functions: dict[tuple[str, str, int], list[Finding]] = {}  # radon and ruff may both have a finding on one
        for finding in sorted(situation.findings, key=lambda one: one.weight):
            if finding.rule in RULES.get(finding.critic, ()) and not self._protection.reason(finding.path):
                line = finding.span.first if finding.span else 1
                functions.setdefault((finding.path, finding.symbol, line), []).append(finding)
        for (path, symbol, line), findings in functions.items():
            if situation.late:
                break
            change = partial(self._change, view, (path, symbol, line), findings, made.setdefault(path, []))
            if (found := self._guard.made(f"{path}:{line} {symbol}", change)) is not None:
                yield found

    def _change(
        self, view: View, place: tuple[str, str, int], findings: Sequence[Finding], made: list[TextEdit]
    ) -> CodeChange | None:
        """Return the change that makes one function simpler.

        Return None if there is no such change, or if it would lower the maintainability of the file below the limit.

        `made`: the edits of other functions in the same file so far; the edits of the returned change are added.
        """
        from coderefine.proposers.refactoring import CodeChange

        path, symbol, line = place
        excess = tuple((one.rule, _excess(one)) for one in findings)
        source = decode(view.read(path))
        if source is None or not source.newline:
            return None
        key = source.text, symbol, line, excess
        if key in self._known:
            after = self._known[key]
        else:
            after = self._shortened(view, (path, symbol), source.text, line, excess)
            if after is not None or time.monotonic() < self._ends:
                # A search that ended for lack of time is repeated later if time is left.
                self._known[key] = after
        if after is None:
            return None
        change = CodeChange.between(
            path, findings[-1].rule, line, f"{symbol} made simpler", (source.text, after[0]), doubt=after[1]
        )
        together = apply(source.text, [*made, *change.edits])
        # New functions may lower the maintainability index.
        if together is not None and _index(together) < self._floor <= _index(source.text):
            return None
        made += change.edits
        return change

    def _shortened(
        self, view: View, where: tuple[str, str], text: str, line: int, excess: Excess
    ) -> tuple[str, str] | None:
        """Return the new text of the file, and why the change is only offered; None if no draft is good enough.

        The second value is "" if the change can be applied.
        In the new text, the function is within the limits. `where`: (path, function); `line`: the line of its `def`.
        New functions do not get names that changes of other functions add, because all changes are made together.
        """
        from coderefine.proposers.refactorings.files import identifiers, placed, written
        from coderefine.proposers.refactorings.sequence import FAIR, shortened

        path, symbol = where
        others = (names for key, names in self._added.items() if key != where)
        taken = identifiers(text).union(self._taken(view), *others)
        place = placed(text, symbol, taken, line, self._types(view))
        if isinstance(place, str):
            return None
        doubt = ""
        limits = {rule: self._limit if by is None else place.unit.size(rule) - by for rule, by in excess}
        draft = self._draft(place.unit, limits)
        if draft is None:
            doubt = f"{symbol}: it keeps its behaviour, but a reader may want other names or parts"
            draft = shortened(place.unit, limits, self._ends, standard=FAIR)
        if draft is None:
            return None
        if draft.doubts:
            doubt = f"{symbol}: {'; '.join(sorted(draft.doubts))}"
        self._added[where] = frozenset(one.name for one in draft.added)
        return self._formatted(view, path, text, written(text, place, draft)), doubt

    @cached_property
    def _names(self) -> ModelNames | None:
        from coderefine.proposers.refactorings.model_names import ModelNames

        return ModelNames(self._client, self._listen) if self._client is not None else None

    def _draft(self, unit: Unit, limits: Limits) -> Draft | None:
        """Return the best draft of a function that meets the standard GOOD; None if there is none.

        The new functions have the model's names. If there is no model, or a name of the model cannot be used, they have
        the names that follow from the code.
        """
        from coderefine.proposers.refactorings.model_names import name_for_now
        from coderefine.proposers.refactorings.sequence import shortened

        if self._names is not None and self._names.ready:
            draft = shortened(unit, limits, self._ends, name_for_now)
            named = self._names(draft) if draft is not None and draft.added else draft
            if named is not None:
                return named
        return shortened(unit, limits, self._ends)

    def _taken(self, view: View) -> frozenset[str]:
        """Return all private names in the project, so that no new method overrides another method or is overridden."""
        from coderefine.proposers.refactorings.files import python_files

        if self._private is None:
            names = python_files(view.host_path / self._place.prefix) or ()
            texts = (file.read_bytes().decode("utf-8", "replace") for file in names)
            self._private = frozenset(name for text in texts for name in PRIVATE.findall(text))
        return self._private

    def _types(self, view: View) -> ProjectTypes:
        """Return the annotations of the whole project, as it was at the first call."""
        from coderefine.proposers.refactorings.declared import ProjectTypes
        from coderefine.proposers.refactorings.files import python_files

        if self._project is None:
            self._project = ProjectTypes(python_files(view.host_path / self._place.prefix) or ())
        return self._project

    def _formatted(self, view: View, path: str, before: str, after: str) -> str:
        """Return `after`, formatted by the project's formatter if `before` is formatted by it."""
        from coderefine.lint import Linter

        linter = Linter.of(self._place, self._interpreter, self._config)
        old, new = before.encode(), after.encode()
        done = linter.formatted(view, path, new) if linter.formatted(view, path, old) == old else None
        return done.decode() if done is not None else after


def _excess(finding: Finding) -> int | None:
    """Return by how much a value is over its limit, as a finding of ruff says; None for other findings."""
    numbers = OVER.search(finding.message) if finding.critic == "ruff" else None
    return int(numbers[1]) - int(numbers[2]) if numbers else None


def _index(text: str) -> float:
    """Return radon's maintainability index of a file, 0 to 100; infinity where radon cannot read it."""
    from radon.metrics import mi_visit

    try:
        return float(mi_visit(text, multi=True))
    except SyntaxError:
        return math.inf
