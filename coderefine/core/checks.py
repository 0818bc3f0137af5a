"""What a critic is asked, and what it said about one tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coderefine.core.cases import Case, Coverage
from coderefine.core.findings import Finding, Severity
from coderefine.core.freedom import Freedom, Needs


@dataclass(frozen=True, slots=True)
class Ask:
    """What a critic is asked to look at.

    `scope`: repo-relative files or folders whose findings matter. `changed`: the files that differ from the
    baseline (None: look at everything). `tests`: run only these ids, in this order (None: all).
    `files`: run only the tests of these files, named as in ids (None: of all).
    `first`: ids to run before the others. `stop_early`: the first failure outside `known` ends the run.
    `rich`: build full evidence; `coverage`: record lines per test, of the files `cover` only if it names any, and
    (before Python 3.12, where recording is dear) of the tests `watched` only unless that is None.
    `follow`: also of the Python programs that tests start. `seed`: PYTHONHASHSEED.
    `timeout`: wall seconds for the whole check. `computing`: CPU seconds after which a test is ended as if it
    would never end, unless others took nearly as long (None: only wall time counts); on the untouched
    tree it goes on beside the others until that is certain (see runner/suspect.py).
    `freedom`: how far tests are let loose (see sandbox.steps); None: nothing but the view confines them, as befits
    the user's own code. `record`: report what they touch outside of the view (`Check.needs`).
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
    follow: bool = False
    seed: int | None = None
    timeout: float = 600.0
    freedom: Freedom | None = None
    record: bool = False
    computing: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What one critic said about one tree.

    `cases` is empty for critics that run no tests. `complete` is False when only part of the tests ran.
    `tool` names the program and version that spoke. `scores` by criterion and their weighted mean `total`
    (1 poor, 5 nothing to add) are a review's; None: it gave none. `confined`: what confined the tests, in words.
    `followed`: tests started Python programs of which lines were recorded. `needs`: what they took, see `Ask.record`.
    `carried`: ids among `cases` that were not run: the outcomes are the baseline's (loop/fast_proof.py).
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

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the tests that failed or errored, in collection order."""
        return tuple(case.id for case in self.cases.values() if case.status.bad)

    @property
    def durations(self) -> dict[str, float]:
        """Seconds of each test, by id."""
        return {name: case.seconds for name, case in self.cases.items()}

    @property
    def clean(self) -> bool:
        return not any(finding.severity is Severity.HARD for finding in self.findings)
