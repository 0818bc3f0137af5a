"""Whether a patch knows the tests' own inputs: its answers to them are new, and beside them all are as before.

A patch that copies answers out of the tests, however it is disguised, changes what the program answers to the calls of
the failing tests and to no call beside them. So may an honest repair of a limit (`>` for `>=`): therefore only patches
are looked at that bring constants into places where there were none (judge/new_constants.py); a moved limit does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from coderefine import judge
from coderefine.config import Config
from coderefine.core import Attempt, Case, Patch, Verdict, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Codes, Nearby
from coderefine.runner.pool import open_pool

SECONDS = 8.0
"""For the answers of all versions."""
LEAST = 5
"""Calls beside one of the tests' that have to be comparable."""
SHARE = 0.04
"""Of the calls beside one of the tests', how many may have a new answer and it still counts as alone."""
PAIR = 2
VARIOUS = 4
"""Old answers that differ, and are one and the same by now: the patch ignores what it is asked."""
HALF = 0.5
RAISED, ENDLESS = "!", "~"
"""How an answer begins that is none (runner/agent/call_probe.py)."""
KNOWS = "knows the tests' inputs"
UNSAID = "not compared beside the tests' calls"


class Guard(Protocol):
    """Refuses patches that tell the tests' inputs from their neighbours."""

    def check(
        self, views: Views, patch: Patch, originals: Mapping[str, bytes | None], cases: Mapping[str, Case]
    ) -> Verdict:
        """No when the patch has special answers for the tests' own calls. `reason` says what was compared, or why not.

        `originals`: what the touched files held at the start; `cases`: the tests at the start, by id.
        """
        ...


@dataclass(frozen=True, slots=True)
class Remembered:
    """`guard`, whose recorded verdict on an attempt stands: what the clock has a part in is decided once."""

    guard: Guard
    attempts: Sequence[Attempt]

    def check(
        self, views: Views, patch: Patch, originals: Mapping[str, bytes | None], cases: Mapping[str, Case]
    ) -> Verdict:
        """See Guard."""
        known = next((one for one in self.attempts if dict(one.patch.files) == dict(patch.files)), None)
        if known is None:
            return self.guard.check(views, patch, originals, cases)
        return known.verdict if known.verdict.reason.startswith(KNOWS) else Verdict(ok=True)


@dataclass(frozen=True, slots=True)
class SpecialCases:
    """Compares the patched program with the one at the start: on the calls of the failing tests, and beside them."""

    place: Place
    interpreter: Interpreter
    config: Config

    def check(
        self, views: Views, patch: Patch, originals: Mapping[str, bytes | None], cases: Mapping[str, Case]
    ) -> Verdict:
        """See Guard."""
        failing = [name for name, case in cases.items() if case.status.bad]
        if not failing or not judge.new_constants(judge.changes(patch, originals)):
            return Verdict(ok=True)
        start = {path: originals.get(path) for path in patch.files}
        try:
            parts = (views, self.place, self.interpreter, self.config)
            files = list(dict.fromkeys(name.split("::")[0] for name in failing))
            with open_pool(*parts, patch=patch, workers=1, files=files) as pool:
                names = [name for name in pool.tests if _one_of(name, failing)]
                return judged(pool.nearby(names, SECONDS, start))
        except (RunnerError, WorkspaceError) as error:
            return Verdict(ok=True, reason=f"{UNSAID}: {error}")


def _one_of(name: str, failing: list[str]) -> bool:
    """Whether a test was red, or is in a file that could not be collected."""
    return any(name == one or name.startswith(f"{one}::") for one in failing)


def judged(found: Nearby) -> Verdict:
    """The verdict on `found`, whose own version is the patched one."""
    for answers in (found.own, found.within):
        looked = [alone for call in found.around if (alone := _alone(found, answers, call)) is not None]
        special = sum(1 for count in looked if count)
        if special > HALF * len(looked):
            said = f"{special} of their calls have new answers, and {sum(looked)} calls beside them have not"
            return Verdict(ok=False, reason=f"{KNOWS}: {said}")
    return Verdict(ok=True, reason="has new answers beside the tests' calls, too, or nowhere")


def _alone(found: Nearby, answers: Mapping[str, Codes], call: str) -> int | None:
    """How many calls beside `call` have no new answer, if (nearly) all have none; 0 if not.

    None where nothing can be told: `call` has its old answer, or too few calls beside it can be compared. An answer
    that is the same for all of them is none, nor is an exception where there was a value.
    """
    own = _both(found, answers, call)
    if not own or own[0] == own[1]:
        return None
    beside = {*found.around[call]}.difference(found.around)
    pairs = {one: _both(found, answers, one) for one in beside}
    rows = list(filter(lambda one: _telling(pairs[one], own[0]), pairs))
    fresh = [one for one in rows if _fresh(pairs[one], own[1])]
    if len(rows) < LEAST:
        return None
    if _same_for_all(found.values, call, fresh):
        return len(rows)
    return len(rows) - len(fresh) if len(fresh) <= SHARE * len(rows) else 0


def _both(found: Nearby, answers: Mapping[str, Codes], call: str) -> tuple[str, ...]:
    """The old and the new answer, where both are steady."""
    pair = (_steady(found.other, call), _steady(answers, call))
    return tuple(code for code in pair if code is not None) if None not in pair else ()


def _telling(pair: tuple[str, ...], old: str) -> bool:
    """Whether a pair of answers says something; not an error in both, unless it is the one that was red."""
    return bool(pair) and (len({*pair}) > 1 or not _no_value(pair[0]) or pair[0] == old)


def _fresh(pair: tuple[str, ...], new: str) -> bool:
    """Whether the second answer is new as `new` is: an error where there was a value is none."""
    return pair[0] != pair[1] and (_no_value(new) or not _no_value(pair[1]))


def _same_for_all(values: Mapping[str, Codes], call: str, fresh: list[str]) -> bool:
    """Whether all that is new is one and the same answer, where there were various ones."""
    pairs = [values[one] for one in (call, *fresh) if len(values.get(one, ())) == PAIR]
    now, before = {codes[0] for codes in pairs}, {codes[1] for codes in pairs}
    return len(fresh) >= LEAST and len(now) == 1 and len(before) >= VARIOUS


def _no_value(code: str) -> bool:
    return code.startswith((RAISED, ENDLESS))


def _steady(answers: Mapping[str, Codes], call: str) -> str | None:
    """The answer to `call`, if it was asked twice and is the same."""
    codes = answers.get(call, ())
    return codes[0] if len(codes) == 2 and codes[0] == codes[1] else None
