"""Which expression was running when a test ended with an exception: the place within the statement."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping

from coderefine.core import Case
from coderefine.proposers.search.syntax import Module

Span = tuple[int, int]
"""Character offsets in the file, end excluded."""


def running(modules: Mapping[str, Module], failing: Iterable[Case]) -> dict[ast.stmt, frozenset[Span]]:
    """Statements of the innermost frames in the program, and the expressions that were running there.

    Needs what Python 3.11 and later know of instructions (PEP 657); empty before.
    """
    found: dict[ast.stmt, set[Span]] = defaultdict(set)
    for case in failing:
        frames = [frame for frame in (case.failure.frames if case.failure else ()) if frame.path in modules]
        if not frames or len(frames[-1].span) != 4:
            continue
        module, (line, column, last, end) = modules[frames[-1].path], frames[-1].span
        stmt = module.by_line.get(frames[-1].line)
        if stmt is not None:
            found[stmt].add((module.offset(line, column), module.offset(last, end)))
    return {stmt: frozenset(spans) for stmt, spans in found.items()}
