"""Compare two versions of the project, function by function, and prove which edited functions behave as before.

The proof of a *unit* (an outermost function or method, or a module's own code) is one of these:

1. Both versions compile to the same code, except for line numbers, names of local variables, docstrings, forms that are
   equal by the rules of Python (`equal_forms.py`), and causes (`raise … from error`) if `error` is the exception that
   is being handled anyway.
2. The tests execute every changed line of the unit, and all results are equal: the results of the calls that the tests
   make (arguments → result or exception, and the arguments after the call), and the results of repeating these calls,
   of variants of them, and of calls with arguments that are generated from annotations. For a module's own code: its
   attributes, and those of its classes, have equal values, and the changed statements only assign attributes whose
   values can be compared (`FileEdit.assigned`).
3. New functions only contain statements that were moved out of the unit: if these statements are put back in place of
   the calls (`Restore`), both versions compile to the same code. A different result in the tests refutes this proof.

A unit that is neither proved nor refuted is *unknown*. A patch with such a unit may be offered, but never written.
Generated calls may refute a unit that no test executes, but do not prove it.

The first and the third proof need no test, because equal instructions behave equally. A new function only adds a frame
on the stack, and releases its variables when it returns; only tests can show whether other code depends on that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, chain, zip_longest
from pathlib import PurePosixPath

from coderefine.config import Config
from coderefine.core import Case, Patch, View, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import ENDLESS, Codes, Values, Watched
from coderefine.runner.cold_pool import open_any_pool
from coderefine.runner.file_edits import FileEdit, Text, decoded, units_of
from coderefine.runner.pool import Pool
from coderefine.runner.reached_code import Function
from coderefine.runner.test_selection import nearest, one_of_each

BUDGET, SLOWEST = 120.0, 3.0
"""Maximum CPU seconds of all comparisons of a run together, and the factor that gives their maximum wall seconds."""
PATIENCE = 3.0
"""Seconds for the tests, and for the repeated calls, of one version."""
SHORT, MOST = 1.0, 8.0
"""SHORT: maximum duration, in seconds, of a suite of which all tests are watched. MOST: maximum duration of the watched
tests of a longer suite; these are tests that enter an edited function. A watched test runs six times, with tracing."""
ENTERING = 0.25
"""Share of the remaining seconds for recording which functions each test enters, which is done once in a run."""
UNKNOWN, IMPORTED = "?", "imported "
"""UNKNOWN: code of a value that cannot be encoded, and prefix of the code if it does not cover the whole value.
IMPORTED: prefix of the codes of modules, and of classes of other modules (agent/unit_trace.py)."""
RUNS = ("old", "old again", "new", "new again")
MOVED = "compiles to the same code with its new functions put back"
CAUSED = "compiles to the same code without the causes that it names"
Restore = Callable[[View, Mapping[str, tuple[str, str]]], Mapping[str, tuple[str, str]]]
"""Takes a view of the tree before the edit, and (old text, new text) by path; returns other pairs of texts to compare
in place of these. In their new text, moved statements are put back; in both texts, causes of exceptions are removed.
Files where this changes nothing are left out."""
Unit = tuple[str, str]
"""Path, and qualified name of an outermost function or method; "" for the module's own code."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Why the edited units are equal, different, or unknown; each edited unit is a key of one of the three mappings."""

    equal: Mapping[Unit, str] = field(default_factory=dict)
    different: Mapping[Unit, str] = field(default_factory=dict)
    unknown: Mapping[Unit, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Return the reasons against the patch: all differences, else all unknowns; if there are none, the proof."""
        worst = next((found for found in (self.different, self.unknown, self.equal) if found), {})
        counts = f"{len(self.equal)} edited functions proved to behave as before"
        return counts if worst is self.equal else "; ".join(dict.fromkeys(worst.values()))


@dataclass(slots=True)
class Equivalence:
    """Compares versions of one project, for BUDGET seconds in all.

    The last results are cached, because the loop compares patches that their proposers have compared already.
    """

    place: Place
    interpreter: Interpreter
    config: Config
    restore: Restore = field(default=lambda _view, _texts: {})
    _known: list[tuple[Mapping[str, Text], Mapping[str, Text], Compared]] = field(default_factory=list, init=False)
    _before: tuple[Mapping[str, Text], frozenset[Unit], _Chosen, Watched] | None = field(default=None, init=False)
    """Files of the last watched tree, the units and the tests that were watched in it, and the records."""
    _entered: Mapping[str, frozenset[Function]] = field(default_factory=dict, init=False)
    """Which functions each test enters in the tree with the patch `_tree`, recorded once."""
    _tree: Patch = field(default=Patch(), init=False)
    _spent: float = field(default=0.0, init=False)
    _waited: float = field(default=0.0, init=False)
    """CPU seconds (`_spent`) and wall seconds (`_waited`) of all comparisons so far."""
    _last: tuple[float, float] = field(default=(0.0, 0.0), init=False)
    """CPU seconds and wall seconds of the last comparison."""

    def affords(self, within: float | None) -> bool:
        """Return whether there is time for two more comparisons like the last one; the second is for the final proof.

        `within`: an additional limit in seconds for both (None: none).
        """
        cpu, seconds = self._last
        return self._spent + 2 * cpu < BUDGET and self.left(within) > 2 * seconds

    def left(self, within: float | None = None) -> float:
        """Return the seconds that comparisons may still take; `within`: an additional limit (None: none)."""
        left = SLOWEST * BUDGET - self._waited if self._spent < BUDGET else 0.0
        return left if within is None else min(left, within)

    def compare(
        self,
        views: Views,
        before: Patch,
        after: Patch,
        cases: Mapping[str, Case],
        originals: Mapping[str, Text],
        *,
        within: float | None = None,
    ) -> Compared:
        """Compare two versions of the tree: with the patch `before`, and with the patch `after`.

        `cases`: the tests' results with `before`, by id. `originals`: contents, without any patch, of the files that
        only `after` changes. `within`: maximum seconds for the comparison (None: only BUDGET counts).
        """
        if known := self.known(before, after):
            return known
        began, spent = time.monotonic(), self._spent
        edits, moved = self._edits(views, before, after, originals)
        try:
            found = self._compared(views, before, after, cases, edits, moved=moved, until=began + self.left(within))
        finally:
            self._last = self._spent - spent, time.monotonic() - began
            self._waited += self._last[1]
        self._known = [*self._known[-20:], (before.files, after.files, found)]
        return found

    def known(self, before: Patch, after: Patch) -> Compared | None:
        """Return the stored result of an earlier comparison of these two versions; None if there is none."""
        kept = (found for old, new, found in self._known if old == before.files and new == after.files)
        return next(kept, None)

    def failing(
        self,
        views: Views,
        patch: Patch,
        tests: frozenset[str],
        cases: Mapping[str, Case],
        *,
        within: float | None = None,
    ) -> frozenset[str]:
        """Run `tests` in forks, on the tree with `patch`; return the tests whose outcome differs from that in `cases`.

        Tests that are not collected are returned, too. If nothing can be run, all of `tests` are returned. `within`:
        maximum seconds.
        """
        began = time.monotonic()
        left = self.left(within)
        try:
            with self._opened(views, patch, cases, began + left) as pool:
                pool.observe((), sorted(tests), left)
                return tests - (frozenset(pool.tests) - pool.unfit)
        except (_NotComparedError, RunnerError, WorkspaceError):
            return tests
        finally:
            self._waited += time.monotonic() - began

    def equal_codes(self, views: Views, before: Patch, after: Patch, originals: Mapping[str, Text]) -> frozenset[Unit]:
        """Return the edited units that `compare` would regard as compiling to the same code, without running tests."""
        return frozenset(_same(*self._edits(views, before, after, originals)))

    def _edits(
        self, views: Views, before: Patch, after: Patch, originals: Mapping[str, Text]
    ) -> tuple[dict[str, FileEdit], dict[Unit, str]]:
        """Return the edits by path, and the result of `_moved`."""
        texts = {path: (before.files.get(path, originals.get(path)), data) for path, data in after.files.items()}
        edits = {path: FileEdit.between(*pair) for path, pair in texts.items() if pair[0] != pair[1]}
        return edits, self._moved(views, before, edits, texts)

    def _moved(
        self, views: Views, before: Patch, edits: Mapping[str, FileEdit], texts: Mapping[str, tuple[Text, Text]]
    ) -> dict[Unit, str]:
        """Return the units that are equal after the changes of `restore` (see Restore), with the reasons."""
        pairs = {
            path: (decoded(texts[path][0]), decoded(texts[path][1])) for path, edit in edits.items() if edit.changed
        }
        if not pairs:
            return {}
        with views.open(before) as view:
            found = self.restore(view, pairs)
        moved: dict[Unit, str] = {}
        for path, instead in found.items():
            left, edit = FileEdit.of_texts(*instead), edits[path]
            # For a class with a new method, compare also the loaded class: the method may override an inherited one.
            known = {""} if any("." in name for name in edit.added) else set()
            names = edit.changed - left.changed - known if left.new else ()
            moved |= {(path, name): MOVED if edit.added else CAUSED for name in names}
        return moved

    def _compared(
        self,
        views: Views,
        before: Patch,
        after: Patch,
        cases: Mapping[str, Case],
        edits: Mapping[str, FileEdit],
        *,
        moved: Mapping[Unit, str],
        until: float,
    ) -> Compared:
        equal = _same(edits, moved)
        changed = [unit for unit in _changed(edits) if unit not in equal]
        if not changed:
            return Compared(equal)
        try:
            chosen, old, new = self._watched(views, before, after, cases, edits, until=until)
        except (_NotComparedError, RunnerError, WorkspaceError) as error:
            why = str(error) if time.monotonic() < until else "the time for comparisons is used up"
            left = {one: f"not compared: {why}" for one in changed if one not in moved}
            return Compared({**equal, **moved}, {}, left)
        judged = {unit: _judged(*unit, edits[unit[0]], old, new) for unit in changed}
        return _sorted(equal, judged, moved, chosen.remark)

    def _watched(
        self,
        views: Views,
        before: Patch,
        after: Patch,
        cases: Mapping[str, Case],
        edits: Mapping[str, FileEdit],
        *,
        until: float,
    ) -> tuple[_Chosen, Watched, Watched]:
        """Return the chosen tests, and the records of both versions while the tests ran.

        Raises _NotComparedError if there is nothing to watch, or no time.
        """
        if why := _without_calls(cases):
            raise _NotComparedError(why)
        units = frozenset((path, name) for path, edit in edits.items() for name in edit.changed)
        known = self._before
        if known is None or known[0] != before.files or not units <= known[1]:
            with self._opened(views, before, cases, until) as pool:
                chosen = self._chosen(views, pool, before, cases, edits)
                old = pool.watched(chosen.tests, PATIENCE, _functions_in(edits, new=False), list(edits))
            self._before = known = (before.files, units, chosen, old)
        _, _, chosen, old = known
        with self._opened(views, after, cases, until) as pool:
            return chosen, old, pool.watched(chosen.tests, PATIENCE, _functions_in(edits, new=True), list(edits))

    @contextmanager
    def _opened(self, views: Views, patch: Patch, cases: Mapping[str, Case], until: float) -> Iterator[Pool]:
        """Open a pool for the tree with `patch`; the pool waits for answers until the time `until` (monotonic)."""
        left = until - time.monotonic()
        if left <= 0:
            raise _NotComparedError
        statuses = {name: case.status for name, case in cases.items()}
        seconds = {name: case.seconds for name, case in cases.items()}
        parts = (views, self.place, self.interpreter, self.config)
        with open_any_pool(*parts, patch=patch, expected=statuses, seconds=seconds, workers=1, within=left) as pool:
            if not isinstance(pool, Pool):
                raise _NotComparedError("nothing can be forked here")
            pool.ends = until
            try:
                yield pool
            finally:
                self._spent += pool.cpu

    def _chosen(
        self, views: Views, pool: Pool, before: Patch, cases: Mapping[str, Case], edits: Mapping[str, FileEdit]
    ) -> _Chosen:
        """Choose the tests to watch: those that enter the edited functions, or all if they take up to SHORT seconds."""
        seconds = {name: cases[name].seconds for name in pool.tests if name in cases and not cases[name].status.bad}
        if sum(seconds.values()) <= SHORT:
            return _Chosen(tuple(sorted(seconds, key=seconds.__getitem__)), whole=True)
        if not self._entered:  # recorded once in a run; the time may not suffice for all tests, so the nearest go first
            share = ENTERING * min(BUDGET, pool.ends - time.monotonic())
            ordered = nearest(list(edits), one_of_each([name for name in seconds if seconds[name] <= PATIENCE]))
            self._entered, self._tree = pool.entered(ordered, share), before
        rows = [sorted(tests & seconds.keys(), key=seconds.__getitem__) for tests in self._entering(views, edits)]
        chosen = set(_in_turn(rows, seconds, MOST)) - pool.unfit
        whole = chosen.issuperset(chain(*rows)) and self._entered.keys() >= seconds.keys()
        return _Chosen(tuple(sorted(chosen, key=seconds.__getitem__)), whole=whole)

    def _entering(self, views: Views, edits: Mapping[str, FileEdit]) -> Iterator[set[str]]:
        """Yield, for each edited unit, the tests that enter it; for a module, the tests that enter any of its code."""
        with views.open(self._tree) as view:
            texts = {path: decoded(view.read(path)) for path in edits}
        for path, edit in edits.items():
            known = units_of(texts[path])
            for name in edit.changed:
                some = [known[name]] if name in known and name else known.values()
                functions = {one for unit in some for one in unit.functions(path)}
                yield {test for test, entered in self._entered.items() if not functions.isdisjoint(entered)}


def _sorted(
    equal: Mapping[Unit, str], judged: Mapping[Unit, tuple[bool | None, str]], moved: Mapping[Unit, str], remark: str
) -> Compared:
    """Sort the units by their verdicts; a unit whose verdict is unknown is equal if it is in `moved`."""
    reasons: dict[bool | None, dict[Unit, str]] = {True: {**equal}, False: {}, None: {}}
    for unit, (ran, found) in judged.items():
        verdict, why = (True, moved[unit]) if ran is None and unit in moved else (ran, found)
        reasons[verdict][unit] = f"{unit[1] or unit[0]}: {why}{remark}"
    return Compared(reasons[True], reasons[False], reasons[None])


def _without_calls(cases: Mapping[str, Case]) -> str:
    """Return why there are no calls to compare: no test was run, or none passed; "" if a test passed."""
    if any(not case.status.bad for case in cases.values()):
        return ""
    return f"{'no test passes' if cases else 'no test was run'}, so there are no calls to compare"


def _changed(edits: Mapping[str, FileEdit]) -> list[Unit]:
    return sorted((path, unit) for path, edit in edits.items() for unit in edit.changed)


def _same(edits: Mapping[str, FileEdit], moved: Mapping[Unit, str]) -> dict[Unit, str]:
    """Return the units whose compiled code is unchanged, or changed only in causes of exceptions, with the reason."""
    same = {(path, name): "compiles to the same code" for path, edit in edits.items() for name in edit.same}
    return same | {unit: why for unit, why in moved.items() if why == CAUSED}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The tests to watch, the fastest first. `whole`: no other test enters the edited functions."""

    tests: tuple[str, ...]
    whole: bool

    @property
    def remark(self) -> str:
        return "" if self.whole else " (not all tests were watched)"


def _in_turn(rows: Iterable[Sequence[str]], seconds: Mapping[str, float], limit: float) -> Iterator[str]:
    """Yield the first test of each row, then the second of each, and so on; together at most `limit` seconds."""
    found = dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*rows))))
    for name, total in zip(found, accumulate(seconds[name] for name in found), strict=True):
        if total <= limit:
            yield name


def _functions_in(edits: Mapping[str, FileEdit], *, new: bool) -> list[tuple[Function, str]]:
    """Return the edited functions of a version, with the names of their units."""
    found = []
    for path, edit in edits.items():
        units = edit.new if new else edit.old
        names = sorted(edit.changed & units.keys() - {""})
        found += [((path, units[name].line, units[name].name), f"{path}::{name}") for name in names]
    return found


class _NotComparedError(Exception):
    """Nothing was compared; the message is the reason, empty if the time was over."""


def _judged(path: str, name: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    """Return whether the unit behaves as before (None: unknown), and the reason."""
    if name not in edit.old or name not in edit.new:
        # A new or deleted function is compared by the results of its callers.
        return (True, "compared by its callers") if name else (None, "it does not compile here")
    return _judged_function(path, name, edit, old, new) if name else _judged_module(path, edit, old, new)


def _unwatched(old: Watched, new: Watched) -> tuple[None, str]:
    return None, f"the tests could not be watched: {old.failed or new.failed or 'the test server ended'}"


def _judged_module(path: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    runs = [*old.values, *new.values]
    if len(runs) < len(RUNS):
        return _unwatched(old, new)
    loaded = [values for moment in zip(*runs, strict=True) if len(values := _loaded(path, moment)) == len(RUNS)]
    if not loaded:
        return None, "no test imports it"
    found = zip(*(_other_values(*values) for values in loaded), strict=True)
    steady, comparable, other = (set[str]().union(*names) for names in found)
    if hidden := edit.assigned - comparable:
        return None, f"attributes may not show what an import changes: {', '.join(sorted(hidden)[:3])}"
    if other:
        return False, f"{', '.join(sorted(other)[:3])} has another value"
    return True, f"{len(steady)} attributes have unchanged values"


def _loaded(path: str, runs: Iterable[Values]) -> list[set[tuple[str, str]]]:
    """Return the attributes of the module at `path`, for each of `runs` in which the module was loaded."""
    return [set(values[path].items()) for values in runs if path in values]


def _other_values(
    first: set[tuple[str, str]], again: set[tuple[str, str]], after: set[tuple[str, str]], last: set[tuple[str, str]]
) -> tuple[set[str], set[str], set[str]]:
    """Return three sets of names: the steady attributes, the comparable or new ones, and the changed ones.

    The arguments are the attributes' names and codes of values in the four RUNS. Steady: the code is the same in both
    runs of each version, and not UNKNOWN. Comparable: steady, and the code covers the whole old value (see UNKNOWN).
    Changed: steady, but with another value or removed; the removal of an imported module or class is no change.
    """
    steady = {name for name, code in first & again if code != UNKNOWN} - _names(after ^ last)
    added, unused = _names(after) - _names(first), _names(first, IMPORTED) - _names(after)
    return steady, steady - _names(first, UNKNOWN) | added, steady - _names(first & after) - unused


def _names(values: set[tuple[str, str]], prefix: str = "") -> set[str]:
    """Return the names in `values`, pairs (name, code of the value), if the code begins with `prefix`."""
    return {name for name, code in values if code.startswith(prefix)}


def _judged_function(path: str, name: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    unit = f"{path}::{name}"
    runs = [one.get(unit, {}) for found in (old, new) for one in found.results]
    if len(runs) < len(RUNS):
        return _unwatched(old, new)
    pairs, end = list(_pairs(*runs)), _end(path, name)
    nearby, generated = list(_nearby(end, old.answers, new.answers)), list(_nearby(end, old.generated, new.generated))
    every = (*pairs, *nearby, *generated)
    if other := sum(one != two for one, two in every):
        return False, f"{other} of {len(every)} calls have other results"
    more = f"{len(generated)} calls with generated arguments"
    left = edit.not_executed(name, old.lines.get(unit, frozenset()), new.lines.get(unit, frozenset()))
    if left or not (pairs or nearby):
        why = f"no test executes line {min(left)}" if left else "no call of the tests can be compared"
        return None, why + f"; {more} have unchanged results" * bool(generated)
    calls = f"{len(pairs)} calls of the tests and {len(nearby)} calls near them" + f", and {more}," * bool(generated)
    return True, f"{calls} have unchanged results"


def _end(path: str, name: str) -> str:
    """Return the end of the labels' first word for a function, and a space."""
    module = PurePosixPath(path).with_suffix("").name
    return f".{name} " if module == "__init__" else f".{module}.{name} "


def _pairs(old: Mapping[str, Sequence[str]], *others: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the old and the new result of each call whose results are the same in both runs of each version."""
    again, new, last = others
    for call, found in old.items():
        rows = (found, again.get(call, ()), new.get(call, ()), last.get(call, ()))
        for first, second, third, fourth in zip(*rows, strict=False):
            if first == second and third == fourth and UNKNOWN not in (first, third, call):
                yield first, third


def _nearby(end: str, old: Mapping[str, Codes], new: Mapping[str, Codes]) -> Iterator[tuple[str, str]]:
    """Yield the old and the new result of each repeated call of a function, and of each variant of such a call.

    `end`: the end of the function's name. Calls that do not end, or whose results differ between the two runs of a
    version, are left out.
    """
    for call in old.keys() & new.keys():
        pair = (old[call], new[call])
        steady = all(len(set(codes)) == 1 and not codes[0].startswith(ENDLESS) for codes in pair)
        if steady and f".{call.partition(' ')[0]} ".endswith(end):
            yield pair[0][0], pair[1][0]
