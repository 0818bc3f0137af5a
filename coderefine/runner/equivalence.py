"""Compare two versions of the project, function by function: which of the edited ones are proved to behave as before.

The proof of a *unit* (an outermost function or method, or a module's own code) is one of these:

1. Both versions compile to the same code, except for line numbers, names of local variables, docstrings, and causes of
   exceptions where that is the one that is being handled (`raise … from error`).
2. The tests execute every changed line of it, and all results are equal: those of the tests' calls, recorded in place
   (arguments → result or exception, and the arguments afterwards), and those of calls near them, which are repeated.
   For a module's own code: its attributes, and those of its classes, have equal values.
3. Its new functions only hold statements that were moved there: with these put back where they are called (`Restore`),
   both versions compile to the same code, and nothing that the tests run has another result.

Whatever is neither proved nor refuted is *unknown*. A patch with it may be offered, but never written.

The first and the third proof need no test: the instructions are all that runs, so that no test could show a
difference. A function that is called adds only its frame, and the end of its variables when it returns: what may depend
on these is left to the tests.
"""

from __future__ import annotations

import ast
import re
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, chain, count, takewhile, zip_longest
from pathlib import PurePosixPath

from coderefine.config import Config
from coderefine.core import Case, Patch, View, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.agent.code_diff import same, same_but_for_names
from coderefine.runner.candidates import Codes, Watched
from coderefine.runner.cold_pool import open_any_pool
from coderefine.runner.pool import Pool
from coderefine.runner.reached_code import Function
from coderefine.runner.test_selection import nearest, one_of_each
from coderefine.source import decode

BUDGET, SLOWEST = 120.0, 3.0
"""CPU seconds that all comparisons of a run may take together; factor of it for wall time, on a busy machine."""
PATIENCE = 5.0
"""Seconds for the tests, and for the repeated calls, of one version."""
SHORT = 8.0
"""Usual duration of the tests to watch, in seconds; of a longer suite, those that enter an edited function."""
ENTERING = 0.5
"""Share of the remaining seconds for recording which functions each test enters; once in a run."""
DEFINITIONS = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
UNKNOWN, ENDLESS = "?", "~"
"""Code of a value that cannot be encoded (agent/unit_trace.py); prefix of that of a call that does not end."""
RUNS = ("old", "old again", "new", "new again")
MOVED = "compiles to the same code with its new functions put back"
CAUSED = "compiles to the same code without the causes that it names"
READS_DOCSTRINGS = re.compile(r"__doc__|getdoc|docopt|doctest|yacc|click|typer|fire|>>>")
Text = bytes | None
Restore = Callable[[View, Mapping[str, tuple[str, str]]], Mapping[str, tuple[str, str]]]
"""Returns the texts to compare instead, by path, from the texts before and after, and the view before: the new one has
moved statements put back, and both are without causes of exceptions. Files that have none are left out."""
Unit = tuple[str, str]
"""Path, and qualified name of an outermost function or method; "" for the module's own code."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Why the edited units are equal, different, or unknown; each edited unit is in one of the three."""

    equal: Mapping[Unit, str] = field(default_factory=dict)
    different: Mapping[Unit, str] = field(default_factory=dict)
    unknown: Mapping[Unit, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Return the first reason against the patch; else what proves it."""
        worst = next((found for found in (self.different, self.unknown, self.equal) if found), {})
        counts = f"{len(self.equal)} edited functions proved to behave as before"
        return counts if worst is self.equal else "; ".join(dict.fromkeys(worst.values()))


@dataclass(slots=True)
class Equivalence:
    """Compares versions of one project, for BUDGET seconds in all.

    The last results are kept: the loop asks again about what was proposed.
    """

    place: Place
    interpreter: Interpreter
    config: Config
    restore: Restore = field(default=lambda _view, _texts: {})
    _known: list[tuple[Mapping[str, Text], Mapping[str, Text], Compared]] = field(default_factory=list, init=False)
    _before: tuple[Mapping[str, Text], frozenset[Unit], _Chosen, Watched] | None = field(default=None, init=False)
    """The last watched tree, the units and the tests that were watched, and what they did."""
    _entered: Mapping[str, frozenset[Function]] = field(default_factory=dict, init=False)
    """Which functions each test enters in the tree with `_tree`, recorded once."""
    _tree: Patch = field(default=Patch(), init=False)
    _spent: float = field(default=0.0, init=False)
    _waited: float = field(default=0.0, init=False)
    """CPU seconds and seconds that comparisons have taken."""
    _last: tuple[float, float] = field(default=(0.0, 0.0), init=False)
    """The same of the last comparison."""

    def affords(self, within: float | None = None) -> bool:
        """Return whether there is time for two more comparisons like the last one: for one, and for the final proof.

        `within`: seconds that are left for both, at most.
        """
        cpu, seconds = self._last
        return self._spent + 2 * cpu < BUDGET and self.left(within) > 2 * seconds

    def left(self, within: float | None = None) -> float:
        """Return the seconds that comparisons may still take; `within`: at most these (None: no other limit)."""
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
        """Compare the tree with `after` to that with `before`. `cases`: the tests' results at `before`, by id.

        `originals`: contents of the files that only `after` touches, without any patch. `within`: seconds that it may
        take, at most (None: only BUDGET counts).
        """
        for old, new, found in self._known:
            if old == before.files and new == after.files:
                return found
        began, spent = time.monotonic(), self._spent
        texts = {path: (before.files.get(path, originals.get(path)), data) for path, data in after.files.items()}
        edits = {path: FileEdit.between(*pair) for path, pair in texts.items() if pair[0] != pair[1]}
        moved = self._moved(views, before, edits, texts)
        try:
            found = self._compared(views, before, after, cases, edits, moved=moved, until=began + self.left(within))
        finally:
            self._last = self._spent - spent, time.monotonic() - began
            self._waited += self._last[1]
        self._known = [*self._known[-20:], (before.files, after.files, found)]
        return found

    def _moved(
        self, views: Views, before: Patch, edits: Mapping[str, FileEdit], texts: Mapping[str, tuple[Text, Text]]
    ) -> dict[Unit, str]:
        """Return why they are equal by unit: those whose statements moved into new functions, these, and causes."""
        pairs = {path: (_text(texts[path][0]), _text(texts[path][1])) for path, edit in edits.items() if edit.changed}
        if not pairs:
            return {}
        with views.open(before) as view:
            found = self.restore(view, pairs)
        moved: dict[Unit, str] = {}
        for path, instead in found.items():
            left, edit = FileEdit.of_texts(*instead), edits[path]
            # A class with a new method must also be seen as it is when it is loaded: what is inherited is elsewhere.
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
        equal = _same(edits) | {unit: why for unit, why in moved.items() if why == CAUSED}
        changed = [unit for unit in _changed(edits) if unit not in equal]
        if not changed:
            return Compared(equal)
        try:
            chosen, old, new = self._watched(views, before, after, cases, edits, until=until)
        except (_NotComparedError, RunnerError, WorkspaceError) as error:
            why = str(error) if time.monotonic() < until else "the time for comparisons is used up"
            equal |= moved
            return Compared(equal, {}, {one: f"not compared: {why}" for one in changed if one not in moved})
        reasons: dict[bool | None, dict[Unit, str]] = {True: equal, False: {}, None: {}}
        for path, name in changed:
            verdict, why = _judged(path, name, edits[path], old, new)
            if verdict is None and (path, name) in moved:
                verdict, why = True, moved[path, name]
            reasons[verdict][path, name] = f"{name or path}: {why}{chosen.remark}"
        return Compared(reasons[True], reasons[False], reasons[None])

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
        """Watch both versions. Raises _NotComparedError if there is nothing to watch, or no time."""
        if all(case.status.bad for case in cases.values()):
            raise _NotComparedError("no test passes, so there are no calls to compare")
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
        """Open a pool in the tree with `patch` that ends at `until` (monotonic)."""
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
        """Choose the tests to watch: those that enter the edited functions, or all if they are SHORT."""
        seconds = _durations(pool.tests, cases)
        if sum(seconds.values()) <= SHORT:
            return _Chosen(tuple(sorted(seconds, key=seconds.__getitem__)), whole=True)
        self._record_entered(pool, before, [name for name in seconds if seconds[name] <= PATIENCE], list(edits))
        rows = [sorted(tests & seconds.keys(), key=seconds.__getitem__) for tests in self._entering(views, edits)]
        chosen = set(_in_turn(rows, seconds, SHORT)) - pool.unfit
        whole = chosen.issuperset(chain(*rows)) and self._entered.keys() >= seconds.keys()
        return _Chosen(tuple(sorted(chosen, key=seconds.__getitem__)), whole=whole)

    def _record_entered(self, pool: Pool, before: Patch, tests: Sequence[str], paths: Sequence[str]) -> None:
        """Record which functions each of `tests` enters, those with names like `paths` first; once in a run."""
        if not self._entered:
            share = ENTERING * min(BUDGET, pool.ends - time.monotonic())
            self._entered, self._tree = pool.entered(nearest(paths, one_of_each(tests)), share), before

    def _entering(self, views: Views, edits: Mapping[str, FileEdit]) -> Iterator[set[str]]:
        """Yield the tests that enter each edited unit; for a module's own code, any function of the module."""
        with views.open(self._tree) as view:
            texts = {path: _text(view.read(path)) for path in edits}
        for path, edit in edits.items():
            units = _units(texts[path])
            for name in edit.changed:
                some = [units[name]] if name in units and name else units.values()
                functions = {one for unit in some for one in unit.functions(path)}
                yield {test for test, entered in self._entered.items() if not functions.isdisjoint(entered)}


def _changed(edits: Mapping[str, FileEdit]) -> list[Unit]:
    return sorted((path, unit) for path, edit in edits.items() for unit in edit.changed)


def _same(edits: Mapping[str, FileEdit]) -> dict[Unit, str]:
    """Return the units whose text changed but whose compiled code did not, with this reason why they are equal."""
    return {(path, name): "compiles to the same code" for path, edit in edits.items() for name in edit.same}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The tests to watch, the fastest first. `whole`: no other test enters the edited functions."""

    tests: tuple[str, ...]
    whole: bool

    @property
    def remark(self) -> str:
        return "" if self.whole else " (not all tests were watched)"


def _durations(tests: Iterable[str], cases: Mapping[str, Case]) -> dict[str, float]:
    """Return the seconds of those of `tests` that passed."""
    return {name: cases[name].seconds for name in tests if name in cases and not cases[name].status.bad}


def _in_turn(rows: Iterable[Sequence[str]], seconds: Mapping[str, float], limit: float) -> Iterator[str]:
    """Yield the first test of each row, then the second ones, and so on, while they take up to `limit` together."""
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
    """Nothing was run to compare; the message says why, unless the time is over."""


@dataclass(frozen=True, slots=True)
class UnitCode:
    """The code of a unit, and its first line (with decorators) and name, as in its code object; its lines as `text`.

    `flat`: the code without line numbers, on which some instructions depend (NOP, where nothing but a line begins).
    """

    line: int
    name: str
    code: types.CodeType
    flat: types.CodeType
    text: str

    def functions(self, path: str) -> Iterator[Function]:
        """Yield the function, and those in it, as they are recorded in a file with this path."""
        waiting = [self.code]
        while waiting:
            code = waiting.pop()
            yield path, code.co_firstlineno, code.co_name
            waiting += _inner(code) if code.co_name != "<module>" else ()


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Two versions of one file: their units by name, and which lines differ, other than by indentation.

    `lines`: changed lines of the new text; `removed`: of the old one. `changed` and `same`: names of units that differ,
    and of those whose text changed but not their code. "": the module's own code, class bodies included.
    """

    old: Mapping[str, UnitCode]
    new: Mapping[str, UnitCode]
    changed: frozenset[str]
    same: frozenset[str]
    lines: frozenset[int]
    removed: frozenset[int]
    at_import: bool = False
    """Whether every changed line of the module's own code certainly runs when it is imported."""

    @property
    def added(self) -> frozenset[str]:
        """Return the names of the new functions."""
        return frozenset(self.new.keys() - self.old.keys())

    @classmethod
    def between(cls, before: Text, after: Text) -> FileEdit:
        """Compare the contents of a file; those that cannot be compiled here are a change of the module's own code."""
        return cls.of_texts(_text(before), _text(after))

    @classmethod
    def of_texts(cls, old: str, new: str) -> FileEdit:
        """Compare the texts of a file. Docstrings count like other constants if something in it may read them."""
        reads = bool(READS_DOCSTRINGS.search(old) or READS_DOCSTRINGS.search(new))
        try:
            was, now = _units(old, documented=reads), _units(new, documented=reads)
        except (SyntaxError, ValueError, RecursionError):
            return cls({}, {}, frozenset({""}), frozenset(), frozenset(), frozenset())
        alike = {name for name in was.keys() & now.keys() if _alike(was[name].flat, now[name].flat, whole=bool(name))}
        removed, lines = _changed_lines(old, new)
        changed = frozenset((was.keys() | now.keys()) - alike)
        certain = "" in changed and _certain(old, removed) and _certain(new, lines)
        edited = frozenset(name for name in alike if _executable(now[name].code) & lines)
        return cls(was, now, changed, edited, lines, removed, certain)

    def not_executed(self, name: str, old: frozenset[int], new: frozenset[int]) -> frozenset[int]:
        """Return the changed lines of the function `name` that no test ran; if all ran, the removed ones that none ran.

        A line that the old function, or the old file, contains too is not changed: it may be in a block that moved.
        `old`, `new`: the lines that ran.
        """
        was, now = self.old[name], self.new[name]
        removed, added = _changed_lines(was.text, now.text)
        left = _executable(now.code) & self.lines & {now.line - 1 + line for line in added} - new
        return left or _executable(was.code) & self.removed & {was.line - 1 + line for line in removed} - old


def _text(data: Text) -> str:
    source = decode(data) if data else None
    return source.text if source else ""


@lru_cache(maxsize=64)
def _units(text: str, *, documented: bool = False) -> Mapping[str, UnitCode]:
    """Return the module's own code ("") and all outermost functions and methods, by qualified name.

    Of several with one name (a property and its setter), the second is `NAME#2`. `documented`: with docstrings.
    """
    tree = ast.parse(text)
    if not documented:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                _clear_docstring(node)
    code = _by_name(compile(tree, "unit", "exec", dont_inherit=True))
    _flatten(tree)
    flat = _by_name(compile(tree, "unit", "exec", dont_inherit=True))
    return {
        name: UnitCode(one.co_firstlineno, one.co_name, one, flat[name], _lines(text, one))
        for name, one in code.items()
    }


def _flatten(tree: ast.Module) -> None:
    """Put each function and class on a line of its own: on one line, those that are alike would become one object."""
    for line, definition in enumerate(node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)):
        for node in ast.walk(definition):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = line + 1  # type: ignore[attr-defined]
                node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]


def _lines(text: str, code: types.CodeType) -> str:
    """Return the lines of a unit, from its first to the last that is executed."""
    first = code.co_firstlineno
    return "\n".join(text.split("\n")[first - 1 : max(_executable(code), default=first)])


def _by_name(module: types.CodeType) -> dict[str, types.CodeType]:
    found = {"": module}
    for name, code in _functions(module, ""):
        same_named = (f"{name}#{number}" for number in count(2))
        found[next(one for one in chain((name,), same_named) if one not in found)] = code
    return found


def _clear_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    decorated = getattr(node, "decorator_list", ())
    if ast.get_docstring(node, clean=False) is not None and not decorated:
        node.body[0].value = ast.Constant("", lineno=node.body[0].lineno, col_offset=0)  # type: ignore[attr-defined]


def _functions(code: types.CodeType, prefix: str) -> Iterator[tuple[str, types.CodeType]]:
    for inner in _inner(code):
        name = prefix + inner.co_name
        if _is_class(inner):
            yield from _functions(inner, f"{name}.")
        elif not inner.co_name.startswith("<"):
            yield name, inner


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    return (value for value in code.co_consts if isinstance(value, types.CodeType))


def _is_class(code: types.CodeType) -> bool:
    return not code.co_flags & 0x02  # CO_NEWLOCALS


def _alike(old: types.CodeType, new: types.CodeType, *, whole: bool) -> bool:
    """Return whether two code objects are the same; without `whole`, the functions in them are left out."""
    return same(old, new) or same_but_for_names(old, new) if whole else _bare(old) == _bare(new)


def _bare(code: types.CodeType) -> tuple[object, ...]:
    """Return the contents of the code of a module or class, without its functions, as comparable values."""
    values = []
    for value in code.co_consts:
        if not isinstance(value, types.CodeType):
            values.append((type(value).__name__, repr(value)))
        elif _is_class(value) or value.co_name.startswith("<"):
            values.append(("code", repr(_bare(value))))
        else:
            values.append(("function", value.co_name))
    handlers = getattr(code, "co_exceptiontable", b"")
    return (code.co_code, handlers, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, tuple(values))


def _certain(text: str, lines: frozenset[int]) -> bool:
    """Return whether the import runs all of `lines`: none is inside a statement that may skip it (bodies apart)."""
    waiting: list[ast.stmt] = list(ast.parse(text).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef):
            waiting += node.body
        elif isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.With | ast.Match) and any(
            node.lineno <= line <= (node.end_lineno or 0) for line in lines
        ):
            return False
    return True


def alike_lines(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many lines at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _changed_lines(old: str, new: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return the changed lines (removed from `old`, in `new`), 1-based, without blank lines and comments."""
    first, second = ([line.strip() for line in text.split("\n")] for text in (old, new))
    # Comparing only what is between equal ends takes a hundredth of the time.
    head = alike_lines(first, second)
    tail = alike_lines(first[head:][::-1], second[head:][::-1])
    old_middle, new_middle = first[head : len(first) - tail], second[head : len(second) - tail]
    removed, added = set(), set()
    for tag, start, end, begin, stop in SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes():
        if tag != "equal":
            removed |= {at + 1 for at in range(head + start, head + end) if first[at][:1] not in ("", "#")}
            added |= {at + 1 for at in range(head + begin, head + stop) if second[at][:1] not in ("", "#")}
    return frozenset(removed), frozenset(added)


def _judged(path: str, name: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    """Return True for a unit that behaves as before, False for one that does not, None if unknown; and the reason."""
    if name not in edit.old or name not in edit.new:
        # What is new or gone shows in the results of the functions that call it.
        return (True, "compared by its callers") if name else (None, "it does not compile here")
    return _judged_function(path, name, edit, old, new) if name else _judged_module(path, edit, old, new)


def _judged_module(path: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    runs = [one for found in (old, new) for one in found.values]
    if len(runs) < len(RUNS):
        return None, "the tests could not be watched"
    loaded = [one[path] for one in runs if path in one]
    if len(loaded) < len(RUNS):
        return None, "no test imports it"
    if not edit.at_import:
        return None, "the import need not run the changed lines"
    steady, other = _other_values(*(set(one.items()) for one in loaded))
    if other:
        return False, f"{', '.join(sorted(other)[:3])} has another value"
    return True, f"{len(steady)} attributes have the values they had"


def _other_values(
    first: set[tuple[str, str]], again: set[tuple[str, str]], after: set[tuple[str, str]], last: set[tuple[str, str]]
) -> tuple[set[str], set[str]]:
    """Return the names whose values are the same in both runs of a version, and those that differ between versions."""
    steady = {name for name, code in first & again if code != UNKNOWN} - {name for name, _ in after ^ last}
    return steady, steady - {name for name, _ in first & after}


def _judged_function(path: str, name: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    unit = f"{path}::{name}"
    runs = [one.get(unit, {}) for found in (old, new) for one in found.results]
    if len(runs) < len(RUNS):
        return None, "the tests could not be watched"
    module = PurePosixPath(path).with_suffix("").name
    end = f".{name} " if module == "__init__" else f".{module}.{name} "
    pairs, nearby = list(_pairs(*runs)), list(_nearby(end, old.answers, new.answers))
    if other := sum(one != two for one, two in (*pairs, *nearby)):
        return False, f"{other} of {len(pairs) + len(nearby)} calls have other results"
    ran = (old.lines.get(unit, frozenset()), new.lines.get(unit, frozenset()))
    if left := edit.not_executed(name, *ran):
        return None, f"no test executes line {min(left)}"
    if not pairs and not nearby:
        return None, "no call of the tests can be compared"
    return True, f"{len(pairs)} calls of the tests and {len(nearby)} calls near them have the results they had"


def _pairs(old: Mapping[str, Sequence[str]], *others: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the old and the new result of each call whose results are the same in both runs of a version."""
    again, new, last = others
    for call, found in old.items():
        rows = (found, again.get(call, ()), new.get(call, ()), last.get(call, ()))
        for first, second, third, fourth in zip(*rows, strict=False):
            if first == second and third == fourth and UNKNOWN not in (first, third, call):
                yield first, third


def _nearby(end: str, old: Mapping[str, Codes], new: Mapping[str, Codes]) -> Iterator[tuple[str, str]]:
    """Yield the old and the new result of each repeated call of one function, and of variants of these calls."""
    for call in old.keys() & new.keys():
        pair = (old[call], new[call])
        steady = all(len(set(codes)) == 1 and not codes[0].startswith(ENDLESS) for codes in pair)
        if steady and f".{call.partition(' ')[0]} ".endswith(end):
            yield pair[0][0], pair[1][0]


def _executable(code: types.CodeType) -> frozenset[int]:
    """Return the lines of a function that a trace reports, also those of functions in it; not its first line."""
    found = {line for _, _, line in code.co_lines() if line is not None}
    below = (_executable(one) for one in _inner(code))
    return frozenset(found).union(*below) - {code.co_firstlineno}
