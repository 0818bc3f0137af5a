"""Inputs and results of a pool: candidates, plans, verdicts and comparisons of behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Event, Listen, Status

KEPT, BROKEN = "kept", "!broken"
"""Codes of docstring examples (agent/docstring_examples.py)."""
RAISED, ENDLESS = "!", "~"
"""Prefixes of the codes of a call that raised an exception, and of a call that did not end within its time limit."""
CONTRADICTS = "?"
"""Suffix of the code of a result whose type contradicts the return annotation (agent/call_probe.py)."""
Codes = tuple[str, ...]
"""The results of a sequence of calls, one code for each call; for the prefixes see agent/call_probe.py."""


def has_value(code: str) -> bool:
    """Return whether the call with this code returned a value."""
    return not code.startswith((RAISED, ENDLESS))


@dataclass(frozen=True, slots=True)
class Asked:
    """A call whose results differ between candidates: its index among all calls, its text, and the function's module.

    `answers`: results as text, by candidate number; 0 is the unchanged program.
    """

    place: int
    call: str
    module: str
    answers: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Results of candidates for the same sequence of calls: codes by candidate number; 0 is the unchanged program.

    `kinds`: one letter for each call: `f` and `p` for calls of failing and of passing tests, `F` and `P` for variants
    of these, `-` for calls whose result changes from run to run in the unchanged program; at the end, `d` for each
    example in docstrings. `asked`: calls whose results differ between candidates; calls that divide the candidates
    most evenly come first.
    """

    codes: Mapping[int, Codes] = field(default_factory=dict)
    kinds: str = ""
    asked: tuple[Asked, ...] = ()

    def changed(self, number: int, kinds: str = "pPFd") -> tuple[int, int]:
        """Return (number of calls whose result the candidate changes, number of compared calls).

        `number`: the candidate. Only calls whose kind is one of the letters in `kinds` are counted; for the letters,
        see `Comparison`. Variants that do not end in the unchanged program are not counted.
        """
        pairs = list(self._pairs(number, kinds))
        return sum(before != after for before, after in pairs), len(pairs)

    def examples(self, number: int) -> tuple[int, int]:
        """Return how many docstring examples are right only with candidate `number`, and how many only without it."""
        pairs = list(self._pairs(number, "d"))
        return pairs.count((BROKEN, KEPT)), pairs.count((KEPT, BROKEN))

    def variants(self, number: int) -> frozenset[str]:
        """Return the codes of all values that variants of calls by failing tests return with candidate `number`."""
        rows = zip(self.codes[number], self.kinds, strict=False)
        return frozenset(code for code, kind in rows if kind == "F" and has_value(code))

    def contradictions(self, number: int) -> int:
        """Return how many results of the candidate have a type that contradicts the function's annotation."""
        return sum(code.endswith(CONTRADICTS) for code in self.codes.get(number, ()))

    def _pairs(self, number: int, kinds: str) -> Iterator[tuple[str, str]]:
        """Return, for each call whose kind is in `kinds`, the result without and the result with candidate `number`.

        Variants that do not end in the unchanged program are left out, because a candidate cannot preserve their
        results. Calls for which the candidate had no time are left out, too.
        """
        every = zip(self.codes.get(0, ()), self.codes.get(number, ()), self.kinds, strict=False)
        rows = (row for row in every if row[1] and (row[0] != ENDLESS or row[2] not in "PF"))
        return ((before, after) for before, after, kind in rows if kind in kinds)


@dataclass(frozen=True, slots=True)
class Nearby:
    """Results of two versions of the program, each run twice, for the tests' calls and for variants of these calls.

    `around`: the variants of each recorded call. The other fields have two codes for each call: `own`: results of the
    version that the tests ran; `other`: results of the second version; `within`: results of the first version when the
    functions that it calls are those of the second. `values`: pairs of the values that the first and the second version
    return, ignoring changes of the arguments.
    """

    around: Mapping[str, tuple[str, ...]]
    own: Mapping[str, Codes]
    other: Mapping[str, Codes]
    within: Mapping[str, Codes]
    values: Mapping[str, Codes]


Results = Mapping[str, Mapping[str, Sequence[str]]]
"""Codes of results in the order of the calls: by unit, then by code of the arguments (and number of a generator)."""
Values = Mapping[str, Mapping[str, str]]
"""Codes of the values of attributes: by path of the module, then by name of the attribute."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Records of watched functions while tests ran. `results` and `values` have one entry for each of two runs.

    `answers`: two results of each repeated call and variant, by the label of the call (see `Pool.answers`). `lines`:
    executed lines by unit. `values`: the attributes of the watched modules before and after the tests. Those after the
    tests are empty if the time of the tests was over, because two versions may then have run different tests. `failed`:
    why a run is missing. `generated`: the result of each call with generated arguments, by the label of the call.
    """

    answers: Mapping[str, Codes] = field(default_factory=dict)
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    results: Sequence[Results] = ()
    values: Sequence[tuple[Values, Values]] = ()
    failed: str = ""
    generated: Mapping[str, Codes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit to judge: repo-relative path -> whole new content (None deletes), applied to the pool's tree.

    `rough`: a failure counts even if the server only replaced functions and did not repeat code that ran during the
    import. `first`: the tests that run first, in place of those of the plan.
    """

    number: int
    files: Mapping[str, bytes | None]
    rough: bool = False
    first: tuple[str, ...] = ()


Then = Sequence[str] | Callable[[Candidate], Sequence[str]] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Which tests a candidate must pass, in two stages; each stage runs in a fresh child process, in collection order.

    Stage 1 runs only the tests `first` (or `Candidate.first` in their place). If they pass, stage 2 runs those tests of
    `then` that reach the edit. `then`: test ids, a function that returns them for a candidate, or None (all tests).

    `known`: ids that may still fail. `keep_going`: whether stage 1 runs all its tests even if one fails, to learn which
    of them pass; otherwise the first failure ends a stage. `retry`: share of the judging time that may be used to run
    hung candidates again with a longer limit. `fastest`: the fastest server that may judge, "hot" or "warm". `many`:
    whether to use the workers of a cluster, because there are many candidates, or they take long. `ends`: time
    (monotonic) at which judging stops, without verdicts on the candidates that are still running.
    """

    first: tuple[str, ...] = ()
    then: Then = None
    known: frozenset[str] = frozenset()
    keep_going: bool = False
    retry: float = 0.2
    fastest: str = "hot"
    many: bool = False
    ends: float = math.inf


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a candidate.

    `statuses`: statuses of the tests that ran. `speed`: "hot", "warm" or "cold", after the server or runner that judged
    the candidate. `plausible`: whether all requested tests ran, and none outside `Plan.known` failed; `reason`: why it
    is not plausible. `cpu`, `seconds`: CPU and wall time of its runs. `slow`: why the hot server did not judge the
    candidate. `hung`: whether the time limit stopped it; `limit`: CPU seconds that its last run was allowed. `rough`:
    why a fresh import may give another verdict; see `Candidate`.
    """

    candidate: Candidate
    statuses: Mapping[str, Status]
    speed: str
    plausible: bool
    cpu: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    slow: str = ""
    hung: bool = False
    rough: str = ""
    limit: float = 0.0


def counted_mutants(judged: Iterable[Judged], most: int, listen: Listen) -> list[Judged]:
    """Return the verdicts on at most `most` mutants, and report how many are known."""
    found: list[Judged] = []
    listen(Event("search", "mutants", 0, most))
    for one in judged:
        found.append(one)
        listen(Event("search", "mutants", len(found), most))
    return found
