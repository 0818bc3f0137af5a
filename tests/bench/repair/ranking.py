# ruff: noqa: E501 (rows of a report, programs in strings)
"""Position of the exact right edit when only the faulty function is known: judges operators and ranking, runs no test.

python -m tests.bench.repair.ranking FILE.py... [--count N] [--seed S] [--limit N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from pathlib import Path

from coderefine.proposers.search import emit
from coderefine.proposers.search.enumeration import Enumeration, compiled
from coderefine.proposers.search.ingredients import FunctionContext, ProjectContext
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Function, Module, Replacement
from tests.bench.repair.mutator import Fault, faults


def sites(module: Module, world: ProjectContext, line: int) -> list[Site]:
    """Every statement of the function around `line`, all equally suspicious."""
    stmt = module.by_line[line]
    function = stmt if isinstance(stmt, Function) else module.function(stmt)
    inner = (
        [node for node in module.statements if node is function or module.function(node) is function]
        if function
        else [stmt]
    )
    local = FunctionContext(module, function, world)
    return [Site(local, node) for node in inner]


def position(text: str, fault: Fault, limit: int, others: dict[str, Module]) -> tuple[int | None, str, int, float]:
    faulty = fault.apply(text)
    module = Module.of(fault.path, faulty.encode())
    assert module
    world = ProjectContext({**others, fault.path: module})
    began = time.perf_counter()
    end = fault.start + len(fault.new)
    stmt = module.by_line.get(fault.line) or module.statements[0]
    top = emit.enclosing(module, stmt)
    undo = Edit((Replacement(fault.start, end, fault.old),))
    wanted = compiled(module, top, undo)
    if wanted == compiled(module, top, None):
        return -1, "", 0, 0.0
    try:
        for rank, proposed in enumerate(Enumeration(sites(module, world, fault.line)), 1):
            if (
                compiled(module, top, proposed.scored.edit) == wanted
                and emit.enclosing(module, proposed.scored.site.stmt) is top
            ):
                return rank, proposed.scored.operator.name, rank, time.perf_counter() - began
            if rank >= limit:
                break
    except Exception:
        print("CRASH", fault)
        raise
    return None, "", rank, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    texts = {str(path): path.read_text() for path in args.files}
    modules = {name: module for name, text in texts.items() if (module := Module.of(name, text.encode()))}
    found: list[tuple[int | None, str, Fault]] = []
    seconds = made = 0.0
    for name, text in texts.items():
        for fault in faults(name, text, args.count, args.seed):
            rank, operator, count, spent = position(text, fault, args.limit, modules)
            if rank == -1:
                continue
            seconds, made = seconds + spent, made + count
            found.append((rank, operator, fault))
            if args.v and (rank is None or rank > 300):
                print(
                    f"{rank!s:>6} {operator:16} {fault.kind:18} {Path(fault.path).name}:{fault.line} {fault.old[:70]!r} -> {fault.new[:50]!r}"
                )
    by_kind: dict[str, list[int]] = defaultdict(list)
    for rank, _, fault in found:
        by_kind[fault.kind].append(rank if rank is not None else 10**6)
    for kind, ranks in sorted(by_kind.items()):
        print(
            f"{kind:20} {len(ranks):4}  reached {sum(r < 10**6 for r in ranks):4}  median {statistics.median(ranks):8.0f}  within 100: {sum(r <= 100 for r in ranks)}"
        )
    ranks = [rank if rank is not None else 10**6 for rank, _, _ in found]
    total = len(ranks)
    print(
        f"{total} faults; within 30: {sum(r <= 30 for r in ranks) / total:.0%}, 100: {sum(r <= 100 for r in ranks) / total:.0%}, 300: {sum(r <= 300 for r in ranks) / total:.0%}, 1000: {sum(r <= 1000 for r in ranks) / total:.0%}, {args.limit}: {sum(r < 10**6 for r in ranks) / total:.0%}; median {statistics.median(ranks)}; {made / max(seconds, 1e-9):.0f} candidates/s made"
    )


if __name__ == "__main__":
    main()
