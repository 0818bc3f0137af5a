"""Compare two versions of the project, function by function: which of the edited ones are proved to behave as before.

The proof of a *unit* (an outermost function or method, or a module's own code) is one of these:

1. Both versions compile to the same code, except for line numbers, names of local variables, and docstrings.
2. The tests execute every changed line of it, and all results are equal: those of the tests' calls, recorded in place
   (arguments → result or exception, and the arguments afterwards), and those of calls near them, which are repeated.
   For a module's own code: its attributes, and those of its classes, have equal values.

Whatever is neither proved nor refuted is *unknown*. A patch with it may be offered, but never written.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from coderefine.config import Config
from coderefine.core import Case, Patch, Views
from coderefine.errors import RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place
from coderefine.runner.agent.code_diff import same, same_but_for_names
from coderefine.runner.candidates import Codes, Watched
from coderefine.runner.cold_pool import open_any_pool
from coderefine.runner.pool import Pool
from coderefine.runner.reached_code import Function
from coderefine.source import decode

SUITE = 10.0
"""Duration of the tests, in seconds, above which nothing is run to compare: each version runs them several times."""
PATIENCE = 5.0
"""Seconds for the tests, and for the repeated calls, of one version."""
UNKNOWN, ENDLESS = "?", "~"
"""Code of a value that cannot be encoded (agent/unit_trace.py); prefix of that of a call that does not end."""
RUNS = ("old", "old again", "new", "new again")
READS_DOCSTRINGS = re.compile(r"__doc__|getdoc|docopt|doctest|yacc|click|typer|fire|>>>")
Text = bytes | None
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
    """Compares versions of one project. The last results are kept: the loop asks again about what was proposed."""

    place: Place
    interpreter: Interpreter
    config: Config
    _known: list[tuple[Mapping[str, Text], Mapping[str, Text], Compared]] = field(default_factory=list, init=False)
    _before: tuple[Mapping[str, Text], frozenset[Unit], Watched] | None = field(default=None, init=False)
    """The last watched tree, the units that were watched, and what they did."""

    def compare(
        self, views: Views, before: Patch, after: Patch, cases: Mapping[str, Case], originals: Mapping[str, Text]
    ) -> Compared:
        """Compare the tree with `after` to that with `before`. `cases`: the tests' results at `before`, by id.

        `originals`: contents of the files that only `after` touches, without any patch.
        """
        for old, new, found in self._known:
            if old == before.files and new == after.files:
                return found
        edits = {}
        for path, data in after.files.items():
            was = before.files[path] if path in before.files else originals.get(path)
            if was != data:
                edits[path] = FileEdit.between(was, data)
        found = self._compared(views, before, after, cases, edits)
        self._known = [*self._known[-20:], (before.files, after.files, found)]
        return found

    def _compared(
        self, views: Views, before: Patch, after: Patch, cases: Mapping[str, Case], edits: Mapping[str, FileEdit]
    ) -> Compared:
        changed = sorted((path, unit) for path, edit in edits.items() for unit in edit.changed)
        equal = {(path, name): "compiles to the same code" for path, edit in edits.items() for name in edit.same}
        different: dict[Unit, str] = {}
        unknown: dict[Unit, str] = {}
        if not changed:
            return Compared(equal)
        try:
            old, new = self._watched(views, before, after, cases, edits)
        except (_NotComparedError, RunnerError, WorkspaceError) as error:
            return Compared(equal, {}, dict.fromkeys(changed, f"not compared: {error}"))
        for path, name in changed:
            verdict, why = _judged(path, name, edits[path], old, new)
            {True: equal, False: different, None: unknown}[verdict][path, name] = f"{name or path}: {why}"
        return Compared(equal, different, unknown)

    def _watched(
        self, views: Views, before: Patch, after: Patch, cases: Mapping[str, Case], edits: Mapping[str, FileEdit]
    ) -> tuple[Watched, Watched]:
        """Watch both versions. Raises _NotComparedError if there is nothing to watch, or not in reasonable time."""
        usual = sum(case.seconds for case in cases.values())
        if all(case.status.bad for case in cases.values()):
            raise _NotComparedError("no test passes, so there are no calls to compare")
        if usual > SUITE:
            raise _NotComparedError(f"the tests take {usual:.0f} s, and {SUITE:g} s are the most it is done for")
        units = frozenset((path, name) for path, edit in edits.items() for name in edit.changed)
        known = self._before
        if known is None or known[0] != before.files or not units <= known[1]:
            old = self._run(views, before, cases, _functions_in(edits, new=False), list(edits))
            self._before = known = (before.files, units, old)
        return known[2], self._run(views, after, cases, _functions_in(edits, new=True), list(edits))

    def _run(
        self,
        views: Views,
        patch: Patch,
        cases: Mapping[str, Case],
        functions: Sequence[tuple[Function, str]],
        modules: Sequence[str],
    ) -> Watched:
        statuses = {name: case.status for name, case in cases.items()}
        seconds = {name: case.seconds for name, case in cases.items()}
        parts = (views, self.place, self.interpreter, self.config)
        with open_any_pool(*parts, patch=patch, expected=statuses, seconds=seconds, workers=1) as pool:
            if not isinstance(pool, Pool):
                raise _NotComparedError("nothing can be forked here")
            names = [name for name in pool.tests if name in statuses and not statuses[name].bad]
            return pool.watched(names, PATIENCE, functions, modules)


def _functions_in(edits: Mapping[str, FileEdit], *, new: bool) -> list[tuple[Function, str]]:
    """Return the edited functions of a version, with the names of their units."""
    found = []
    for path, edit in edits.items():
        units = edit.new if new else edit.old
        names = sorted(edit.changed & units.keys() - {""})
        found += [((path, units[name].line, units[name].name), f"{path}::{name}") for name in names]
    return found


class _NotComparedError(Exception):
    """Nothing was run to compare; the message says why."""


@dataclass(frozen=True, slots=True)
class UnitCode:
    """The code of a unit: its first line (with decorators) and name, as in its code object, and the last line."""

    line: int
    name: str
    code: types.CodeType


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

    @classmethod
    def between(cls, before: Text, after: Text) -> FileEdit:
        """Compare two texts; one that cannot be compiled here is a change of the module's own code."""
        old, new = _text(before), _text(after)
        try:
            was, now = (dict(_units(text)) for text in (old, new))
        except (SyntaxError, ValueError, RecursionError):
            return cls({}, {}, frozenset({""}), frozenset(), frozenset(), frozenset())
        alike = {name for name in was.keys() & now.keys() if _alike(was[name].code, now[name].code, whole=bool(name))}
        removed, lines = _changed_lines(old, new)
        certain = _certain(old, removed) and _certain(new, lines)
        edited = frozenset(name for name in alike if _executable(now[name]) & lines)
        return cls(was, now, frozenset((was.keys() | now.keys()) - alike), edited, lines, removed, certain)

    def not_executed(self, name: str, old: frozenset[int], new: frozenset[int]) -> frozenset[int]:
        """Return the changed lines of a function, else the removed ones, that are not in those that ran."""
        left = _executable(self.new[name]) & self.lines - new
        return left or _executable(self.old[name]) & self.removed - old


def _text(data: Text) -> str:
    source = decode(data) if data else None
    return source.text if source else ""


def _units(text: str) -> Iterator[tuple[str, UnitCode]]:
    """Yield the module's own code, and all outermost functions and methods; of several with one name, the last.

    Docstrings are left out, unless something in the file may read them: then they are like other constants.
    """
    tree = ast.parse(text)
    if not READS_DOCSTRINGS.search(text):
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                _clear_docstring(node)
    module = compile(tree, "unit", "exec", dont_inherit=True)
    yield "", UnitCode(1, "<module>", module)
    yield from _functions(module, "")


def _clear_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    decorated = getattr(node, "decorator_list", ())
    if ast.get_docstring(node, clean=False) is not None and not decorated:
        node.body[0].value = ast.Constant("", lineno=node.body[0].lineno, col_offset=0)  # type: ignore[attr-defined]


def _functions(code: types.CodeType, prefix: str) -> Iterator[tuple[str, UnitCode]]:
    for inner in code.co_consts:
        if not isinstance(inner, types.CodeType):
            continue
        name = prefix + inner.co_name
        if _is_class(inner):
            yield from _functions(inner, f"{name}.")
        elif not inner.co_name.startswith("<"):
            yield name, UnitCode(inner.co_firstlineno, inner.co_name, inner)


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
    return (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, tuple(values))


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


def _changed_lines(old: str, new: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return the changed lines (removed from `old`, in `new`), 1-based, without blank lines and comments."""
    first, second = ([line.strip() for line in text.splitlines()] for text in (old, new))
    removed, added = set(), set()
    for tag, start, end, begin, stop in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag != "equal":
            removed |= {number + 1 for number in range(start, end) if first[number][:1] not in ("", "#")}
            added |= {number + 1 for number in range(begin, stop) if second[number][:1] not in ("", "#")}
    return frozenset(removed), frozenset(added)


def _judged(path: str, name: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    """Return True for a unit that behaves as before, False for one that does not, None if unknown; and the reason."""
    if name not in edit.old or name not in edit.new:
        # What is new or gone shows in the results of the functions that call it.
        return (True, "compared by its callers") if name else (None, "it does not compile here")
    return _judged_function(path, name, edit, old, new) if name else _judged_module(path, edit, old, new)


def _judged_module(path: str, edit: FileEdit, old: Watched, new: Watched) -> tuple[bool | None, str]:
    loaded = [one[path] for found in (old, new) for one in found.values if path in one]
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


def _executable(code: UnitCode) -> frozenset[int]:
    """Return the lines of a function that a trace reports, also those of functions in it; not its first line."""
    found = {line for _, _, line in code.code.co_lines() if line is not None}
    inner = (value for value in code.code.co_consts if isinstance(value, types.CodeType))
    below = (_executable(UnitCode(0, "", one)) for one in inner)
    return frozenset(found).union(*below) - frozenset(range(code.code.co_firstlineno, code.code.co_firstlineno + 1))
