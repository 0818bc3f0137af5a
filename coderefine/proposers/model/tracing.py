"""Trace the lines that failing tests execute, to select the code that a model is shown."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate, takewhile, zip_longest

from coderefine.config import Config
from coderefine.core import (
    Ask,
    Case,
    Check,
    Coverage,
    Freedom,
    Patch,
    Status,
    Views,
    function_name,
    repairable,
    without_parameters,
)
from coderefine.errors import CriticError, RunnerError
from coderefine.llm.selection import Trace
from coderefine.project import Interpreter, Place
from coderefine.proposers.search.failures import various
from coderefine.proposers.search.observation import Observation, parsed, ranked, run_through
from coderefine.proposers.search.syntax import Function, Module
from coderefine.runner.cold import RunOptions, is_deadly, run_tests
from coderefine.source import first_line

Tracer = Callable[[Patch, Sequence[Case], Sequence[str]], Check]
"""Returns the results of tests on the patched tree, with the lines that the tests executed.

Arguments: the patch, the failing tests, the passing tests. The first WARM passing tests run before the failing ones."""
Observed = Callable[[Patch], Observation | None]
"""Returns what the search has observed on the patched tree, in more tests than a tracer runs; None if it did not."""
FAILING = 12
"""Maximum number of failing tests that are traced, in the order of `various`."""
PASSING, MORE = 20, 40
"""Maximum number of near tests (passing tests in the files of failing tests) to trace; MORE applies to quick tests.

The tests with names most similar to those of the failing tests come first.
With 150 near tests and 20 tests of other files, the function at fault in real projects was found no more often. Before
Python 3.12, a traced test costs at least about 20 ms.
"""
SHARE, QUICK = 0.05, 0.5
"""Time limit for the near tests, and also for the tests of other files: the share SHARE of the seconds of all tests,
but at least QUICK seconds. PASSING near tests are traced in any case."""
LEAST, SLOW = 10, 0.1
"""A passing test that takes more than SLOW seconds is traced only if fewer than LEAST tests are faster. Tracing may
make computations a hundred times slower, also in the programs that tests start."""
FAR = 10
"""Maximum number of passing tests of other files that are traced: what nearly every test runs is not suspicious."""
WARM = 2
"""Number of passing tests that run before the failing ones: otherwise code that runs only once would be suspicious."""
SECONDS, RUNS = 30.0, 2
"""Seconds (wall-clock time) that a trace may take; if RUNS runs of all tests take longer, it may take as long."""
NEAR = 5
FREEDOM = Freedom()
"""Permissions of tests that are traced with a patch (see Ask): tight, because the patch may not be judged yet."""


def trace_seconds(check: Check | None) -> float:
    """Return how many seconds (wall-clock time) a trace may take. `check`: the run of all tests, if known."""
    return max(SECONDS, RUNS * check.seconds) if check else SECONDS


def cold_tracer(
    views: Views,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    *,
    seconds: float,
    is_test: Callable[[str], bool],
) -> Tracer:
    """Return a tracer that runs the tests once more in a fresh process, for at most `seconds`.

    `is_test`: predicate of a path. The files of other failing tests are the program's, with examples in docstrings.
    """

    def trace(patch: Patch, failing: Sequence[Case], passing: Sequence[str]) -> Check:
        first = (*passing[:WARM], *(case.id for case in failing))
        stepped = tuple((case.id, case.path) for case in failing if is_test(case.path))
        freedom = FREEDOM if patch.files else None
        ask = Ask(
            tests=(*first, *passing[WARM:]),
            first=first,
            coverage=True,
            follow=True,
            stepped=stepped,
            rich=False,
            seed=0,
            timeout=seconds,
            freedom=freedom,
        )
        try:
            with views.open(patch) as view:
                return run_tests(view, place, interpreter, config, ask, options=RunOptions(seconds / 3))
        except (CriticError, RunnerError):
            return Check("pytest")

    return trace


def traced(
    tracer: Tracer,
    patch: Patch,
    cases: Mapping[str, Case],
    read: Callable[[str], bytes | None],
    usable: Callable[[str], bool],
    *,
    seen: Observation | None = None,
) -> Trace | None:
    """Return the trace of the failing tests among `cases`; None if no test is traced, or if no line is suspicious.

    `read` returns the content of a file of the patched tree. `usable` returns whether a path is code that may be
    edited. `seen`: what the search has observed on this tree; no test is run then.
    """
    seen = seen or _observation(tracer, patch, cases, read, usable)
    if seen is None:
        return None
    weights: dict[str, dict[int, float]] = {}
    for site in ranked(seen)[0]:
        if usable(site.module.path):
            weights.setdefault(site.module.path, {}).setdefault(site.stmt.lineno, site.suspicion)
    if not weights:
        return None
    coverage = _in_functions(seen.coverage, parsed({path: seen.files[path] for path in seen.entered}))
    return Trace(_ran(coverage, seen.failing), weights, _near(coverage, seen.failing, weights))


def _observation(
    tracer: Tracer,
    patch: Patch,
    cases: Mapping[str, Case],
    read: Callable[[str], bytes | None],
    usable: Callable[[str], bool],
) -> Observation | None:
    """Return what the tests show that `tracer` runs; None if there is no failing test to trace."""
    failing = _failing(cases)
    if not failing:
        return None
    check = tracer(patch, failing, _passing(failing, cases))
    executed = run_through(check.coverage or {}, failing)
    files = {path: data for path, data in _files(executed, read).items() if usable(path)}
    tests = _files({case.path for case in failing}, read)
    coverage = _in_functions(check.coverage or {}, parsed(files))
    return Observation(failing, coverage, files, frozenset(files), tests, steps=check.steps)


def _failing(cases: Mapping[str, Case]) -> list[Case]:
    """Return the failing tests to trace, at most FAILING: those that a patch may repair and that end by themselves."""
    bad = repairable(case for case in cases.values() if case.status.bad and "::" in case.id)
    return [case for case in various(bad) if not is_deadly(case)][:FAILING]


def _in_functions(coverage: Coverage, modules: Mapping[str, Module]) -> Coverage:
    """Keep only lines in functions: other lines run when the first test imports the module, whatever this test does."""
    inside: dict[str, set[int]] = {path: set() for path in modules}
    for path, module in modules.items():
        for one in module.statements:
            if isinstance(one, Function):
                inside[path].update(range(first_line(one.body[0]), (one.end_lineno or 0) + 1))
    return {
        test: {path: lines & inside[path] for path, lines in by_path.items() if path in inside}
        for test, by_path in coverage.items()
    }


def _ran(coverage: Coverage, failing: Sequence[Case]) -> dict[str, frozenset[int]]:
    """Return by file the lines that at least one of the failing tests executed."""
    ran: dict[str, frozenset[int]] = {}
    for case in failing:
        for path, lines in coverage.get(case.id, {}).items():
            ran[path] = ran.get(path, frozenset()) | lines
    return ran


def _passing(failing: Sequence[Case], cases: Mapping[str, Case]) -> list[str]:
    """Return the passing tests to trace: a near test, a far test, the other near tests, the other far tests.

    Near tests are in the files of failing tests, far tests are in other files.
    """
    seconds = max(SHARE * sum(case.seconds for case in cases.values()), QUICK)
    files = {case.path for case in failing}
    passing = [case for case in _apart(cases.values()) if case.status is Status.PASSED and "::" in case.id]
    near = _near_ones(failing, _fast([case for case in passing if case.path in files]), seconds)
    far = _fast(_far_ones(passing, files))
    far = far[: min(FAR, _number_within(far, seconds))]
    return [case.id for case in (*near[:1], *far[:1], *near[1:], *far[1:])]


def _near_ones(failing: Sequence[Case], passing: Sequence[Case], seconds: float) -> list[Case]:
    """Return the `passing` tests whose names are most similar to those of `failing`, the most similar first.

    One case of each parametrized test function comes first; its further cases come after the first cases of all
    functions. Return as many tests as take `seconds` together, but at least PASSING (if there are so many), and at most
    MORE.
    """
    words = [_words(case.id) for case in failing]
    ordered = _apart(sorted(passing, key=lambda case: -max(len(_words(case.id) & word) for word in words)))
    return ordered[: min(max(_number_within(ordered, seconds), PASSING), MORE)]


def _fast(cases: Sequence[Case]) -> list[Case]:
    """Return `cases` without the slow ones, in their order."""
    fastest = sorted(case.seconds for case in cases)[:LEAST]
    return [case for case in cases if case.seconds <= max(SLOW, *fastest[-1:])]


def _number_within(cases: Iterable[Case], seconds: float) -> int:
    """Return how many of `cases`, from the first on, take at most `seconds` together."""
    return len(list(takewhile(seconds.__ge__, accumulate(case.seconds for case in cases))))


def _far_ones(passing: Iterable[Case], files: Collection[str]) -> list[Case]:
    """Return the `passing` tests of other files than `files`, one of each file in turn.

    Within a file, the order is that of a hash, because the first tests are often trivial.
    """
    by_file: dict[str, list[Case]] = {}
    for case in sorted(passing, key=lambda case: hashlib.sha256(case.id.encode()).digest()):
        if case.path not in files:
            by_file.setdefault(case.path, []).append(case)
    return [case for turn in zip_longest(*by_file.values()) for case in turn if case is not None]


def _words(test: str) -> frozenset[str]:
    return frozenset(function_name(test).lower().split("_"))


def _apart(cases: Iterable[Case]) -> list[Case]:
    """Return the cases in another order: first one case of each test function, then the other cases."""
    listed = list(cases)
    first: dict[str, Case] = {}
    for case in listed:
        first.setdefault(without_parameters(case.id), case)
    return sorted(listed, key=lambda case: case is not first[without_parameters(case.id)])


def _files(paths: Iterable[str], read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    found = ((path, read(path)) for path in sorted(paths) if path.endswith(".py"))
    return {path: data for path, data in found if data is not None}


def _near(coverage: Coverage, failing: Sequence[Case], weights: Mapping[str, Mapping[int, float]]) -> tuple[str, ...]:
    """Return at most NEAR passing tests that execute suspicious code, those with the greatest total weight first."""
    bad = {case.id for case in failing}
    worth = {
        test: sum(
            weight
            for path, by_line in weights.items()
            for line, weight in by_line.items()
            if line in lines.get(path, ())
        )
        for test, lines in coverage.items()
        if test and test not in bad
    }
    ranked = sorted((test for test in worth if worth[test]), key=lambda test: (-worth[test], test))
    return tuple(ranked[:NEAR])
