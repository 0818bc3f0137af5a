"""The nouns of coderefine: frozen values and the Protocols that plug-ins satisfy."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

EMPTY: Mapping[str, bytes | None] = MappingProxyType({})


class Severity(str, Enum):
    """HARD findings block; SOFT ones inform."""

    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `first`..`last` of a file, 1-based and inclusive."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


Identity = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One actionable remark.

    `path` is relative to the top of the repository, POSIX separators. `symbol` is the qualified name of
    the enclosing function or class, or a test id. `weight` is the critic's number (complexity, say).
    """

    critic: str
    rule: str
    path: str
    message: str
    span: Span | None = None
    symbol: str = ""
    evidence: str = ""
    instruction: str = ""
    severity: Severity = Severity.HARD
    weight: float = 1.0

    @property
    def identity(self) -> Identity:
        """What makes two findings the same: never the line or the message, because both drift."""
        return (self.critic, self.path, self.rule, self.symbol)

    @property
    def where(self) -> str:
        """`path:line`, or the path alone."""
        return f"{self.path}:{self.span.first}" if self.span else self.path


class Status(str, Enum):
    """The outcome of one test, in pytest's words."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"

    @property
    def bad(self) -> bool:
        return self in (Status.FAILED, Status.ERROR)


@dataclass(frozen=True, slots=True)
class Frame:
    """One traceback frame; `path` repo-relative when inside the repository, absolute otherwise.

    `span`: line, column, last line, end column (columns in UTF-8 bytes, as `ast` counts) of the expression that was
    running; empty before Python 3.11.
    """

    path: str
    line: int
    function: str
    locals: Mapping[str, str] = field(default_factory=dict)
    span: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed: innermost frame last, values as short reprs, output already cut."""

    message: str
    exception: str = ""
    assertion: str = ""
    frames: tuple[Frame, ...] = ()
    output: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One test's result. `seconds` covers set-up, call and tear-down."""

    id: str
    status: Status
    seconds: float = 0.0
    path: str = ""
    line: int = 0
    failure: Failure | None = None


Coverage = Mapping[str, Mapping[str, frozenset[int]]]
"""Executed lines: test id -> repo-relative path -> line numbers. Key "" holds import-time lines."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one critic said about one tree.

    `cases` is empty for critics that run no tests. `complete` is False when only part of the tests ran.
    `tool` names the program and version that spoke. `scores` by criterion and their weighted mean `total`
    (1 poor, 5 nothing to add) are a review's; None: it gave none. `confined`: what confined the tests, in words.
    """

    critic: str
    findings: tuple[Finding, ...] = ()
    cases: Mapping[str, Case] = field(default_factory=dict)
    coverage: Coverage | None = None
    seconds: float = 0.0
    complete: bool = True
    gate: bool = True
    tool: str = ""
    notes: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    total: float | None = None
    confined: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the tests that failed or errored, in collection order."""
        return tuple(case.id for case in self.cases.values() if case.status.bad)

    @property
    def clean(self) -> bool:
        return not any(finding.severity is Severity.HARD for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Patch:
    """New content by repo-relative path, *cumulative from the baseline*; `None` deletes a file.

    Bytes, not text: encodings, line ends and byte-order marks are the file's own business.
    """

    files: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    origin: str = ""
    summary: str = ""

    def then(self, files: Mapping[str, bytes | None], *, origin: str, summary: str) -> Patch:
        """This patch with `files` laid over it."""
        return Patch({**self.files, **files}, origin, summary)

    def __bool__(self) -> bool:
        return bool(self.files)


@dataclass(frozen=True, slots=True)
class Cost:
    """What was spent. `usd` is None once any part of it has an unknown price."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    test_runs: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Cost) -> Cost:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Cost(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            usd,
            self.seconds + other.seconds,
            self.test_runs + other.test_runs,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A yes or no with its reason."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate and what became of it. Number 0 is the baseline: the empty patch."""

    number: int
    patch: Patch
    checks: tuple[Check, ...] = ()
    verdict: Verdict = Verdict(ok=True)
    cost: Cost = Cost()

    def check(self, critic: str) -> Check | None:
        return next((check for check in self.checks if check.critic == critic), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for check in self.checks for finding in check.findings)

    @property
    def cases(self) -> Mapping[str, Case]:
        check = next((check for check in self.checks if check.cases), None)
        return check.cases if check else {}


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings, each checked before it is spent; None is unlimited. `usd` in dollars, `seconds` wall time."""

    iterations: int | None = 6
    requests: int | None = 12
    tokens: int | None = 200_000
    usd: float | None = 1.0
    seconds: float | None = 600.0
    test_runs: int | None = None


class Stop(str, Enum):
    """Why a run ended."""

    CLEAN = "clean"
    ITERATIONS = "iterations"
    BUDGET = "budget"
    NO_PROGRESS = "no-progress"
    CYCLE = "cycle"
    UNFIXABLE = "unfixable"
    ENVIRONMENT = "environment"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was proved about the best attempt, and what was not. Test ids throughout."""

    flipped: tuple[str, ...] = ()
    kept: int = 0
    lost: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    covered: tuple[int, int] | None = None
    strength: tuple[int, int] | None = None
    isolation: str = ""
    alternatives: tuple[Patch, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run: best attempt (the baseline if nothing was better), reason, evidence, what is left."""

    best: Attempt
    baseline: Attempt
    stop: Stop
    why: str = ""
    evidence: Evidence = Evidence()
    remaining: tuple[Finding, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cost: Cost = Cost()

    @property
    def clean(self) -> bool:
        return not any(finding.severity is Severity.HARD for finding in self.remaining)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a critic is asked to look at.

    `scope`: repo-relative files or folders whose findings matter. `changed`: the files that differ from the
    baseline (None: look at everything). `tests`: run only these ids, in this order (None: all).
    `first`: ids to run before the others. `stop_early`: the first failure outside `known` ends the run.
    `rich`: build full evidence; `coverage`: record lines per test, of the files `cover` only if it names any.
    `seed`: PYTHONHASHSEED.
    `timeout`: wall seconds for the whole check.
    `freedom`: how far tests are let loose, as an index into runner.sandbox.STEPS; None: nothing but the view
    confines them, as befits the user's own code.
    """

    scope: tuple[str, ...] = (".",)
    changed: frozenset[str] | None = None
    tests: tuple[str, ...] | None = None
    first: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    stop_early: bool = False
    rich: bool = True
    coverage: bool = False
    cover: frozenset[str] = frozenset()
    seed: int | None = None
    timeout: float = 600.0
    freedom: int | None = None


class Finished(Protocol):
    """A child process that has ended; output already capped."""

    @property
    def returncode(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def text(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def timed_out(self) -> bool: ...


class View(Protocol):
    """A private tree: the baseline plus one patch. Whatever runs in it cannot reach the user's tree.

    `top` is the repository's top as children see it (the project's own path under an overlay); `door` is
    the same folder as *we* may read it from outside. `temp` is a throw-away directory, same path on both sides.
    """

    @property
    def top(self) -> Path: ...
    @property
    def door(self) -> Path: ...
    @property
    def temp(self) -> Path: ...
    @property
    def isolation(self) -> str: ...

    def read(self, path: str) -> bytes | None: ...

    def argv(self, argv: Sequence[str], *, cwd: str = ".") -> tuple[str, ...]:
        """`argv` wrapped so that it runs inside the view (for servers started with `proc.start`)."""
        ...

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment for what `argv` starts: no secrets, temporary files sent to a place of the view's."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        timeout: float = 600.0,
        stdin: bytes = b"",
        pass_fds: Iterable[int] = (),
    ) -> Finished: ...


class Views(Protocol):
    """Where views come from. Each is fresh: baseline files restored, patch applied, nothing left over."""

    def open(self, patch: Patch = ..., *, network: bool = False) -> AbstractContextManager[View]: ...


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

    def advanced(self, **changes: object) -> Situation:
        return replace(self, **changes)  # type: ignore[arg-type]


Proposals = Generator[Patch, Situation, None]


@dataclass(frozen=True, slots=True)
class Event:
    """Progress, for whoever shows it. `kind` is one of EVENTS; `done` of `total` counts the stage's own unit."""

    kind: str
    text: str = ""
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    cost: Cost | None = None


EVENTS = ("stage", "tests", "search", "attempt", "verdict", "request", "spent", "note")
Listen = Callable[[Event], None]


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


Read = Callable[[str], "str | None"]
"""The text of a repo-relative path in the tree that is judged; None when there is no such text."""
Look = Callable[[Read], Iterable[Finding]]
"""A gate as a function: what is wrong with the tree."""
Reward = Callable[[Read], "float | tuple[float, str]"]
"""How good the tree is, more being better, with advice on how to raise it if there is any."""


@dataclass(frozen=True, slots=True)
class Task:
    """What "done" means. All but the name may be left out: `Task("fix")` is what `coderefine fix` does.

    For the model: `goal` is what is asked of it, `role` a sentence saying who it is, `rules` are sentences it has to
    keep. `given` are files it is shown and may not change, `files` globs of artefacts that are no Python and are shown
    and reviewed all the same.

    `settings`: configuration keys as in TOML, for what the user has not set; `gates` are those that run, while
    `commands`, `criteria` and `protect` are added to the user's.
    `wanted`: the files the work goes into; they count as unfinished until they hold more than at the start, and stubs
    in them until they are written. `judged`: the tests that judge it: those of other files, where they fail, are none
    of its business. `drafts`: let the model draft tests, as advice.
    `checks`: gates as functions. `reward`: a score that decides between attempts the gates like equally. `critics`:
    makers of further critics, called with place, interpreter, config, listen.
    `enough`: the score (of a review: 1 to 5) or the test of an attempt that ends the search; None: when nobody has a
    remark left. `keeps`: the code has to answer as before, also calls that no test makes.
    `refuses(path, before, after)`: why such a change is not this task's business ("" when it is).
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
    checks: tuple[Look, ...] = ()
    reward: Reward | None = None
    critics: tuple[Callable[..., Critic], ...] = ()
    enough: float | Callable[[Attempt], bool] | None = None
    keeps: bool = False
    refuses: Callable[[str, bytes | None, bytes | None], str] | None = None

    def is_refinement_sufficient(self, attempt: Attempt) -> bool:
        """Whether `attempt`, which the gates are content with, is good enough although remarks are left."""
        if self.enough is None:
            return False
        if callable(self.enough):
            return self.enough(attempt)
        totals = [check.total for check in attempt.checks if check.total is not None]
        return bool(totals) and min(totals) >= self.enough


FIX = Task("fix")
