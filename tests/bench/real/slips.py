"""Slips: one token of a package's source exchanged so that 1 to 40 of its tests fail, and the rest can be collected.

They are drawn in a fixed order (seed), tried on the suite once each, and kept in a JSONL file below the temporary
folder, rejected ones included, so that all commits that are compared meet the same ones.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from pathlib import Path

from tests.bench.real.projects import Baseline, Project, executed, locked, prepare, restore, suite
from tests.bench.real.suites import Suite
from tests.bench.repair.mutator import Fault, Maker

MOST = 40
FAMILIES = {
    "comparison": "operators",
    "arithmetic": "operators",
    "boolean": "operators",
    "variable": "names",
    "attribute": "names",
    "number": "numbers",
    "arguments-swapped": "order",
    "operands-swapped": "order",
    "unary-dropped": "negation",
    "condition-negated": "negation",
}
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


class SlipMaker(Maker):
    """The mutator's faults that exchange one token, with swapped operands besides."""

    def expression(self, node: ast.expr) -> Iterator[tuple[str, int, int, str]]:
        yield from super().expression(node)
        start, end = self.span(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ORDERED):
            left, right = self.span(node.left), self.span(node.right)
            between = self.text[left[1] : right[0]]
            if between.strip(" \n").strip("-/%*") == "" and not isinstance(node.left, ast.Constant):
                yield "operands-swapped", start, end, self.src(node.right) + between + self.src(node.left)

    def slips(self) -> Iterator[Fault]:
        """All of them; some may not parse (`valid`, which is slow, tells)."""
        for fault in self.all():
            if fault.kind in FAMILIES and not self._unlikely(fault):
                yield fault

    def _unlikely(self, fault: Fault) -> bool:
        """Tell what is seldom written: another name for `self`, a second `not`, a sign dropped."""
        denied = fault.old.startswith("not ")
        return (
            (fault.kind == "variable" and fault.old in {"self", "cls"})
            or (fault.kind == "condition-negated" and denied)
            or (fault.kind == "unary-dropped" and not denied)
        )


@dataclass(frozen=True)
class Slip:
    """A fault of a project's package. `failing`: how many tests notice it; `state`: accepted, or why it was not."""

    project: str
    version: str
    seed: int
    family: str
    fault: Fault
    state: str
    failing: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        fault = self.fault
        text = f"{self.project} {self.version} {fault.path} {fault.start} {fault.old} {fault.new}"
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    @property
    def shown(self) -> str:
        fault = self.fault
        change = f"{' '.join(fault.old.split())[:60]} -> {' '.join(fault.new.split())[:60]}"
        return f"{self.id} {self.project} {self.family}: {fault.path}:{fault.line} {fault.function}: {change}"


def tried(project: Project, seed: int) -> list[Slip]:
    """All slips of the project that were tried with this seed, in their order."""
    path = _kept(project, seed)
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Slip(**{**row, "fault": Fault(**row["fault"]), "failing": tuple(row["failing"])}) for row in rows]


def found_so_far(project: Project) -> list[Slip]:
    """All slips that can be used, of all seeds, each once."""
    seeds = sorted(int(path.stem.rpartition("-")[2]) for path in project.folder.glob("slips-*.jsonl"))
    every = {slip.id: slip for seed in seeds for slip in tried(project, seed) if slip.state == "accepted"}
    return list(every.values())


def accepted(project: Project, count: int, seed: int) -> list[Slip]:
    """The first `count` slips that can be used; further ones are tried until there are enough."""
    candidates: Iterator[Fault] = iter(())
    faults: list[Fault] = []
    while True:
        with locked(project):
            found = tried(project, seed)
            good = [slip for slip in found if slip.state == "accepted"]
            if len(good) >= count:
                return good[:count]
            base = prepare(project)
            candidates = candidates if faults else drawn(project, seed)
            faults += islice(candidates, len(found) + 1 - len(faults))
            if len(faults) <= len(found):
                return good
            slip = _tried(project, faults[len(found)], seed, base)
            with _kept(project, seed).open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(slip)) + "\n")


def _kept(project: Project, seed: int) -> Path:
    return project.folder / f"slips-{seed}.jsonl"


def drawn(project: Project, seed: int) -> Iterator[Fault]:
    """Faults on lines that the suite runs: family after family in turn, in each the functions one after another.

    The order of the families differs from project to project: one slip of each project is a sample of all families.
    """
    makers: dict[str, SlipMaker] = {}
    families: dict[str, list[Fault]] = {}
    for path, seen in sorted(executed(project).items()):
        data = (project.pristine / path).read_bytes()
        if b"\r" in data or {"test", "tests"} & {*Path(path).parts}:  # a slip in a test is not to be repaired
            continue  # places in its text as Python reads it are not places in the file
        makers[path] = SlipMaker(path, data.decode("utf-8"))
        for fault in makers[path].slips():
            if any(fault.line + more in seen for more in range(fault.old.count("\n") + 1)):
                families.setdefault(FAMILIES[fault.kind], []).append(fault)
    dice = random.Random(f"{seed} {project.name}")
    queues = [_spread(families[name], dice) for name in sorted(families)]
    dice.shuffle(queues)
    for row in zip_longest(*queues):
        for fault in row:
            if fault is not None and makers[fault.path].valid(fault):
                yield fault


def _spread(faults: list[Fault], dice: random.Random) -> list[Fault]:
    """Shuffle; the second fault of a function comes after the first of all others."""
    dice.shuffle(faults)
    counts: dict[tuple[str, str], int] = {}
    turns: list[tuple[int, int]] = []
    for number, fault in enumerate(faults):
        turn = counts.get((fault.path, fault.function), 0)
        counts[(fault.path, fault.function)] = turn + 1
        turns.append((turn, number))
    return [faults[number] for _, number in sorted(turns)]


def put_in(project: Project, fault: Fault) -> None:
    """Write the faulty text into the working copy, which holds the sdist's tree."""
    path = project.top / fault.path
    path.write_bytes(fault.apply(path.read_bytes().decode("utf-8")).encode("utf-8"))


def _tried(project: Project, fault: Fault, seed: int, base: Baseline) -> Slip:
    restore(project)
    put_in(project, fault)
    seen = suite(project, base=base, most=MOST + len(base.failing))
    restore(project)
    failing = tuple(name for name in seen.failing if name not in base.failing)
    family = FAMILIES[fault.kind]
    return Slip(project.name, project.version, seed, family, fault, _state(seen, failing), failing[:MOST])


def _state(seen: Suite, failing: tuple[str, ...]) -> str:
    if not seen.ended:
        return "hangs or crashes"
    if seen.broken:
        return "collection error"
    if not failing:
        return "unnoticed"
    return "accepted" if len(failing) <= MOST else "too many"
