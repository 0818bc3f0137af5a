# ruff: noqa: E501 (rows of a report)
"""Localisation of faults injected into real packages, beside plain Ochiai on the same coverage.

    python -m tests.bench.repair.localising [--faults N] [--seed S] [--only PACKAGE,…] [--slice SECONDS] [--misses]
    python -m tests.bench.repair.localising --report [--seed S] [--only PACKAGE,…] [--misses]

What the tests show of each fault is gathered once (observing.py) and kept, so a run may be cut in slices; `--report`
ranks what is there again. A rank is the middle of its ties (a fault among 9 equal first ones has rank 5), which is the
mean over all orders of them. Plain Ochiai ranks the executed statements; definitions count as executed by the tests
that enter them. The cost is what the pool took to learn who executes what, over one plain run of the suite.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import math
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderefine.proposers.search.localise import Suspects, suspects, test_sources
from coderefine.proposers.search.spectrum import Spectrum
from coderefine.proposers.search.syntax import Function, Module
from tests.bench.repair.injected import PACKAGES, Package, drawn, outcome, prepare
from tests.bench.repair.mutator import Fault
from tests.bench.repair.observing import KEPT, Observed, known, observed


@dataclass(frozen=True)
class Ranks:
    """Of the faulty statement and of its function; 1 is the first, infinite where it has no weight."""

    stmt: float
    function: float


@dataclass(frozen=True)
class Found:
    observed: Observed
    ours: Ranks
    plain: Ranks
    statements: int


def rank(weights: Mapping[Any, float], wanted: Collection[ast.AST]) -> float:
    """The middle place of the best of `wanted` among its equals; infinite when it has no weight."""
    best = max((weights.get(node, 0.0) for node in wanted), default=0.0)
    if best <= 0:
        return float("inf")
    above = sum(weight > best + 1e-9 for weight in weights.values())
    equal = sum(abs(weight - best) <= 1e-9 for weight in weights.values())
    return above + (equal + 1) / 2


def by_function(weights: Mapping[ast.stmt, float], modules: Mapping[str, Module]) -> dict[ast.AST, float]:
    """Each function's most suspicious statement."""
    found: dict[ast.AST, float] = {}
    for module in modules.values():
        for stmt in module.statements:
            top = stmt if isinstance(stmt, Function) else module.function(stmt)
            if top is not None and stmt in weights:
                found[top] = max(found.get(top, 0.0), weights[stmt])
    return found


def wanted(module: Module, fault: Fault) -> set[ast.AST]:
    """The faulty statement; where a statement was dropped, its neighbours."""
    here = module.by_line.get(fault.line)
    lines = (fault.line,) if fault.new.strip() or here is None else (fault.line - 1, fault.line)
    return {stmt for line in lines if (stmt := module.by_line.get(line)) is not None}


def read(files: Mapping[str, bytes]) -> dict[str, Module]:
    found = {path: Module.of(path, data) for path, data in files.items()}
    return {path: module for path, module in found.items() if module}


def located(seen: Observed) -> tuple[Suspects, dict[str, Module]]:
    modules, tests = read(seen.files), read(seen.tests)
    sources = test_sources(seen.failing, tests)
    return suspects(modules, seen.coverage, seen.failing, sources, tests=tests, steps=seen.steps), modules


def ochiai(spectrum: Spectrum, stmt: ast.stmt) -> float:
    """The Ochiai suspiciousness ef / sqrt(nf * (ef + ep)); Abreu et al. 2007."""
    hit = len(spectrum.failing.get(stmt, ()))
    return hit / math.sqrt(spectrum.total * (hit + spectrum.passing.get(stmt, 0))) if hit else 0.0


def ranked(seen: Observed) -> Found:
    found, modules = located(seen)
    module = modules.get(seen.fault.path)
    stmts = wanted(module, seen.fault) if module else set()
    tops = {stmt if isinstance(stmt, Function) else module.function(stmt) for stmt in stmts if module}
    functions: set[ast.AST] = {top for top in tops if top is not None}
    plain = {stmt: ochiai(found.spectrum, stmt) for stmt in found.spectrum.failing}
    return Found(
        seen, _ranks(found.weights, modules, stmts, functions), _ranks(plain, modules, stmts, functions), len(plain)
    )


def _ranks(
    weights: Mapping[ast.stmt, float], modules: Mapping[str, Module], stmts: set[ast.AST], functions: set[ast.AST]
) -> Ranks:
    return Ranks(rank(weights, stmts), rank(by_function(weights, modules), functions))


HEAD = (
    f"{'':22}{'faults':>7} | {'statement top-1':>17} {'top-5':>11} {'top-10':>11} {'MRR':>11} | {'function top-1':>15}"
)


def row(name: str, found: list[Found]) -> str:
    """Ours, then Ochiai's; shares in percent."""

    def both(value: Callable[[Ranks], float], *, form: str = ".0f") -> str:
        ours, plain = (
            sum(map(value, ranks)) / len(found) for ranks in zip(*((one.ours, one.plain) for one in found), strict=True)
        )
        return f"{ours:{form}} / {plain:{form}}"

    def share(most: int) -> str:
        return both(lambda ranks: 100.0 * (ranks.stmt <= most))

    return (
        f"{name:22}{len(found):7} | {share(1):>17} {share(5):>11} {share(10):>11} "
        f"{both(lambda ranks: 1 / ranks.stmt, form='.2f'):>11} | {both(lambda ranks: 100.0 * (ranks.function <= 1)):>15}"
    )


def report(found: list[Found]) -> str:
    lines = ["ours / Ochiai, percent of the faults; MRR: mean reciprocal rank", HEAD]
    names = sorted({one.observed.package for one in found})
    lines += [row(name, [one for one in found if one.observed.package == name]) for name in names]
    lines.append(row("all", found))
    costs = sorted(one.observed.seconds.cost for one in found if one.observed.seconds)
    if costs:
        middle, high = statistics.median(costs), costs[int(0.9 * len(costs))]
        lines.append(
            f"cost of the coverage over one plain run, {len(costs)} faults: median {middle:.2f}, p90 {high:.2f}"
        )
    return "\n".join(lines)


def shown(one: Found) -> str:
    fault = one.observed.fault
    return (
        f"{one.ours.stmt:6.1f} (Ochiai {one.plain.stmt:6.1f}) of {one.statements:4}, function {one.ours.function:4.1f} ({one.plain.function:4.1f})  "
        f"{fault.kind:18} {fault.path}:{fault.line} {fault.function}: {fault.old[:50]!r} -> {fault.new[:40]!r}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=16, help="per package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slice", type=float, default=1e9, help="begin no fault after so many seconds")
    parser.add_argument("--only", default="")
    parser.add_argument("--report", action="store_true", help="gather nothing")
    parser.add_argument("--misses", action="store_true", help="show the faults that are not among the first five")
    args = parser.parse_args()
    chosen = [package for package in PACKAGES if any(word in package.name for word in args.only.split(","))]
    seen = kept(chosen, args.seed) if args.report else gathered(chosen, args)
    found = [ranked(one) for one in seen]
    for one in found:
        if args.misses and one.ours.stmt > 5:
            print(shown(one))
    print(report(found))


def kept(packages: Iterable[Package], seed: int) -> list[Observed]:
    names = {package.name for package in packages}
    paths = sorted((KEPT / str(seed)).glob("*.pickle.gz"))
    found = [pickle.loads(gzip.decompress(path.read_bytes())) for path in paths]
    return [one for one in found if one is not None and one.package in names]


def gathered(packages: Iterable[Package], args: argparse.Namespace) -> list[Observed]:
    until, found = time.monotonic() + args.slice, []
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            top = prepare(package, Path(folder))
            if outcome(top, 200.0)[0] == 0:
                found += noticed(top, package, args, until)
    return found


def noticed(top: Path, package: Package, args: argparse.Namespace, until: float) -> list[Observed]:
    found: list[Observed] = []
    for fault in drawn(top, package, args):
        if len(found) == args.faults:
            break
        if time.monotonic() > until and not known(package, fault, args.seed):
            continue
        one = observed(top, package, fault, args.seed)
        found += [one] if one else []
    return found


if __name__ == "__main__":
    main()
