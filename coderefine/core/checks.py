"""Input and results of critics for one tree: requests, findings, test outcomes, permissions that tests needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import PurePosixPath

NO_NETWORK = re.compile(
    r"Network is unreachable|Connection ?refused|ConnectionRefusedError|getaddrinfo failed|Failed to resolve|"
    r"name resolution|Name or service not known|nodename nor servname|No route to host",
    re.IGNORECASE,
)
"""Messages of an absent network (errno(3), gai_strerror(3), urllib3)."""
NO_PROGRAM = re.compile(r"FileNotFoundError: .*No such file or directory: '([^'/]+)'")
"""The message of `subprocess` if there is no program of this name."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the tests of the unchanged tree access outside their view.

    `write`: files and folders that they must be able to write. `read`: secrets that they read. `sockets`: Unix sockets
    outside the view to which they connect. `unix`: whether they use Unix sockets. `memory`: size of their largest
    process in bytes.
    """

    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    unix: bool = False
    memory: int = 0

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            tuple(dict.fromkeys((*self.write, *other.write))),
            tuple(dict.fromkeys((*self.read, *other.read))),
            tuple(dict.fromkeys((*self.sockets, *other.sockets))),
            self.unix or other.unix,
            max(self.memory, other.memory),
        )

    def __bool__(self) -> bool:
        """Return whether the tests need more than the tightest sandbox allows."""
        return bool(self.write or self.read or self.sockets or self.unix)


@dataclass(frozen=True, slots=True)
class Freedom:
    """Permissions of tests. `step`: index into `permissions.steps` (0: tightest). `needs`: the recorded accesses."""

    step: int = 0
    needs: Needs = Needs()

    def at(self, step: int) -> Freedom:
        return replace(self, step=step)


class Status(str, Enum):
    """The outcome of one test, with pytest's names."""

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
    """One traceback frame; `path` is repo-relative if it is inside the repository, else absolute.

    `locals`: short reprs of the local variables, by name. `span`: line, column, last line, end column (columns in UTF-8
    bytes, as `ast` counts) of the expression that was running; empty before Python 3.11.
    """

    path: str
    line: int
    function: str
    locals: Mapping[str, str] = field(default_factory=dict)
    span: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed.

    `message`: one line, such as `assert 3 == 4`. `exception`: name of the exception's class; for a test that took its
    process down, see DEADLY in runner/cold.py. `assertion`: an explanation with the compared values and the causes.
    `frames`: the innermost last. `output`: the captured output, shortened.

    `wrong`: an attribute, name, key or keyword that was not found; `nearest`: the most similar names that exist in the
    same object or scope. `attributes`: if an attribute was not found, the attributes that its object has.
    """

    message: str
    exception: str = ""
    assertion: str = ""
    frames: tuple[Frame, ...] = ()
    output: str = ""
    wrong: str = ""
    nearest: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return the failure's message and assertion as one text."""
        return f"{self.message}\n{self.assertion}"

    @property
    def text(self) -> str:
        """Return the exception's name, the message, the assertion and the output as one text."""
        return "\n".join((self.exception, self.message, self.assertion, self.output))

    @property
    def wants_network(self) -> bool:
        """Return whether the texts of the failure show that there is no network."""
        return bool(NO_NETWORK.search(self.text))

    @property
    def lacks_fixture(self) -> bool:
        """Return whether the test requests a fixture that is missing, often because a plug-in is not installed."""
        return self.exception.endswith("FixtureLookupError")


@dataclass(frozen=True, slots=True)
class Case:
    """One test's result. `seconds` covers set-up, call and tear-down. `path`, `line`: where the test is defined."""

    id: str
    status: Status
    seconds: float = 0.0
    path: str = ""
    line: int = 0
    failure: Failure | None = None

    @property
    def missing_program(self) -> str:
        """Return the name of a program that the test itself starts, but that is not installed; "" if there is none."""
        named = NO_PROGRAM.search(self.failure.message) if self.failure and self.failure.frames else None
        if self.failure is None or named is None:
            return ""
        *outer, last = self.failure.frames
        in_test = all(frame.path == self.path for frame in outer)
        return named[1] if in_test and PurePosixPath(last.path).name == "subprocess.py" else ""


def repairable(failing: Iterable[Case]) -> list[Case]:
    """Return those `failing` tests that a change to the program may repair.

    Tests that lack a fixture, or a program that they start, are left out. Tests that need the network are left out if
    other tests fail, too: most likely they fail because there is no network, and the code that they execute would be as
    suspicious as the fault.
    """
    left = [case for case in failing if not (case.missing_program or (case.failure and case.failure.lacks_fixture))]
    return [case for case in left if not (case.failure and case.failure.wants_network)] or left


def without_parameters(test: str) -> str:
    """Return the id `test` without parameters: the id of the test function."""
    path, colons, name = test.partition("::")
    return path + colons + name.partition("[")[0]


def function_name(test: str) -> str:
    """Return the name of the test function in the id `test`."""
    return without_parameters(test).rpartition("::")[2]


Coverage = Mapping[str, Mapping[str, frozenset[int]]]
"""Executed lines: test id -> repo-relative path -> line numbers. Lines executed at import have the key ""."""

Line = tuple[str, int]
"""Repo-relative path and line."""


@dataclass(frozen=True, slots=True)
class Step:
    """A line of a test, and the lines of the project that ran because this line ran.

    `last`: the project's lines that ran when the test's line ran for the last time. `before`: those that ran at earlier
    times.
    """

    path: str
    line: int
    last: frozenset[Line]
    before: frozenset[Line]


Steps = Mapping[str, tuple[Step, ...]]
"""The steps of each test, by test id."""


class Severity(str, Enum):
    """HARD findings block a patch; SOFT findings are only reported."""

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
    """A problem that a critic found and that can be repaired.

    `rule`: the kind of problem, in the critic's terms. `path`: relative to the top of the repository, with POSIX
    separators. `symbol`: qualified name of the enclosing function or class, or a test id. `evidence`: the line of code,
    or the values, that show the problem. `instruction`: how to repair it. `weight`: importance among the findings of
    the critic, such as the complexity.
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
        """Return the key by which findings are compared, without line and message, because both change."""
        return (self.critic, self.path, self.rule, self.symbol)

    @property
    def where(self) -> str:
        """Return `path:line`, or the path alone."""
        return f"{self.path}:{self.span.first}" if self.span else self.path


def passed(checks: Iterable[Check]) -> bool:
    """Return whether every gate is clean and complete; False if no gate ran."""
    gates = [one for one in checks if one.gate]
    return bool(gates) and all(one.clean and one.complete for one in gates)


def identities(findings: Iterable[Finding]) -> Counter[Identity]:
    """Count `findings` by identity."""
    return Counter(finding.identity for finding in findings)


def unmatched(findings: Iterable[Finding], others: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings without a partner of the same identity in `others`; each of `others` has only one partner."""
    left = identities(others)
    for finding in findings:
        left[finding.identity] -= 1
        if left[finding.identity] < 0:
            yield finding


@dataclass(frozen=True, slots=True)
class Ask:
    """Input of a critic.

    `scope`: repo-relative files or folders whose findings matter. `changed`: the files that differ from the baseline
    (None: check everything). `rich`: build full evidence. `timeout`: wall seconds for the whole check. `proof`: this is
    the final proof of a patch.

    `tests`: run only these ids, in this order (None: all). `files`: run only the tests of these files, named as in ids
    (None: of all files). `first`: ids to run before the others. `stop_early`: end the run at the first failure outside
    `known`. `seed`: PYTHONHASHSEED. `computing`: CPU seconds after which a test is killed as hanging, unless other
    tests took nearly as long (None: only wall time counts). On the unchanged tree, such a test continues in parallel
    with the others until it is certain that it hangs (see runner/suspect.py).

    `coverage`: record the lines that each test executes; only in the files `cover`, if given. Before Python 3.12, where
    this is slow, record them only for the tests `watched` (ids, or files: all of their tests), if given. `stepped`:
    (id, path) of tests for which the lines are also recorded for each line of the test, in `Check.steps`. `follow`:
    also record the Python programs that tests start.

    `freedom`: permissions of the tests in the sandbox (see permissions.steps); None: only the view isolates the tests,
    which is enough for the user's own code. `record`: report accesses outside the view in `Check.needs`.
    """

    scope: tuple[str, ...] = (".",)
    changed: frozenset[str] | None = None
    tests: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    first: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    stop_early: bool = False
    rich: bool = True
    coverage: bool = False
    cover: frozenset[str] = frozenset()
    watched: frozenset[str] | None = None
    stepped: tuple[tuple[str, str], ...] = ()
    follow: bool = False
    seed: int | None = None
    timeout: float = 600.0
    freedom: Freedom | None = None
    record: bool = False
    computing: float | None = None
    proof: bool = False


SLOW_SUITE = 5.0
"""Duration of all tests, in seconds, above which runs of all tests are avoided for unlikely patches."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one critic on one tree.

    `cases`: the outcome of each test, by id; empty for critics that run no tests. `complete`: False if only part of the
    tree was checked, or only part of the tests ran. `gate`: False for an adviser. `tool`: name and version of the
    program. `notes`: sentences for the user. `scores`: for a review, a score for each criterion (1 poor, 5 best);
    `total`: the score of an adviser, for a review the weighted mean of `scores`; None without a score. `confined`:
    names of the mechanisms that confined the tests. `followed`: whether lines were recorded in Python programs that
    tests started. `needs`: see `Ask.record`. `steps`: see `Ask.stepped`. `carried`: ids among `cases` that did not run,
    whose outcomes are copied from the baseline (loop/fast_proof.py). `renamed`: ids among `cases` that another run of
    the same tree did not collect, for instance because their ids contain the time of the run. `compiled`: in a proof,
    the digests of the project's source files that the test processes compiled, by path.
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
    followed: bool = False
    needs: Needs = field(default=Needs(), compare=False)
    carried: frozenset[str] = frozenset()
    renamed: frozenset[str] = frozenset()
    steps: Steps = field(default_factory=dict)
    compiled: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)

    @property
    def failing(self) -> tuple[str, ...]:
        """Return the ids of the tests that failed or errored, in collection order."""
        return tuple(case.id for case in self.cases.values() if case.status.bad)

    @property
    def slow(self) -> bool:
        """Return whether the tests take so long that a run of all of them should be avoided if possible."""
        return self.seconds >= SLOW_SUITE

    @property
    def durations(self) -> dict[str, float]:
        """Return the seconds of each test, by id."""
        return {name: case.seconds for name, case in self.cases.items()}

    @property
    def clean(self) -> bool:
        return not any(finding.severity is Severity.HARD for finding in self.findings)
