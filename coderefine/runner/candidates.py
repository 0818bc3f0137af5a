"""What a pool is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Status

Codes = tuple[str, ...]
"""How a program answers a row of calls: a code each; see agent/call_probe.py for `!` and `~`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that tells candidates apart: its place in the row, itself as text, the module of the function.

    `answers` by candidate number, as text; 0 is the unchanged program.
    """

    place: int
    call: str
    module: str
    answers: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How candidates answer the same row of calls: codes by candidate number, 0 being the unchanged program.

    `kinds`, one letter for each call: `f` and `p` for calls of failing and of passing tests, `F` and `P` for calls
    near them, `-` for those that even the unchanged program answers differently each time. `asked`: calls that tell
    candidates apart, those that split them most evenly first.
    """

    codes: Mapping[int, Codes] = field(default_factory=dict)
    kinds: str = ""
    asked: tuple[Asked, ...] = ()

    def changed(self, number: int, kinds: str) -> tuple[int, int]:
        """How many calls of `kinds` candidate `number` answers otherwise than the unchanged program, and all."""
        rows = zip(self.codes.get(0, ()), self.codes.get(number, ()), self.kinds, strict=False)
        pairs = [(before, after) for before, after, kind in rows if kind in kinds]
        return sum(before != after for before, after in pairs), len(pairs)


@dataclass(frozen=True, slots=True)
class Nearby:
    """What two versions answer, each asked twice, to the calls that tests make and to calls of the same shape.

    `around`: the calls beside each recorded one. Answers by call, see Pool.answers: `own`, those of the version that
    the tests ran; `other`, those of the second; `within`, those of the first whose functions call the second's.
    `values`: what the first and the second answer, whatever becomes of the arguments.
    """

    around: Mapping[str, tuple[str, ...]]
    own: Mapping[str, Codes]
    other: Mapping[str, Codes]
    within: Mapping[str, Codes]
    values: Mapping[str, Codes]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit to judge: repo-relative path -> whole new content (None deletes), laid over the pool's tree."""

    number: int
    files: Mapping[str, bytes | None]


Then = Sequence[str] | Callable[[Candidate], Sequence[str]] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a candidate has to show, in stages; each in a fresh child, always in collection order.

    1. `first`: ids that must pass, run alone. 2. Those of `then` (ids, a function of the candidate, or None for
    all collected) that reach the edit.
    `known`: ids that may stay bad. `keep_going`: run all of `first` even when one fails, so that behaviours can be
    compared; otherwise the first bad result ends it. `retry`: share of the judging time that second, longer
    tries of hung candidates may take. `fastest`: "warm" forbids the hot speed.
    """

    first: tuple[str, ...] = ()
    then: Then = None
    known: frozenset[str] = frozenset()
    keep_going: bool = False
    retry: float = 0.2
    fastest: str = "hot"


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict. `statuses` holds the tests that ran, the last run of each; `cpu` and `seconds` are the children's.

    `plausible`: everything asked for ran and nothing outside `Plan.known` was bad. `reason` says why not.
    `slow` says why it could not be judged hot. `hung`: its time limit stopped it.
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
