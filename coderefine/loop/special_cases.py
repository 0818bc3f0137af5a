"""Detect patches that special-case the tests' inputs: they change results of the tests' calls, but not of variants.

A patch that hard-codes expected results, however disguised, changes the results of the failing tests' calls, but of no
variant of these calls. The same may be true of a correct repair of a limit (`>` for `>=`). Therefore a patch is checked
only if it adds constants where there were none (judge/new_constants.py); a repair of a limit adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coderefine import judge
from coderefine.config import Config
from coderefine.core import Case, Patch, Verdict, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Codes, Nearby, has_value
from coderefine.runner.pool import open_pool
from coderefine.runner.test_selection import files_of

SECONDS = 8.0
"""Seconds for running the calls in all versions."""
LEAST = 5
"""Minimum number of comparable variants of a call."""
SHARE = 0.04
"""Maximum share of a call's variants with a changed result for which the call still counts as a special case."""
PAIR = 2
VARIOUS = 4
"""If at least this many different old results all become the same new result, the patch ignores its input."""
HALF = 0.5
KNOWS = "knows the tests' inputs"
NOT_COMPARED = "not compared on other calls than the tests' own"


Guard = Callable[[Views, Patch, Mapping[str, "bytes | None"], Mapping[str, Case]], Verdict]
"""`SpecialCases.check`, or what replaces it in a test."""


@dataclass(frozen=True, slots=True)
class SpecialCases:
    """Compares the patched program with the baseline on the calls of the failing tests and on variants of them."""

    place: Place
    interpreter: Interpreter
    config: Config

    def check(
        self, views: Views, patch: Patch, originals: Mapping[str, bytes | None], cases: Mapping[str, Case]
    ) -> Verdict:
        """Return a negative verdict if the patch special-cases the tests' own calls.

        The verdict's `reason` describes what was compared, or why nothing was compared. `originals`: contents of the
        touched files at the baseline. `cases`: the baseline's tests, by id.
        """
        failing = [name for name, case in cases.items() if case.status.bad]
        if not failing or not judge.new_constants(judge.changes(patch, originals)):
            return Verdict(ok=True)
        start = {path: originals.get(path) for path in patch.files}
        try:
            parts = (views, self.place, self.interpreter, self.config)
            files = files_of(failing)
            with open_pool(*parts, patch=patch, workers=1, files=files) as pool:
                # A file or class that could not be collected is in `failing` itself: all of its tests count.
                names = [name for name in pool.tests if judge.is_among(name, failing)]
                return judged(pool.nearby(names, SECONDS, start))
        except (RunnerError, WorkspaceError) as error:
            return Verdict(ok=True, reason=f"{NOT_COMPARED}: {error}")


def judged(found: Nearby) -> Verdict:
    """Return a negative verdict if the patch seems to special-case the inputs of the tests.

    It does if, for most of the tests' calls with a new result, (nearly) all variants of the call keep their results.
    `found.own`: results of the patched version; `found.other`: results of the baseline; `found.within`: results of the
    patched functions when the functions that they call are those of the baseline.
    """
    for answers in (found.own, found.within):
        looked = [alone for call in found.around if (alone := _alone(found, answers, call)) is not None]
        special = sum(1 for count in looked if count)
        if special > HALF * len(looked):
            counts = f"{special} of their calls have new results, and {sum(looked)} variants of these calls have not"
            return Verdict(ok=False, reason=f"{KNOWS}: {counts}")
    return Verdict(ok=True, reason="variants of the tests' calls have new results, too, or no call has one")


def _alone(found: Nearby, answers: Mapping[str, Codes], call: str) -> int | None:
    """Return how many variants of `call` keep their result, if (nearly) all variants do; else 0.

    None if there is no evidence: the result of `call` itself is unchanged, or too few variants can be compared. A new
    result that is the same for all variants counts as unchanged, and so does an exception in place of a value.
    """
    own = _both(found, answers, call)
    if not own or own[0] == own[1]:
        return None
    variants = {*found.around[call]}.difference(found.around)
    pairs = {one: _both(found, answers, one) for one in variants}
    rows = list(filter(lambda one: _telling(pairs[one], own[0]), pairs))
    fresh = [one for one in rows if _fresh(pairs[one], own[1])]
    if len(rows) < LEAST:
        return None
    if _same_for_all(found.values, call, fresh):
        return len(rows)
    return len(rows) - len(fresh) if len(fresh) <= SHARE * len(rows) else 0


def _both(found: Nearby, answers: Mapping[str, Codes], call: str) -> tuple[str, ...]:
    """Return the old and the new result of `call`; empty if one of them is unstable."""
    pair = (_steady(found.other, call), _steady(answers, call))
    return tuple(code for code in pair if code is not None) if None not in pair else ()


def _telling(pair: tuple[str, ...], old: str) -> bool:
    """Return whether `pair`, the old and the new result of a variant, can be compared.

    They can if they differ, if they are values, or if both equal `old`, the old result of the call itself.
    """
    return bool(pair) and (len({*pair}) > 1 or has_value(pair[0]) or pair[0] == old)


def _fresh(pair: tuple[str, ...], new: str) -> bool:
    """Return whether the results of a variant differ; a new error counts only if the call's new result is an error too.

    `new`: the new result of the call itself.
    """
    return pair[0] != pair[1] and (not has_value(new) or has_value(pair[1]))


def _same_for_all(values: Mapping[str, Codes], call: str, fresh: list[str]) -> bool:
    """Return whether all changed results are equal in the new version, although they differed in the old version."""
    pairs = [values[one] for one in (call, *fresh) if len(values.get(one, ())) == PAIR]
    now, before = {codes[0] for codes in pairs}, {codes[1] for codes in pairs}
    return len(fresh) >= LEAST and len(now) == 1 and len(before) >= VARIOUS


def _steady(answers: Mapping[str, Codes], call: str) -> str | None:
    """Return the result of `call` if it is the same in both runs, else None."""
    codes = answers.get(call, ())
    return codes[0] if len(codes) == 2 and codes[0] == codes[1] else None
