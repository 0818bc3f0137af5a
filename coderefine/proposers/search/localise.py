"""Which statements are suspicious: spectrum (Ochiai), traceback frames, what the failing tests name, data at import."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Case, Coverage, Frame
from coderefine.proposers.search.syntax import Function, Module, first_line, has_docstring

FRAME = 0.5
"""Added for the innermost frame of a traceback in the program itself; each frame further out adds half of it."""
NAMED = 0.25
"""Added when the failing test names the function."""
HEADER = 0.55
"""A definition's share of its most suspicious statement: defaults, decorators, parameters."""
AT_IMPORT = 0.6
"""Share of the most suspicious reader that a name bound at import gets."""
LEAST = 0.02
REFUSED = re.compile(r"(\w+)\(\) (?:takes|missing|got)\b")
"""Whose signature does not go with a call, in the words of CPython."""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """For each statement the failing and the passing tests that execute it."""

    failing: Mapping[ast.stmt, frozenset[str]]
    passing: Mapping[ast.stmt, int]
    total: int

    def ochiai(self, stmt: ast.stmt) -> float:
        """ef / sqrt(nf * (ef + ep)); Abreu et al. 2007."""
        hit = len(self.failing.get(stmt, ()))
        return hit / math.sqrt(self.total * (hit + self.passing.get(stmt, 0))) if hit else 0.0


@dataclass(frozen=True, slots=True)
class Suspects:
    """Statements with their suspicion in 0..1, and what failing frames showed of each function's locals."""

    weights: Mapping[ast.stmt, float]
    seen: Mapping[ast.AST, Mapping[str, str]] = field(default_factory=dict)
    raised: frozenset[str] = frozenset()
    spectrum: Spectrum = Spectrum({}, {}, 1)


def suspects(
    modules: Mapping[str, Module], coverage: Coverage, failing: Sequence[Case], sources: Mapping[str, str]
) -> Suspects:
    """Rank the statements of `modules`. `sources`: test id -> text of the failing test function, where known."""
    coverage = {**coverage, **_from_frames(modules, coverage, failing)}
    spectrum = spectrum_of(modules, coverage, {case.id for case in failing})
    weights = {stmt: spectrum.ochiai(stmt) for stmt in spectrum.failing}
    frames = _frames(modules, failing)
    _add_frames(weights, modules, frames)
    _add_named(weights, modules, failing, sources)
    _add_headers(weights, modules)
    _add_imported(weights, modules)
    _add_refusing(weights, modules, failing)
    top = max(weights.values(), default=1.0)
    kept = {stmt: weight / top for stmt, weight in weights.items() if weight / top >= LEAST}
    return Suspects(kept, _locals(modules, frames), _raised(failing), spectrum)


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


def spectrum_of(modules: Mapping[str, Module], coverage: Coverage, failing: set[str]) -> Spectrum:
    """Lines of the coverage turned into statements."""
    bad: dict[ast.stmt, set[str]] = defaultdict(set)
    good: dict[ast.stmt, int] = defaultdict(int)
    for test, by_path in coverage.items():
        for stmt in _executed(modules, by_path) if test else ():
            if test in failing:
                bad[stmt].add(test)
            else:
                good[stmt] += 1
    kept = {stmt: frozenset(tests) for stmt, tests in bad.items() if not _docstring(stmt)}
    return Spectrum(kept, good, max(len(failing), 1))


def _executed(modules: Mapping[str, Module], by_path: Mapping[str, frozenset[int]]) -> Iterator[ast.stmt]:
    """Each statement of `modules` that one test executes."""
    for path, lines in by_path.items():
        if (module := modules.get(path)) is not None:
            yield from {module.by_line[line] for line in lines if line in module.by_line}


def _docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _frames(modules: Mapping[str, Module], failing: Iterable[Case]) -> list[tuple[float, Frame]]:
    """Frames in the program with their weights, the innermost of each traceback first."""
    found = []
    for case in failing:
        ours = [frame for frame in (case.failure.frames if case.failure else ()) if frame.path in modules]
        found += [(0.5**depth, frame) for depth, frame in enumerate(reversed(ours))]
    return found


def _add_frames(
    weights: dict[ast.stmt, float], modules: Mapping[str, Module], frames: list[tuple[float, Frame]]
) -> None:
    best: dict[ast.stmt, float] = defaultdict(float)
    for weight, frame in frames:
        stmt = modules[frame.path].by_line.get(frame.line)
        if stmt is not None:
            best[stmt] = max(best[stmt], weight)
    for stmt, weight in best.items():
        weights[stmt] = weights.get(stmt, 0.3) + FRAME * weight
        _add_neighbours(weights, modules, stmt, 0.3 * FRAME * weight)


def _add_neighbours(weights: dict[ast.stmt, float], modules: Mapping[str, Module], stmt: ast.stmt, more: float) -> None:
    """The statements around one that failed made what failed there."""
    for module in modules.values():
        function = module.function(stmt) if stmt in module.parents else None
        for near in ast.walk(function) if function is not None else ():
            if isinstance(near, ast.stmt) and near in weights and near is not stmt:
                weights[near] += more


def _add_named(
    weights: dict[ast.stmt, float], modules: Mapping[str, Module], failing: Sequence[Case], sources: Mapping[str, str]
) -> None:
    """The failing test's text, its name and its assertion name the functions it is about."""
    words = _words(failing, sources)
    names = [case.id.rsplit("::", 1)[-1].split("[")[0].lower() for case in failing]
    for module in modules.values():
        for function in module.statements:
            if isinstance(function, Function):
                weight = max(words.get(function.name, 0.0), 0.8 if _named_in(names, function.name) else 0.0)
                _add_within(weights, function, NAMED * weight)


def _words(failing: Iterable[Case], sources: Mapping[str, str]) -> dict[str, float]:
    """What the failing tests and their failures say, with the weight of each word."""
    words: dict[str, float] = {}
    for case in failing:
        said = f"{case.failure.assertion} {case.failure.message}" if case.failure else ""
        for word in set(re.findall(r"\w+", f"{said} {sources.get(case.id, '')}")):
            words[word] = max(words.get(word, 0.0), 0.7)
        for word in re.findall(r"\w+", said.split("\n", maxsplit=1)[0]):
            words[word] = 1.0
    return words


def _named_in(names: list[str], function: str) -> bool:
    return len(function) > 3 and any(function.lower().strip("_") in name for name in names)


def _add_within(weights: dict[ast.stmt, float], function: Function, more: float) -> None:
    for stmt in ast.walk(function) if more else ():
        if isinstance(stmt, ast.stmt) and stmt in weights:
            weights[stmt] += more


def _add_headers(weights: dict[ast.stmt, float], modules: Mapping[str, Module]) -> None:
    for module in modules.values():
        for node in module.statements:
            if isinstance(node, Function):
                inner = max((weights.get(stmt, 0.0) for stmt in node.body), default=0.0)
                if inner and node not in weights:
                    weights[node] = HEADER * inner
                elif inner:
                    weights[node] = max(weights[node], HEADER * inner)


def _add_imported(weights: dict[ast.stmt, float], modules: Mapping[str, Module]) -> None:
    """Names bound at import are as suspicious as the code that reads them, a little less."""
    readers = _readers(weights, modules)
    for module in modules.values():
        for stmt in module.statements:
            if module.function(stmt) is None and isinstance(stmt, ast.Assign | ast.AnnAssign | ast.AugAssign):
                weight = AT_IMPORT * max((readers.get(name, 0.0) for name in _bound(stmt)), default=0.0)
                if weight > weights.get(stmt, 0.0):
                    weights[stmt] = weight


def _readers(weights: Mapping[ast.stmt, float], modules: Mapping[str, Module]) -> dict[str, float]:
    """Each name and attribute that the suspects read, with the suspicion of the worst of them."""
    readers: dict[str, float] = defaultdict(float)
    for module in modules.values():
        for stmt, weight in weights.items():
            for name in _read(stmt) if stmt in module.parents else ():
                readers[name] = max(readers[name], weight)
    return readers


def _read(stmt: ast.stmt) -> Iterator[str]:
    for node in ast.walk(stmt):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _bound(stmt: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _add_refusing(weights: dict[ast.stmt, float], modules: Mapping[str, Module], failing: Iterable[Case]) -> None:
    """Definitions that refused a call ("f() takes 1 positional argument but 2 were given"): no line of them ran."""
    names = {match[1] for case in failing if case.failure for match in REFUSED.finditer(case.failure.message)}
    for module in modules.values():
        for function in module.statements:
            if isinstance(function, Function) and function.name in names:
                weights[function] = max(weights.values(), default=1.0)


def _locals(modules: Mapping[str, Module], frames: list[tuple[float, Frame]]) -> dict[ast.AST, dict[str, str]]:
    found: dict[ast.AST, dict[str, str]] = {}
    for _, frame in frames:
        stmt = modules[frame.path].by_line.get(frame.line)
        function = modules[frame.path].function(stmt) if stmt is not None else None
        if function is not None:
            found.setdefault(function, {}).update(frame.locals)
    return found


def _raised(failing: Iterable[Case]) -> frozenset[str]:
    """Names of the exceptions that tests ended with, and of those they waited for in vain."""
    found = set()
    for case in failing:
        if case.failure is not None:
            found.add(case.failure.exception.rsplit(".", 1)[-1])
            found.update(re.findall(r"\b([A-Z]\w*(?:Error|Exception))\b", case.failure.message))
    return frozenset(found - {"AssertionError", ""})


def test_sources(cases: Iterable[Case], read: Mapping[str, Module]) -> dict[str, str]:
    """Text of each failing test's function."""
    found = {}
    for case in cases:
        module = read.get(case.path)
        if module is None:
            continue
        name = case.id.rsplit("::", 1)[-1].split("[")[0]
        for stmt in module.statements:
            if isinstance(stmt, Function) and stmt.name == name:
                body = stmt.body[1:] if has_docstring(stmt) else stmt.body
                found[case.id] = module.text[module.line_start(first_line(body[0])) : module.end(stmt)] if body else ""
    return found
