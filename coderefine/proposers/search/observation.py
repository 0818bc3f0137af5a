"""The data from a run of the failing tests, and the suspicious statements, which depend on these data only."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from pathlib import PurePosixPath
from types import MappingProxyType

from coderefine.core import Case, Coverage, Steps, without_parameters
from coderefine.proposers.search.hints import Hints
from coderefine.proposers.search.ingredients import FunctionContext, ProjectContext
from coderefine.proposers.search.localise import Suspects, inside_functions, running, suspects, test_sources
from coderefine.proposers.search.past import PastChange
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.spectrum import Spectrum
from coderefine.proposers.search.syntax import Function, Module

MOST_SITES = 400
"""Maximum number of statements to edit: the most suspicious ones."""
SMALL, SEPARATE, SELDOM, MOST_GROUPS = 40, 0.9, 0.4, 8
"""SEPARATE: factor of the suspicion that follows from a single group of failing tests, if at most SMALL passing tests
were traced. SELDOM: the same factor in larger suites, where all failing tests mostly fail for one reason. MOST_GROUPS:
maximum number of groups."""


@dataclass(frozen=True, slots=True)
class Observation:
    """All that the ranking of statements depends on; it can be stored, to repeat the ranking without running a test.

    `coverage`: executed lines by test. `imported`: for the tests with too little data in `coverage`, the lines executed
    while test modules are imported. `steps`: for each line of a failing test, the program's lines that it executed.
    `files`: the program's files that may be changed. `entered`: paths of those files that tests execute, or that are in
    tracebacks. `tests`: the files of the failing tests. `asserting`: by path, functions that assert for tests; these
    are not edited.
    """

    failing: Sequence[Case]
    coverage: Coverage
    files: Mapping[str, bytes]
    entered: frozenset[str]
    tests: Mapping[str, bytes]
    imported: Coverage = field(default_factory=dict)
    steps: Steps = field(default_factory=dict)
    asserting: Mapping[str, frozenset[str]] = field(default_factory=dict)


def ranked(
    observation: Observation, changes: Mapping[str, Sequence[PastChange]] = MappingProxyType({})
) -> tuple[list[Site], Spectrum]:
    """Return the statements to edit, most suspicious first, and the spectrum of all failing tests.

    `changes`: recent changes of the files, by path; they are read only when edits are generated.
    """
    modules, tests = parsed(observation.files), parsed(observation.tests)
    entered = {path: module for path, module in modules.items() if path in observation.entered}
    constants = _imported(entered.values(), {path: one for path, one in modules.items() if path not in entered})
    failing, sources = observation.failing, test_sources(observation.failing, tests)
    coverage = {**observation.coverage, **inside_functions(entered, observation.imported, failing)}

    def suspected(cases: Sequence[Case]) -> Suspects:
        """Return the suspects as if `cases` were the only failing tests."""
        others = {case.id for case in failing} - {case.id for case in cases}
        own = {name: lines for name, lines in coverage.items() if name not in others}
        texts = {case.id: sources[case.id] for case in cases if case.id in sources}
        return suspects(entered, own, cases, texts, tests=tests, steps=observation.steps, constants=constants)

    found = suspected(failing)
    groups = separate(failing, found.spectrum)
    views = [(found, Hints.of(failing, sources)), *((suspected(one), Hints.of(one, sources)) for one in groups)]
    likely = _likeliest(views, SEPARATE if found.spectrum.traced <= SMALL else SELDOM)
    places = _places({**entered, **constants})
    best = dict(sorted(likely.items(), key=lambda item: (-item[1][0], places[item[0]]))[:MOST_SITES])
    world, spans = ProjectContext({**entered, **modules}, changes=changes), running(entered, failing)
    seen = {node: values for here, _ in views for node, values in here.seen.items()}
    contexts = _contexts({**entered, **constants}, list(best), world, seen)
    sites = (
        Site(contexts[stmt], stmt, suspicion, here.raised, hints, spans.get(stmt, frozenset()))
        for stmt, (suspicion, here, hints) in best.items()
    )
    return list(filterfalse(lambda site: _asserts(site, observation), sites)), found.spectrum


def _places(modules: Mapping[str, Module]) -> dict[ast.stmt, tuple[str, int, int]]:
    """Return path, line and column of each statement, by which equally suspicious ones are ordered in every process."""
    return {
        stmt: (path, stmt.lineno, stmt.col_offset) for path, module in modules.items() for stmt in module.statements
    }


def _asserts(site: Site, observation: Observation) -> bool:
    path, function = function_of(site)
    return function in observation.asserting.get(path, ())


Likely = tuple[float, Suspects, Hints]
"""Suspicion of a statement, with the suspects and hints of the failing tests from which it follows."""


def _likeliest(views: Sequence[tuple[Suspects, Hints]], share: float) -> dict[ast.stmt, Likely]:
    """Return the highest suspicion of each statement.

    `views`: suspects and hints, first of all failing tests, then of each group; `share`: factor of the suspicion in
    groups.
    """
    likely: dict[ast.stmt, Likely] = {}
    for at, (here, hints) in enumerate(views):
        for stmt, weight in here.weights.items():
            suspicion = (share if at else 1.0) * weight
            if stmt not in likely or suspicion > likely[stmt][0]:
                likely[stmt] = suspicion, here, hints
    return likely


def separate(failing: Sequence[Case], spectrum: Spectrum) -> list[list[Case]]:
    """Group failing tests that may fail for the same reason; [] if there is one group, or more than MOST_GROUPS.

    A group has the tests of one test function, or the tests that crashed in the same statement.
    """
    groups: dict[object, list[Case]] = {}
    for case in failing:
        groups.setdefault(spectrum.raised.get(case.id) or without_parameters(case.id), []).append(case)
    return list(groups.values()) if 1 < len(groups) <= MOST_GROUPS else []


def _imported(modules: Iterable[Module], others: Mapping[str, Module]) -> dict[str, Module]:
    """Return those of `others` that one of `modules` imports, judging by the last part of the imported name."""
    names: set[str] = set()
    for module in modules:
        for stmt in module.statements:
            if isinstance(stmt, ast.Import | ast.ImportFrom):
                names.update(alias.name.rpartition(".")[2] for alias in stmt.names)
            if isinstance(stmt, ast.ImportFrom) and stmt.module:
                names.add(stmt.module.rpartition(".")[2])
    return {path: one for path, one in others.items() if PurePosixPath(path).stem in names}


def _contexts(
    modules: Mapping[str, Module],
    stmts: Sequence[ast.stmt],
    world: ProjectContext,
    seen: Mapping[ast.AST, Mapping[str, str]],
) -> dict[ast.stmt, FunctionContext]:
    """Return the context of each statement; the statements of a function share one context and its cached values."""
    shared: dict[tuple[str, Function | None], FunctionContext] = {}
    found = {}
    for stmt in stmts:
        module = next(module for module in modules.values() if stmt in module.parents)
        function = stmt if isinstance(stmt, Function) else module.function(stmt)
        key = (module.path, function)
        if key not in shared:
            shared[key] = FunctionContext(module, function, world, seen.get(function, {}) if function else {})
        found[stmt] = shared[key]
    return found


def run_through(coverage: Coverage, failing: Iterable[Case]) -> set[str]:
    """Return the paths of the files with lines in `coverage`, and of those in the tracebacks of `failing`."""
    paths = {path for by_path in coverage.values() for path in by_path}
    return paths | {frame.path for case in failing if case.failure for frame in case.failure.frames}


def parsed(files: Mapping[str, bytes]) -> dict[str, Module]:
    """Return the parsed files by path, in the order of their paths; files that are not valid Python are left out."""
    found = ((path, Module.of(path, data)) for path, data in sorted(files.items()) if path.endswith(".py"))
    return {path: module for path, module in found if module is not None}


def function_of(site: Site) -> tuple[str, str]:
    """Return path and qualified name of the function that the site is in; at the top level, the name is ""."""
    function = site.local.function
    return site.module.path, site.module.qualified_name(function) if function else ""
