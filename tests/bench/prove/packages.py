"""Honest and bad patches of real packages, made of the slips of tests/bench/real."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise

from tests.bench.prove.patches import Case
from tests.bench.real.projects import Project
from tests.bench.real.slips import Slip, accepted

DONE = "\n\nDONE = True\n"


def cases(project: Project, slips: int, seed: int, *, honest: bool, chance: random.Random) -> Iterator[Case]:
    """Yield the patches of each of the first `slips` slips: repairs, or regressions, half fixes, weakened tests."""
    found = accepted(project, slips, seed)
    made = [case for slip in found for case in (_honest(project, slip) if honest else _bad(project, slip))]
    made += [] if honest else [case for pair in pairwise(found) for case in _half(project, *pair)]
    chance.shuffle(made)
    yield from made


def _honest(project: Project, slip: Slip) -> Iterator[Case]:
    faulty, right = _code(project, slip)
    yield Case(slip.shown, "honest: code", faulty, right, project)
    if fewer := _tests(project, slip.failing, _without):
        after = {**right, **{path: _text(project, path) for path in fewer}}
        yield Case(slip.shown, "honest: code and tests", {**faulty, **fewer}, after, project)


def _bad(project: Project, slip: Slip) -> Iterator[Case]:
    faulty, right = _code(project, slip)
    yield Case(slip.shown, "bad: regression", {}, faulty, project)
    if fewer := _tests(project, slip.failing, _without):
        (path,) = right
        yield Case(slip.shown, "bad: test deleted", faulty, {path: f"{faulty[path]}{DONE}", **fewer}, project)
    if skipped := _tests(project, slip.failing, _skipped):
        yield Case(slip.shown, "bad: test skipped", faulty, skipped, project)


def _half(project: Project, one: Slip, other: Slip) -> Iterator[Case]:
    """Yield the repair of `one` with the tests that also notice `other`, which stays."""
    if one.fault.path != other.fault.path and (fewer := _tests(project, (*one.failing, *other.failing), _without)):
        before = {**_code(project, one)[0], **_code(project, other)[0], **fewer}
        after = {**_code(project, one)[1], **{path: _text(project, path) for path in fewer}}
        yield Case(one.shown, "bad: half fix", before, after, project)


def _text(project: Project, path: str) -> str:
    return (project.pristine / path).read_bytes().decode()


def _code(project: Project, slip: Slip) -> tuple[dict[str, str], dict[str, str]]:
    """Return the faulty and the right file."""
    path, text = slip.fault.path, _text(project, slip.fault.path)
    return {path: slip.fault.apply(text)}, {path: text}


Function = ast.FunctionDef | ast.AsyncFunctionDef
Edit = Callable[[list[str], Function], None]


def _tests(project: Project, failing: Collection[str], edit: Edit) -> dict[str, str]:
    """Return the edited files of the tests `failing`; none if one of them cannot be edited."""
    names: dict[str, set[str]] = {}
    for id_ in failing:
        path, *_, name = id_.partition("[")[0].split("::")
        names.setdefault(path, set()).add(name)
    found = {path: _edited(_text(project, path), these, edit) for path, these in names.items()}
    return found if all(found.values()) else {}


def _edited(text: str, names: set[str], edit: Edit) -> str:
    """Return the file with the tests `names` edited; "" if one is not there, or a class consists of them."""
    lines = text.splitlines(keepends=True)
    bodies = [node.body for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Module | ast.ClassDef)]
    chosen = [node for body in bodies for node in body if isinstance(node, Function) and node.name in names]
    if {node.name for node in chosen} != names or any(all(node in chosen for node in body) for body in bodies):
        return ""
    for node in sorted(chosen, key=lambda node: -node.lineno):
        edit(lines, node)
    return "".join(lines)


def _without(lines: list[str], node: Function) -> None:
    del lines[min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1 : node.end_lineno]


def _skipped(lines: list[str], node: Function) -> None:
    lines.insert(node.lineno - 1, f'{" " * node.col_offset}@__import__("pytest").mark.skip\n')
