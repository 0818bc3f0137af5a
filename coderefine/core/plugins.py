"""The Protocols that critics, proposers and publishers satisfy."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from coderefine.core.checks import Ask, Check, Coverage, Finding, Freedom
from coderefine.core.outcomes import Attempt, Cost, Outcome, Verdict
from coderefine.core.patches import Offer, Patch
from coderefine.core.views import View, Views


class Critic(Protocol):
    """A gate (deterministic, may block) or an adviser (never overrides a gate, never declares success)."""

    @property
    def name(self) -> str: ...

    @property
    def gate(self) -> bool: ...

    def check(self, view: View, ask: Ask) -> Check:
        """Judge the tree of `view`. Raises CriticError when the tool itself failed."""
        ...


@runtime_checkable
class Comparer(Protocol):
    """An adviser that compares an attempt with its rivals, for example by measuring time."""

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """Return the check of `view`, or a refusal with its reason, which ends the attempt.

        `rivals`: the first checked tree and, if different, the best one so far, each with its check. Raises CriticError
        if it fails.
        """
        ...


@dataclass(frozen=True, slots=True)
class Situation:
    """Input of a proposer: values only, so that a resumed run is deterministic.

    `findings` are the hard findings of `best` in scope, most important first. `attempts` holds every attempt
    so far, refused ones included. `freedom`: permissions that failing tests need (see Ask). `trace`: the lines that
    failing tests execute in the tree of `best`, if known. `absent`: failing tests that cannot be run by themselves,
    such as a class that cannot be collected. `offers`: plausible repairs that were not applied, because they may be
    wrong.
    """

    best: Attempt
    baseline: Attempt
    attempts: tuple[Attempt, ...]
    findings: tuple[Finding, ...]
    scope: tuple[str, ...]
    flaky: frozenset[str] = frozenset()
    seconds_left: float | None = None
    freedom: Freedom = Freedom()
    trace: Coverage = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    offers: tuple[Offer, ...] = ()

    @property
    def offered(self) -> frozenset[str]:
        """Failing tests with offers of plausible repairs."""
        return frozenset().union(*(offer.tests for offer in self.offers))


Proposals = Generator[Patch, Situation, None]


class Proposer(Protocol):
    """Lazily yields the next patch: `situation = yield patch`. Each `next()` may cost money or time."""

    @property
    def name(self) -> str: ...

    @property
    def spent(self) -> Cost:
        """Return what this proposer has spent so far in this run."""
        ...

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield patches. Raises BudgetError before a limit is crossed, ModelError on a final refusal of the server."""
        ...


@runtime_checkable
class Searcher(Protocol):
    """A proposer that judges candidates of its own before it proposes one."""

    @property
    def alternatives(self) -> Sequence[Patch]:
        """Other plausible patches beside the one proposed last, best first."""
        ...

    @property
    def proposed(self) -> Patch | None:
        """The patch proposed last."""
        ...

    @property
    def changed(self) -> tuple[int, int] | None:
        """Number of nearby answers that `proposed` changes, and of all compared ones; None if none were compared."""
        ...

    @property
    def offer(self) -> Offer | None:
        """Offer to make instead of applying `proposed`; None if it is clearly better than its rivals."""
        ...

    @property
    def first_candidate(self) -> float | None:
        """Seconds from the start of its first search to the first judged candidate; None before."""
        ...

    @property
    def hindrance(self) -> str:
        """Why no candidate could be judged, and what to do; "" if some were judged."""
        ...


@runtime_checkable
class TestRunner(Protocol):
    """A critic that runs the project's tests."""

    @property
    def spent(self) -> float:
        """Total seconds of its cold runs so far."""
        ...


class Publisher(Protocol):
    """Writes a proved outcome somewhere; returns one line saying what it did."""

    @property
    def name(self) -> str: ...

    def publish(self, outcome: Outcome) -> str: ...
