"""Coverage spectrum: which failing and passing tests execute each statement.

A failing test is also split into its failed assertion, that assertion's setup, and the assertions that passed.
"""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Case, Coverage, Line, Step, Steps
from coderefine.proposers.search.syntax import Function, Module, own_nodes
from coderefine.source import first_line, last_name

CONNECTING, SHARE, MOSTLY = 8, 0.05, 0.5
"""A statement connects failing tests if few passing tests execute it: at most CONNECTING, or at most the share SHARE of
the traced passing tests if that is more, but never more than the share MOSTLY. A statement that most tests execute is
no evidence of a common reason: most tests of a web framework handle a request, for whatever reason they fail."""
SET_UP, ELSEWHERE = 0.8, 0.3
"""Weights of a statement that did not run in the failed assertion: if it ran in the assertion's setup, and if not."""
ACCIDENTS = frozenset(
    (
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "RecursionError",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    )
)
"""Exceptions due to programming errors."""
CHECKS = ("assert", "raises", "check", "fail", "warns")
"""Prefixes of the names of functions that check something."""


@dataclass(frozen=True, slots=True)
class TestParts:
    """The statements that ran in the failed assertion of a test, in its setup, and in each assertion that passed."""

    failed: frozenset[ast.stmt]
    set_up: frozenset[ast.stmt]
    passed: tuple[frozenset[ast.stmt], ...]

    def worth(self, stmt: ast.stmt) -> float:
        """Return how much the failing test counts as evidence against `stmt`, 0..1."""
        return 1.0 if stmt in self.failed else SET_UP if stmt in self.set_up else ELSEWHERE


def split_tests(
    modules: Mapping[str, Module], failing: Sequence[Case], tests: Mapping[str, Module], steps: Steps
) -> dict[str, TestParts]:
    """Return the parts of each failing test, by test id; tests whose parts are unknown are left out."""
    parts = {case.id: _of_case(modules, case, tests[case.path], steps) for case in failing if case.path in tests}
    return {name: part for name, part in parts.items() if part.failed or part.set_up}


def _of_case(modules: Mapping[str, Module], case: Case, module: Module, steps: Steps) -> TestParts:
    frames = case.failure.frames if case.failure else ()
    lines = (frame.line for frame in frames if frame.path == case.path)
    ended = {stmt for line in lines if (stmt := module.by_line.get(line)) is not None}
    return _apart(modules, [step for step in steps.get(case.id, ()) if step.path == case.path], module, ended)


def _apart(modules: Mapping[str, Module], steps: Sequence[Step], module: Module, ended: set[ast.stmt]) -> TestParts:
    failed: set[ast.stmt] = set()
    set_up: set[ast.stmt] = set()
    passed: dict[ast.stmt, set[ast.stmt]] = defaultdict(set)
    owners = {step: stmt for step in steps if (stmt := module.by_line.get(step.line)) is not None}
    needed = makers(set(owners.values()), ended)
    for step, stmt in owners.items():
        if stmt in ended:
            failed |= set(_statements(modules, step.last))
            passed[stmt] |= set(_statements(modules, step.before))
        elif is_check(stmt):
            passed[stmt] |= set(_statements(modules, step.last | step.before))
        elif stmt in needed:
            set_up |= set(_statements(modules, step.last | step.before))
    return TestParts(
        frozenset(failed), frozenset(set_up), tuple(frozenset(found) for found in passed.values() if found)
    )


def _statements(modules: Mapping[str, Module], lines: Iterable[Line]) -> Iterator[ast.stmt]:
    for path, line in lines:
        if path in modules and (stmt := modules[path].by_line.get(line)) is not None:
            yield stmt


def is_check(stmt: ast.stmt) -> bool:
    """Return whether a statement of a test checks something."""
    if isinstance(stmt, ast.Assert):
        return True
    calls = (node.func for node in own_nodes(stmt) if isinstance(node, ast.Call))
    return any(last_name(function).startswith(CHECKS) for function in calls)


def makers(stmts: set[ast.stmt], ended: set[ast.stmt]) -> set[ast.stmt]:
    """Return those of `stmts` that may have made the values used in `ended`, directly or indirectly.

    `ended`: the statements at which the test failed; they are not returned. A statement makes a value if it binds the
    value's name. Expression statements (`rows.append(1)`) and decorated definitions (`@cli.command()`) that mention the
    name count, too, because they may change the value.
    """
    names = {name for stmt in ended for name, _ in names_in(stmt)}
    found: set[ast.stmt] = set()
    more = True
    while more:
        more = False
        for stmt in stmts - found - ended:
            own = list(names_in(stmt))
            if any(name in names and (stored or _acts(stmt)) for name, stored in own):
                found.add(stmt)
                names |= {name for name, _ in own}
                more = True
    return found


def _acts(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) or bool(getattr(stmt, "decorator_list", ()))


def names_in(stmt: ast.stmt) -> Iterator[tuple[str, bool]]:
    """Yield the names in a statement, without nested statements, and whether the statement binds each name."""
    if isinstance(stmt, Function | ast.ClassDef):
        yield stmt.name, True
    for node in own_nodes(stmt):
        if isinstance(node, ast.Name):
            yield node.id, isinstance(node.ctx, ast.Store)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Which failing tests, and how many passing tests, execute each statement. `total`: number of failing tests.

    `share`: the sum of the weights of the failing tests as evidence against a statement (1 for a test that could not be
    split); `cleared`: number of passed assertions in failing tests that executed the statement. `traced`: number of
    traced passing tests. `raised`: by id of a failing test that crashed (raised one of ACCIDENTS in the program), the
    statement that raised.
    """

    failing: Mapping[ast.stmt, frozenset[str]]
    passing: Mapping[ast.stmt, int]
    total: int
    share: Mapping[ast.stmt, float] = field(default_factory=dict)
    cleared: Mapping[ast.stmt, int] = field(default_factory=dict)
    traced: int = 0
    raised: Mapping[str, ast.stmt] = field(default_factory=dict)

    @property
    def together(self) -> set[frozenset[str]]:
        """Return, for each statement that `connects` accepts, the set of failing tests that execute it.

        Equal sets occur once.
        """
        return {tests for stmt, tests in self.failing.items() if self.connects(stmt)}

    def connects(self, stmt: ast.stmt) -> bool:
        """Return whether few passing tests execute `stmt`.

        If so, the failing tests that execute it may fail for the same reason.
        """
        return self.passing.get(stmt, 0) <= min(max(CONNECTING, SHARE * self.traced), MOSTLY * self.traced)

    @property
    def ran(self) -> dict[ast.stmt, int]:
        """Return the number of tests that execute each statement."""
        found = dict(self.passing)
        for stmt, tests in self.failing.items():
            found[stmt] = found.get(stmt, 0) + len(tests)
        return found

    def blaming(self, stmt: ast.stmt) -> frozenset[str]:
        """Return the failing tests that `stmt` may explain: those that crashed in it, else all that execute it.

        If some tests crash in the statement, a test that gets past it most likely fails for another reason.
        """
        tests = self.failing.get(stmt, frozenset())
        return frozenset(test for test in tests if self.raised.get(test) is stmt) or tests

    def purified(self, stmt: ast.stmt) -> float:
        """Return the Ochiai suspiciousness ef / sqrt(nf * (ef + ep)) after test purification (Xuan, Monperrus 2014).

        nf is the number of failing tests; ef and ep are the numbers of failing and passing tests that execute `stmt`,
        but ef is the sum of weights in `share`. An assertion that passed inside a failing test counts as a separate
        passing test.
        """
        hit = self.share.get(stmt, float(len(self.failing.get(stmt, ()))))
        passed = self.passing.get(stmt, 0) + self.cleared.get(stmt, 0)
        return hit / math.sqrt(self.total * (hit + passed)) if hit else 0.0


def spectrum_of(
    modules: Mapping[str, Module],
    coverage: Coverage,
    failing: Sequence[Case],
    tests: Mapping[str, Module],
    steps: Steps,
) -> Spectrum:
    """Build the spectrum: map the lines of `coverage` to statements. `tests`: modules of the failing tests, by path."""
    bad, good = _ran(modules, {**coverage, **_from_frames(modules, coverage, failing)}, {case.id for case in failing})
    kept = {stmt: frozenset(found) for stmt, found in bad.items() if not _docstring(stmt)}
    parts = split_tests(modules, failing, tests, steps)
    share = {stmt: sum(_worth(parts, test, stmt) for test in found) for stmt, found in kept.items()}
    cleared = Counter(stmt for part in parts.values() for check in part.passed for stmt in check)
    traced = len(coverage.keys() - {case.id for case in failing} - {""})
    return Spectrum(kept, good, max(len(failing), 1), share, cleared, traced, dict(_crashed(modules, failing)))


def _crashed(modules: Mapping[str, Module], failing: Sequence[Case]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield each failing test that crashed in the program, with the statement that raised.

    Tests whose statement is a `raise` or an `assert` are left out.
    """
    for case in failing:
        if case.failure is not None and case.failure.exception in ACCIDENTS:
            ours = [frame for frame in case.failure.frames if frame.path in modules]
            stmt = modules[ours[-1].path].by_line.get(ours[-1].line) if ours else None
            if stmt is not None and not isinstance(stmt, ast.Raise | ast.Assert):
                yield case.id, stmt


def _ran(
    modules: Mapping[str, Module], coverage: Coverage, failing: set[str]
) -> tuple[Mapping[ast.stmt, set[str]], Mapping[ast.stmt, int]]:
    """Return, for each statement, the failing tests that execute it, and how many passing tests execute it."""
    bad: dict[ast.stmt, set[str]] = defaultdict(set)
    good: Counter[ast.stmt] = Counter()
    for test in filter(None, coverage):
        ran = set(_executed(modules, coverage[test]))
        if test not in failing:
            good.update(ran)
        for stmt in ran if test in failing else ():
            bad[stmt].add(test)
    return bad, good


def _worth(parts: Mapping[str, TestParts], test: str, stmt: ast.stmt) -> float:
    return parts[test].worth(stmt) if test in parts else 1.0


def _executed(modules: Mapping[str, Module], by_path: Mapping[str, frozenset[int]]) -> Iterator[ast.stmt]:
    """Yield the statements of `modules` on the lines `by_path`, which a test executed."""
    for path, lines in by_path.items():
        if (module := modules.get(path)) is not None:
            yield from {module.by_line[line] for line in lines if line in module.by_line}


def _docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _from_frames(modules: Mapping[str, Module], coverage: Coverage, failing: Iterable[Case]) -> Coverage:
    """Return coverage for failing tests that could not be traced: all lines of the functions in their tracebacks."""
    found: dict[str, dict[str, frozenset[int]]] = {}
    for case in failing:
        if case.id in coverage or case.failure is None:
            continue
        for frame in case.failure.frames:
            lines = _lines_around(modules.get(frame.path), frame.line)
            if lines is not None:
                by_path = found.setdefault(case.id, {})
                by_path[frame.path] = by_path.get(frame.path, frozenset()) | lines
    return found


def _lines_around(module: Module | None, line: int) -> frozenset[int] | None:
    """Return the lines of the function around `line`, without its first line; None if `line` is not in `module`.

    Outside of functions, return the lines of the statement from `line` on.
    """
    stmt = module.by_line.get(line) if module else None
    if module is None or stmt is None:
        return None
    top = module.function(stmt) or stmt
    end = getattr(top, "end_lineno", None) or line
    return frozenset(range(line if top is stmt else first_line(top) + 1, end + 1))
