"""Who executes which statement: failing tests, passing ones, and the parts of a failing test that passed."""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Case, Coverage
from coderefine.proposers.search.apart import Apart, taken_apart
from coderefine.proposers.search.syntax import Module, first_line
from coderefine.runner.reached_code import Steps


@dataclass(frozen=True, slots=True)
class Spectrum:
    """For each statement the failing and the passing tests that execute it.

    `share`: how much of the failing tests (each is worth 1 where nothing is known of its parts) speaks against a
    statement; `cleared`: the checks that passed before a test failed and ran through it.
    """

    failing: Mapping[ast.stmt, frozenset[str]]
    passing: Mapping[ast.stmt, int]
    total: int
    share: Mapping[ast.stmt, float] = field(default_factory=dict)
    cleared: Mapping[ast.stmt, int] = field(default_factory=dict)

    @property
    def ran(self) -> dict[ast.stmt, int]:
        """By how many tests each statement is executed."""
        found = dict(self.passing)
        for stmt, tests in self.failing.items():
            found[stmt] = found.get(stmt, 0) + len(tests)
        return found

    def ochiai(self, stmt: ast.stmt) -> float:
        """ef / sqrt(nf * (ef + ep)); Abreu et al. 2007."""
        return self._ratio(len(self.failing.get(stmt, ())), self.passing.get(stmt, 0))

    def purified(self, stmt: ast.stmt) -> float:
        """Ochiai where a check that passed inside a failing test is a passing test; Xuan and Monperrus 2014."""
        hit = self.share.get(stmt, float(len(self.failing.get(stmt, ()))))
        return self._ratio(hit, self.passing.get(stmt, 0) + self.cleared.get(stmt, 0))

    def _ratio(self, hit: float, passed: float) -> float:
        return hit / math.sqrt(self.total * (hit + passed)) if hit else 0.0


def spectrum_of(
    modules: Mapping[str, Module],
    coverage: Coverage,
    failing: Sequence[Case],
    tests: Mapping[str, Module],
    steps: Steps,
) -> Spectrum:
    """Lines of the coverage turned into statements. `tests`: the failing tests' files."""
    bad, good = _ran(modules, {**coverage, **_from_frames(modules, coverage, failing)}, {case.id for case in failing})
    kept = {stmt: frozenset(found) for stmt, found in bad.items() if not _docstring(stmt)}
    parts = taken_apart(modules, failing, tests, steps)
    share = {stmt: sum(_worth(parts, test, stmt) for test in found) for stmt, found in kept.items()}
    cleared = Counter(stmt for part in parts.values() for check in part.passed for stmt in check)
    return Spectrum(kept, good, max(len(failing), 1), share, cleared)


def _ran(
    modules: Mapping[str, Module], coverage: Coverage, failing: set[str]
) -> tuple[Mapping[ast.stmt, set[str]], Mapping[ast.stmt, int]]:
    """Each statement's failing tests, and the number of passing ones."""
    bad: dict[ast.stmt, set[str]] = defaultdict(set)
    good: Counter[ast.stmt] = Counter()
    for test in filter(None, coverage):
        ran = set(_executed(modules, coverage[test]))
        if test not in failing:
            good.update(ran)
        for stmt in ran if test in failing else ():
            bad[stmt].add(test)
    return bad, good


def _worth(parts: Mapping[str, Apart], test: str, stmt: ast.stmt) -> float:
    return parts[test].worth(stmt) if test in parts else 1.0


def _executed(modules: Mapping[str, Module], by_path: Mapping[str, frozenset[int]]) -> Iterator[ast.stmt]:
    """Each statement of `modules` that one test executes."""
    for path, lines in by_path.items():
        if (module := modules.get(path)) is not None:
            yield from {module.by_line[line] for line in lines if line in module.by_line}


def _docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _from_frames(modules: Mapping[str, Module], coverage: Coverage, failing: Iterable[Case]) -> Coverage:
    """For tests that could not be watched (they hang): the functions of their tracebacks as if all executed."""
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
    """Lines of the function (or top-level statement) around `line`; None where there is none of ours."""
    stmt = module.by_line.get(line) if module else None
    if module is None or stmt is None:
        return None
    top = module.function(stmt) or stmt
    end = getattr(top, "end_lineno", None) or line
    return frozenset(range(line if top is stmt else first_line(top) + 1, end + 1))
