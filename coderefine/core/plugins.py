"""The Protocols that critics, proposers and publishers implement, and Task: the goal of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from coderefine.core.checks import Ask, Check, Coverage, Finding, Freedom, Severity
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

        `rivals`: the first checked tree and, if different, the best tree so far, each with its check. Raises
        CriticError if the comparison fails.
        """
        ...


MOST_RUNS = 4
"""Number of runs of a slow test suite after which a proposer counts as used up, see `Situation.used_up`."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Input of a proposer: values only, so that a resumed run is deterministic.

    `findings`: the hard findings of `best` in scope, most important first. `attempts`: every attempt so far, also if
    refused. `freedom`: permissions that failing tests need (see Ask). `trace`: the lines that failing tests
    execute in the tree of `best`, if known. `absent`: failing tests that cannot be run by themselves, such as a class
    that cannot be collected. `offers`: plausible repairs that were not applied, because they may be wrong. `ends`: the
    monotonic time at which proposers should end.
    """

    best: Attempt
    baseline: Attempt
    attempts: tuple[Attempt, ...]
    findings: tuple[Finding, ...]
    scope: tuple[str, ...]
    flaky: frozenset[str] = frozenset()
    ends: float | None = None
    freedom: Freedom = Freedom()
    trace: Coverage = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    offers: tuple[Offer, ...] = ()

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds until proposers should end, so that the final proof ends in time (None: no limit)."""
        return None if self.ends is None else self.ends - time.monotonic()

    @property
    def late(self) -> bool:
        """Return whether the time `ends` has passed."""
        return self.ends is not None and time.monotonic() >= self.ends

    @property
    def offered(self) -> frozenset[str]:
        """Return the failing tests for which plausible repairs are offered."""
        return frozenset().union(*(offer.tests for offer in self.offers))

    def chosen(self, critic: str) -> frozenset[tuple[str, str, int]] | None:
        """Return (path, rule, line) of the findings of `critic` to repair; None if these are all its hard findings."""
        every = [one for one in self.best.findings if one.critic == critic and one.severity is Severity.HARD]
        found = [one for one in self.findings if one.critic == critic]
        if len(found) >= len(every):
            return None
        return frozenset((one.path, one.rule, one.span.first) for one in found if one.span)

    def used_up(self, name: str) -> bool:
        """Return whether the tests are slow, and MOST_RUNS runs of them were needed for patches of the proposer `name`.

        Proposers whose patches do not justify minutes of tests call this.
        """
        suite = self.baseline.suite
        if suite is None or not suite.slow:
            return False
        tried = (one.check(suite.critic) for one in self.attempts if one.patch.origin == name)
        return sum(check is not None and check.complete for check in tried) >= MOST_RUNS


Proposals = Generator[Patch, Situation, None]


class Proposer(Protocol):
    """Lazily yields the next patch: `situation = yield patch`. Each `next()` may cost money or time."""

    @property
    def name(self) -> str: ...

    @property
    def spent(self) -> Cost:
        """Return this proposer's cost so far in this run."""
        ...

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield patches; receive the situation after each one.

        Raises BudgetError before a limit is exceeded, and ModelError if the server refuses permanently.
        """
        ...


class Searcher:
    """Base of proposers that know more about a patch than the gates can check."""

    proposed: Patch | None = None
    """The patch proposed last."""
    alternatives: tuple[Patch, ...] = ()
    """Plausible patches other than `proposed`, best first."""
    changed: tuple[int, int] | None = None
    """(Number of calls whose result `proposed` changes, number of compared calls); None if no calls were compared.

    The calls are those that tests make, and variants of them.
    """
    offer: Offer | None = None
    """The offer to make instead of applying `proposed`; None if `proposed` is clearly better than its rivals."""
    rivals: Offer | None = None
    """The offer to make if the proof shows that `proposed` may be wrong; None if no other patch is known."""
    first_candidate: float | None = None
    """Seconds from the start of the first search to the first judged candidate; None until then."""
    hindrance = ""
    """Why no candidate could be judged, or why the search ended before it had tried all, and what to do; else ""."""
    failed_again: frozenset[str] = frozenset()
    """Tests that failed again when the search ran them first, in another process on the unchanged tree."""


@runtime_checkable
class TestRunner(Protocol):
    """A critic that runs the project's tests."""

    @property
    def spent(self) -> float:
        """Return the total seconds of this critic's cold runs so far."""
        ...


@dataclass(frozen=True)
class WrappedTests:
    """Base of critics that change the input or the result of `critic`, which runs the project's tests."""

    critic: Critic

    @property
    def name(self) -> str:
        return self.critic.name

    @property
    def gate(self) -> bool:
        return self.critic.gate

    @property
    def spent(self) -> float:
        return self.critic.spent if isinstance(self.critic, TestRunner) else 0.0


class Publisher(Protocol):
    """Writes a proved outcome to its destination; returns one line about it."""

    def publish(self, outcome: Outcome) -> str: ...


Read = Callable[[str], "str | None"]
"""Returns the text of the file at a repo-relative path in the tree that is judged; None if there is no such text."""
Look = Callable[[Read], Iterable[Finding]]
"""A gate as a function: returns the findings in the tree."""
Reward = Callable[[Read], "float | tuple[float, str]"]
"""Returns a score of the tree (higher is better), optionally with advice on how to raise it."""


@dataclass(frozen=True, slots=True)
class Task:
    """The goal of a run. All but the name may be left out: `Task("fix")` is the task of `coderefine fix`.

    For the model: `goal`: its task as a text. `role`: a sentence that describes its role. `rules`: sentences that it
    must obey. `given`: files that it is shown and may not change. `files`: globs of files other than Python that are
    shown and reviewed too.

    `settings`: configuration keys as in TOML, used where the user has set none; `gates` replaces the default gates,
    while `commands`, `criteria` and `protect` are added to the user's values. `wanted`: the files to write; a file is
    unfinished while it contains stubs or, if it had none at the start, until its code changes. `judged`: the acceptance
    tests; failures of tests in other files are ignored. `drafts`: let the model draft tests, as advice; `drafted`: a
    new file of the patch for drafted tests that pass, marked as drafts ("": no such file).

    `checks`: gates as functions. `reward`: a function that scores attempts; it decides between attempts that are equal
    for the gates. `critics`: functions that create further critics, called with place, interpreter, config, listen.
    `enough`: the score (of a review: 1 to 5) at which the run ends, or a function that returns True for an attempt that
    ends it; None: it ends when the advisers have no findings. `keeps`: results of calls must not change, including
    calls that no test makes. `refuses(path, before, after)`: returns why this task does not allow such a change ("" if
    it does).
    """

    name: str
    goal: str = ""
    role: str = ""
    rules: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    drafts: bool = False
    drafted: str = ""
    checks: tuple[Look, ...] = ()
    reward: Reward | None = None
    critics: tuple[Callable[..., Critic], ...] = ()
    enough: float | Callable[[Attempt], bool] | None = None
    keeps: bool = False
    refuses: Callable[[str, bytes | None, bytes | None], str] | None = None

    def is_refinement_sufficient(self, attempt: Attempt) -> bool:
        """Return whether `attempt`, which passes the gates, is good enough although advisers have findings left."""
        if self.enough is None:
            return False
        if callable(self.enough):
            return self.enough(attempt)
        totals = [check.total for check in attempt.checks if check.total is not None]
        return bool(totals) and min(totals) >= self.enough


FIX = Task("fix")
