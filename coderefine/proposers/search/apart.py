"""A failing test taken apart: what the check that failed ran, what it was set up with, and the checks that passed.

Test case purification (Xuan and Monperrus, FSE 2014), done on the lines that one run executed.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coderefine.core import Case
from coderefine.proposers.search.syntax import Module, own_nodes
from coderefine.runner.reached_code import Line, Step, Steps

SET_UP, ELSEWHERE = 0.8, 0.3
"""Worth of a statement that ran only while what the failed check looks at was made; that ran only in other parts."""
CHECKS = ("assert", "raises", "check", "fail", "warns")
"""How calls begin that are checks."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Statements that ran for the check that failed, for what it looks at, and for each check that passed."""

    failed: frozenset[ast.stmt]
    set_up: frozenset[ast.stmt]
    passed: tuple[frozenset[ast.stmt], ...]

    def worth(self, stmt: ast.stmt) -> float:
        """How much the failing test speaks against `stmt`, in 0..1."""
        return 1.0 if stmt in self.failed else SET_UP if stmt in self.set_up else ELSEWHERE


def taken_apart(
    modules: Mapping[str, Module], failing: Sequence[Case], tests: Mapping[str, Module], steps: Steps
) -> dict[str, Apart]:
    """By test id; without the tests whose failing line, or whose own text, is not known."""
    parts = {case.id: _of_case(modules, case, tests[case.path], steps) for case in failing if case.path in tests}
    return {name: part for name, part in parts.items() if part.failed or part.set_up}


def _of_case(modules: Mapping[str, Module], case: Case, module: Module, steps: Steps) -> Apart:
    frames = case.failure.frames if case.failure else ()
    lines = (frame.line for frame in frames if frame.path == case.path)
    ended = {stmt for line in lines if (stmt := module.by_line.get(line)) is not None}
    return _apart(modules, [step for step in steps.get(case.id, ()) if step.path == case.path], module, ended)


def _apart(modules: Mapping[str, Module], steps: Sequence[Step], module: Module, ended: set[ast.stmt]) -> Apart:
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
    return Apart(frozenset(failed), frozenset(set_up), tuple(frozenset(found) for found in passed.values() if found))


def _statements(modules: Mapping[str, Module], lines: Iterable[Line]) -> Iterator[ast.stmt]:
    for path, line in lines:
        if path in modules and (stmt := modules[path].by_line.get(line)) is not None:
            yield stmt


def is_check(stmt: ast.stmt) -> bool:
    """Whether a statement of a test checks something: it passed when a later one failed."""
    if isinstance(stmt, ast.Assert):
        return True
    calls = (node.func for node in own_nodes(stmt) if isinstance(node, ast.Call))
    return any(_last_name(function).startswith(CHECKS) for function in calls)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def makers(stmts: set[ast.stmt], ended: set[ast.stmt]) -> set[ast.stmt]:
    """Those of `stmts` that bind, or call something on, what `ended` reads; and what these read in turn."""
    names = {name for stmt in ended for name, _ in names_in(stmt)}
    found: set[ast.stmt] = set()
    more = True
    while more:
        more = False
        for stmt in stmts - found - ended:
            own = list(names_in(stmt))
            if any(name in names and (stored or isinstance(stmt, ast.Expr)) for name, stored in own):
                found.add(stmt)
                names |= {name for name, _ in own}
                more = True
    return found


def names_in(stmt: ast.stmt) -> Iterator[tuple[str, bool]]:
    """Names of a statement itself, and whether each is bound there."""
    for node in own_nodes(stmt):
        if isinstance(node, ast.Name):
            yield node.id, isinstance(node.ctx, ast.Store)
