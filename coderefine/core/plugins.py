"""The Protocols that critics, proposers and publishers satisfy."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from coderefine.core.attempts import Attempt, Verdict
from coderefine.core.checks import Ask, Check
from coderefine.core.findings import Finding
from coderefine.core.outcomes import Outcome
from coderefine.core.patches import Patch
from coderefine.core.spending import Cost
from coderefine.core.views import View, Views


class Critic(Protocol):
    """A gate (deterministic, may block) or advice (never outvotes a gate, never declares success)."""

    @property
    def name(self) -> str: ...

    @property
    def gate(self) -> bool: ...

    def check(self, view: View, ask: Ask) -> Check:
        """Judge the tree of `view`. Raises CriticError when the tool itself could not speak."""
        ...


@runtime_checkable
class Comparer(Protocol):
    """An adviser that has to see an attempt beside its rivals, as whoever measures time has to."""

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """What it says of `view`; or a no with its reason, which ends the attempt.

        `rivals`: the first tree it was asked about and, if that is another, the best one so far, each with what it
        said. Raises CriticError when it could not speak.
        """
        ...


@dataclass(frozen=True, slots=True)
class Situation:
    """All a proposer may know: values, so that a resumed run walks the same way.

    `findings` are the hard findings of `best` in scope, most important first. `attempts` holds every attempt
    so far, refused ones included. `protected` answers whether a path may be written.
    """

    best: Attempt
    baseline: Attempt
    attempts: tuple[Attempt, ...]
    findings: tuple[Finding, ...]
    scope: tuple[str, ...]
    flaky: frozenset[str] = frozenset()
    seconds_left: float | None = None


Proposals = Generator[Patch, Situation, None]


class Proposer(Protocol):
    """Lazily yields the next patch: `situation = yield patch`. Each `next()` may cost money or time."""

    @property
    def name(self) -> str: ...

    @property
    def spent(self) -> Cost:
        """What this proposer has spent so far in this run."""
        ...

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Raises BudgetError before a limit is crossed, ModelError when the model's server says a final no."""
        ...


class Publisher(Protocol):
    """Writes a proved outcome somewhere; returns one line saying what it did."""

    @property
    def name(self) -> str: ...

    def publish(self, outcome: Outcome) -> str: ...
