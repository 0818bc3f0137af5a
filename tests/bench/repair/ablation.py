"""What each family of the search's operators is good for: the faults that it can repair, and those that only it can.

    python -m tests.bench.repair.ablation FILE.py... [--count N] [--seed S]

The faults are N injected ones of each file, and the hand-written ones. A family repairs one when one of its edits at
the faulty statement, or one beside it, gives back the original code; no test is run. So a family that repairs in other
words than the author's is undervalued, as is one for faults that are never injected (a statement too many, a wrong
order): before one is taken out, look at what it is made for.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coderefine.proposers.search import emit
from coderefine.proposers.search.ingredients import ProjectContext
from coderefine.proposers.search.operators import TABLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Module
from tests.bench.repair.cases import load
from tests.bench.repair.mutator import Fault, faults
from tests.bench.repair.ranking import sites

HALVES = ("development", "held_out", "held_out2")
PLAIN = str.maketrans("", "", " \t\n()'\"")
BESIDE = 1
"""Statements before and after the faulty one that are looked at, too."""


def near(module: Module, world: ProjectContext, line: int) -> list[Site]:
    """The places where the repair of a fault at `line` may be."""
    found = sites(module, world, line)
    at = next((place for place, site in enumerate(found) if site.stmt is module.by_line[line]), 0)
    return found[max(0, at - BESIDE) : at + BESIDE + 1]


def injected(text: str, fault: Fault, others: dict[str, Module]) -> frozenset[str]:
    """The families that undo `fault` in `text`."""
    module = Module.of(fault.path, fault.apply(text).encode())
    if module is None or fault.line not in module.by_line:
        return frozenset()
    wanted = _plain(text)
    return frozenset(
        family.name
        for site in near(module, ProjectContext({**others, fault.path: module}), fault.line)
        for family in TABLE
        if any(_plain(emit.apply(module.text, edit)) == wanted for edit in family.edits(site))
    )


def _plain(text: str) -> str:
    """Code without what seldom changes its meaning: white space, quotes and parentheses."""
    return text.translate(PLAIN)


def written() -> Iterator[frozenset[str]]:
    """The families that repair each hand-written fault."""
    for case in (case for half in HALVES for case in load(half)):
        module = Module.of(f"{case.name}.py", case.faulty.encode())
        assert module
        wanted = _plain(case.right)
        world = ProjectContext({module.path: module})
        lines = {stmt.lineno for stmt in module.statements}
        places = {site.stmt: site for line in sorted(lines) for site in sites(module, world, line)}
        yield frozenset(
            family.name
            for family in TABLE
            if any(
                _plain(emit.apply(module.text, edit)) == wanted
                for site in places.values()
                for edit in family.edits(site)
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts = {str(path): path.read_text("utf-8") for path in given.files}
    modules = {name: module for name, text in texts.items() if (module := Module.of(name, text.encode()))}
    found: list[frozenset[str]] = []
    for name, text in texts.items():
        found += [injected(text, fault, modules) for fault in faults(name, text, given.count, given.seed)]
        print(f"{name}: {len(found)} faults", file=sys.stderr, flush=True)
    by_hand = list(written())
    for name, group in (("injected", found), ("written", by_hand)):
        print(f"{name}: {len(group)} faults, {sum(map(bool, group))} that some family repairs")
    print(f"{'family':20}{'injected':>9}{'alone':>7}{'written':>9}{'alone':>7}")
    counts = [Counter(name for names in group for name in names) for group in (found, by_hand)]
    alone = [Counter(name for names in group if len(names) == 1 for name in names) for group in (found, by_hand)]
    for family in sorted(TABLE, key=lambda one: (alone[0][one.name] + alone[1][one.name], counts[0][one.name])):
        columns = (counts[0], alone[0], counts[1], alone[1])
        first, second, third, fourth = (column[family.name] for column in columns)
        print(f"{family.name:20}{first:9}{second:7}{third:9}{fourth:7}")


if __name__ == "__main__":
    main()
