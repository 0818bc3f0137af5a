"""Localisation of faults injected into real packages, beside plain Ochiai on the same coverage.

    python -m tests.bench.repair.localising [--faults N] [--seed S] [--only PACKAGE] [--slice SECONDS]

Ranks are the middle of their ties (a fault among 9 equal first ones has rank 5). Prints shares, and what the coverage
cost: the search's own (baseline of the servers and trace) over one plain run of the suite by the same runner.
"""

from __future__ import annotations

import argparse
import ast
import os
import statistics
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderefine.config import Config, load
from coderefine.core import Ask, Check, View
from coderefine.critics.pytest import Pytest
from coderefine.project import interpreter, locate
from coderefine.proposers.search.localise import Suspects, suspects, test_sources
from coderefine.proposers.search.syntax import Function, Module
from coderefine.runner.pool import open_pool
from coderefine.workspace import open_views
from tests.bench.repair.injected import PACKAGES, drawn, outcome, prepare
from tests.bench.repair.mutator import Fault


@dataclass(frozen=True)
class Found:
    """Ranks (1 the first) of the faulty statement and function by us and by Ochiai; cost over a plain run."""

    stmt: float
    function: float
    plain_stmt: float
    plain_function: float
    cost: float


def rank(weights: Mapping[Any, float], wanted: Collection[ast.AST]) -> float:
    """The middle place of the best of `wanted` among its equals; infinite when it has no weight."""
    best = max((weights.get(node, 0.0) for node in wanted), default=0.0)
    if best <= 0:
        return float("inf")
    above = sum(weight > best for weight in weights.values())
    equal = sum(weight == best for weight in weights.values())
    return above + (equal + 1) / 2


def by_function(weights: Mapping[ast.stmt, float], modules: Mapping[str, Module]) -> dict[ast.AST, float]:
    """Each function's most suspicious statement."""
    found: dict[ast.AST, float] = {}
    for stmt, weight in weights.items():
        for module in modules.values():
            if stmt in module.parents:
                top = stmt if isinstance(stmt, Function) else module.function(stmt)
                if top is not None:
                    found[top] = max(found.get(top, 0.0), weight)
    return found


def wanted(module: Module, fault: Fault) -> set[ast.AST]:
    """The faulty statement; where a statement was dropped, its neighbours."""
    here = module.by_line.get(fault.line)
    lines = (fault.line,) if fault.new.strip() or here is None else (fault.line - 1, fault.line)
    return {stmt for line in lines if (stmt := module.by_line.get(line)) is not None}


def located(top: Path, fault: Fault, config: Config) -> Found | None:
    """None when no test notices the fault."""
    place = locate([top], top)
    python = interpreter(place, config, dict(os.environ))
    critic = Pytest(place, python, config, lambda _: None)
    with open_views(place) as views:
        with views.open() as view:
            check = critic.check(view, Ask(seed=0, timeout=60))
            modules = read(view, fault)
            tests = {case.path: _module(view, case.path) for case in check.cases.values() if case.status.bad}
        failing = [case for case in check.cases.values() if case.status.bad and "::" in case.id]
        if not failing:
            return None
        statuses = {name: case.status for name, case in check.cases.items()}
        with open_pool(views, place, python, config, expected=statuses, usual=check.seconds) as pool:
            began = time.monotonic()
            pool.baseline()
            coverage = pool.trace([case.id for case in failing if case.id in pool.tests])
            spent = time.monotonic() - began
    sources = test_sources(failing, {path: module for path, module in tests.items() if module})
    return ranked(suspects(modules, coverage, failing, sources), modules, fault, spent / ran(check))


def ran(check: Check) -> float:
    return max(check.seconds, 1e-3)


def ranked(found: Suspects, modules: Mapping[str, Module], fault: Fault, cost: float) -> Found:
    module = modules[fault.path]
    stmts = wanted(module, fault)
    functions = {top for stmt in stmts if (top := stmt if isinstance(stmt, Function) else module.function(stmt))}
    plain = {stmt: found.spectrum.ochiai(stmt) for stmt in found.spectrum.failing}
    return Found(
        rank(found.weights, stmts),
        rank(by_function(found.weights, modules), functions),
        rank(plain, stmts),
        rank(by_function(plain, modules), functions),
        cost,
    )


def read(view: View, fault: Fault) -> dict[str, Module]:
    """All modules beside the faulty one: what a search would look at."""
    folder = (view.door / fault.path).parent
    paths = (path.relative_to(view.door).as_posix() for path in sorted(folder.glob("*.py")))
    found = {path: _module(view, path) for path in paths if "test" not in Path(path).name}
    return {path: module for path, module in found.items() if module}


def _module(view: View, path: str) -> Module | None:
    data = view.read(path)
    return Module.of(path, data) if data is not None else None


def report(found: list[Found]) -> str:
    total = len(found)

    def share(ranks: list[float], most: int) -> str:
        return f"{sum(value <= most for value in ranks) / total:.0%}"

    ours, plain = [one.stmt for one in found], [one.plain_stmt for one in found]
    tops, plain_tops = [one.function for one in found], [one.plain_function for one in found]
    return (
        f"{total} faults: statement top-1 {share(ours, 1)} (Ochiai {share(plain, 1)}), top-5 {share(ours, 5)} "
        f"(Ochiai {share(plain, 5)}); function top-1 {share(tops, 1)} (Ochiai {share(plain_tops, 1)}); "
        f"cost x {statistics.median(one.cost for one in found):.2f} of a plain run (median)"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=16, help="per package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slice", type=float, default=1e9, help="begin no fault after so many seconds")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    until, found = time.monotonic() + args.slice, []
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            if args.only and not any(word in package.name for word in args.only.split(",")):
                continue
            top = prepare(package, Path(folder))
            if outcome(top)[0] == 0:
                mine = list(noticed(top, drawn(top, package, args), args.faults, until))
                found += mine
                if mine:
                    print(f"{package.name:20} {report(mine)}", flush=True)
    print(report(found))


def noticed(top: Path, faults: list[Fault], most: int, until: float) -> list[Found]:
    found: list[Found] = []
    config = load(top, {}, {})
    for fault in faults:
        if len(found) == most or time.monotonic() > until:
            break
        path = top / fault.path
        original = path.read_text("utf-8")
        path.write_text(fault.apply(original), "utf-8")
        try:
            one = located(top, fault, config)
        finally:
            path.write_text(original, "utf-8")
        found += [one] if one else []
    return found


if __name__ == "__main__":
    main()
