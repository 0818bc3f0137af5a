"""Gather plausible repairs of faults whose functions lost half of their tests.

    python -m tests.bench.confidence.gather written [--half H] [--seed S] [--slice SECONDS]
    python -m tests.bench.confidence.gather few [--half H] [--slice SECONDS]
    python -m tests.bench.confidence.gather past [--half H] [--slice SECONDS]
    python -m tests.bench.confidence.gather injected [--half H] [--seed S] [--slice SECONDS] [--faults N] [--only NAME]
    python -m tests.bench.confidence.gather releases [--half H] [--slice SECONDS] [--only NAME]
    python -m tests.bench.confidence.gather real [--half H] [--seed S] [--slice SECONDS] [--faults N] [--only NAME]

`written`: the hand-written programs of tests/bench/repair/handwritten, `injected`: faults put into real packages by
tests/bench/repair/mutator.py. Of the tests that notice the fault or mention the function a random half is taken away,
but one that fails stays. `few`: small programs with the two or three tests that their author wrote, all of which stay.
`past`: the same, in repositories whose last commit brought the fault.
`releases`: functions as they were before a release of a small package repaired them (releases.py), with all its tests.
`real`: the slips of tests/bench/real, with all tests of these projects. Each trial is one row of a JSON-lines file in
the temporary folder; what has a row is not run again. A row holds every group of plausible repairs that behave alike:
what is known of it (Features) and whether it is right, that is equal to the original on the calls of the *whole* suite
and calls near them (repair/differential.py).
A row belongs to the development half or is put aside by the hash of its name: see `half`.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from coderefine.config import load
from coderefine.core import Ask, Attempt, Patch, Situation
from coderefine.critics.pytest import Pytest
from coderefine.project import Protection, interpreter, locate
from coderefine.proposers.search import Search
from coderefine.proposers.search.confidence import Group, Rivals
from coderefine.proposers.search.offering import offer, summary
from coderefine.proposers.search.validate import Repair
from coderefine.workspace import open_views
from tests.bench.confidence import releases
from tests.bench.confidence.suites import changed, deselecting, only_commit, reported
from tests.bench.real.projects import Project, chosen, commit, locked, restore
from tests.bench.real.projects import prepare as prepare_project
from tests.bench.real.slips import Slip, accepted
from tests.bench.real.trials import faulty as put_slip
from tests.bench.real.trials import same
from tests.bench.repair.cases import Written
from tests.bench.repair.cases import load as load_written
from tests.bench.repair.differential import LEAST, Likeness, agree, same_in_package
from tests.bench.repair.injected import HANGS, PACKAGES, Package, drawn, outcome, prepare
from tests.bench.repair.mutator import Fault
from tests.support.repo import git, make_repo

ROWS = Path(tempfile.gettempdir()) / "coderefine-bench-confidence.jsonl"
SHOWN = 4
"""Groups of a row that are compared with the original, until one of them is right."""
S = TypeVar("S", bound=Search)
Right = Callable[[str], Likeness]
"""Compares a text of the faulty file with the original."""
EQUAL = Likeness(LEAST, 0)


@dataclass(frozen=True)
class Row:
    """One trial. `groups`: the most likely first; each has `features`, `summary`, `diff` and `right`.

    `questions`: the calls that an offer of them shows, with the answers of each alternative.
    """

    source: str
    name: str
    seed: int
    seconds: float
    failing: int
    kept: int
    groups: list[dict[str, object]]
    questions: list[dict[str, object]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.source, self.name, self.seed


def rows() -> list[Row]:
    return [Row(**json.loads(line)) for line in ROWS.read_text("utf-8").splitlines()] if ROWS.exists() else []


def half(name: str) -> str:
    """`development` or `aside`, for good."""
    return ("development", "aside")[hashlib.sha256(name.encode()).digest()[0] % 2]


def wanted(args: argparse.Namespace, source: str, name: str) -> bool:
    """Whether the trial is of the half asked for, and has no row yet."""
    return args.half in ("", half(name)) and (source, name, args.seed) not in {row.key for row in rows()}


def searched(top: Path, seconds: float, kind: type[S], python: Path | None = None) -> tuple[S, int, float]:
    """One search on the tree at `top`, as the program runs it; the failing tests and the seconds it took."""
    place = locate([top], top)
    config = replace(load(place.root, {}, {}), search_time=seconds, python=str(python) if python else None)
    found = interpreter(place, config, dict(os.environ))
    critic = Pytest(place, found, config, lambda _: None)
    with open_views(place) as views:
        with views.open() as view:
            check = critic.check(view, Ask(rich=True, seed=0, timeout=300))
        search = kind(place, found, config, Protection.of(place, config))
        base = Attempt(0, Patch(), (check,))
        began = time.monotonic()
        if check.failing:
            proposals = search.propose(Situation(base, base, (base,), check.findings, (".",)), views)
            next(proposals, None)
            proposals.close()
        return search, len(check.failing), time.monotonic() - began


def described(rivals: Rivals, path: str, original: str, right: Right) -> list[dict[str, object]]:
    """Tell of each group what is known of it and whether its first repair is right (None: not compared).

    Where another group, of other behaviour, holds the original itself, a group is wrong without a comparison.
    """
    tree = ast.dump(ast.parse(original))
    held = next((place for place, group in enumerate(rivals.groups) if holds(group, path, tree)), None)
    found: list[dict[str, object]] = []
    for place, group in enumerate(rivals.groups):
        first = group.repairs[0]
        data = first.files.get(path)
        apart = held not in (None, place) and group.features.seen
        shown = place < SHOWN and not any(one["right"] for one in found)
        judged = data is not None and not apart and (shown or place == held)
        like = right(data.decode()) if judged and data is not None else None
        found.append(
            {
                "features": asdict(group.features),
                "operator": first.proposed.scored.operator.name,
                "summary": summary(first),
                "right": like.equal if like else False if apart or shown else None,
                "like": asdict(like) if like else None,
                "diff": difference(first, path),
                "whole": first.whole,
                "changed": group.changed,
            }
        )
    return found


def difference(repair: Repair, path: str) -> str:
    """The lines that the repair changes in the file at `path`."""
    data = repair.files.get(path)
    old = repair.proposed.scored.site.module.text.splitlines()
    new = data.decode().splitlines() if data else []
    return "\n".join([*difflib.unified_diff(old, new, lineterm="", n=1)][2:])[:2000]


def questions(search: Search) -> list[dict[str, object]]:
    """The inputs that an offer of the first set of repairs shows."""
    if not search.chosen.sets:
        return []
    rivals = search.chosen.sets[0]
    made = offer(rivals, rivals.groups[0].repairs[0], Patch(), lambda _patch, _path: b"")
    return [asdict(one) for one in made.questions]


def holds(group: Group, path: str, tree: str) -> bool:
    texts = (one.files.get(path) for one in group.repairs)
    return any(text is not None and ast.dump(ast.parse(text)) == tree for text in texts)


def keep(row: Row) -> None:
    with ROWS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    rights = "".join("?" if one["right"] is None else "+" if one["right"] else "-" for one in row.groups)
    first = row.groups[0]["summary"] if row.groups else ""
    print(f"{row.source:9} {row.name:50} {row.seconds:5.1f} s  {rights or 'none':12} {first}", flush=True)


# -- hand-written programs --------------------------------------------------------------------------------


FOLDERS = {"written": ("development", "held_out", "held_out2"), "few": ("few",), "past": ("few",)}


def written(args: argparse.Namespace) -> None:
    cases = [(folder, case) for folder in FOLDERS[args.source] for case in load_written(folder)]
    random.Random(args.seed).shuffle(cases)
    for folder, case in cases:
        name = f"{folder}/{case.name}"
        if not (wanted(args, args.source, name) and args.only in name):
            continue
        if time.monotonic() > args.until:
            return
        keep(written_row(name, case, args))


def written_row(name: str, case: Written, args: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / case.name
        make_repo(top, {f"{case.name}.py": case.right} if args.source == "past" else {})
        (top / f"{case.name}.py").write_text(case.faulty, "utf-8")
        (top / f"test_{case.name}.py").write_text(case.tests, "utf-8")
        total = case.tests.count("\ndef test_")
        if args.source == "written":
            total = fewer_tests(top, case, random.Random(f"{args.seed} {name}"))
        git(top, "add", "-A")
        git(top, "commit", "-qm", "Change")
        search, failing, seconds = searched(top, args.search, Search)
        found = (
            described(search.chosen.sets[0], f"{case.name}.py", case.right, right_of(case))
            if search.chosen.sets
            else []
        )
        return Row(args.source, name, args.seed, seconds, failing, total, found, questions(search))


def right_of(case: Written) -> Right:
    def right(text: str) -> Likeness:
        same = ast.dump(ast.parse(text)) == ast.dump(ast.parse(case.right))
        equal = same or put_back(case, text) or agree(case.name, case.right, text, case.tests)
        return EQUAL if equal else replace(EQUAL, differ=1)

    return right


def put_back(case: Written, text: str) -> bool:
    """Whether all that `text` changes of the faulty program is as in the right one: one of several faults repaired."""
    faulty, lines, right = (one.splitlines() for one in (case.faulty, text, case.right))
    fresh = {row for tag, _, _, first, last in changes(faulty, lines) for row in range(first, last)}
    wrong = {row for tag, first, last, _, _ in changes(lines, right) for row in range(first, last)}
    return bool(fresh) and fresh.isdisjoint(wrong)


def changes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    return [
        code for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"
    ]


def fewer_tests(top: Path, case: Written, dice: random.Random) -> int:
    """Write half of the test functions of `case`; the draw is repeated until one of them fails. How many stay."""
    tree = ast.parse(case.tests)
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    for _ in range(12):
        gone = set(dice.sample(range(len(tests)), len(tests) // 2))
        lines = case.tests.splitlines(keepends=True)
        for place in sorted(gone, reverse=True):
            node = tests[place]
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
        (top / f"test_{case.name}.py").write_text("".join(lines), "utf-8")
        if outcome(top)[0] in {1, HANGS}:
            return len(tests) - len(gone)
    (top / f"test_{case.name}.py").write_text(case.tests, "utf-8")
    return len(tests)


# -- faults in packages -----------------------------------------------------------------------------------


def injected(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ready: list[tuple[Path, Package, list[Fault]]] = []
        for package in PACKAGES:
            if any(word in package.name for word in args.only.split(",")):
                top = prepare(package, Path(folder))
                if outcome(top)[0] == 0:
                    ready.append((top, package, drawn(top, package, args)))
        for turn in range(args.faults):
            for top, package, faults in ready:
                if time.monotonic() > args.until:
                    return
                if turn < len(faults):
                    injected_row(top, package, faults[turn], args)


def injected_row(top: Path, package: Package, fault: Fault, args: argparse.Namespace) -> None:
    name = f"{package.name}/{fault.path}:{fault.start}:{fault.new}"
    if not wanted(args, "injected", name):
        return
    seed = args.seed
    original = (top / fault.path).read_text("utf-8")
    faulty = fault.apply(original)
    function = enclosing(original, fault.line)
    with changed(top / fault.path, faulty):
        told = reported(top)
        failing = [test for test, word in told.items() if word in ("FAILED", "ERROR")]
        gone = taken_away(top, failing, list(told), function, random.Random(f"{seed} {name}"))
        if not failing or gone is None:
            keep(Row("injected", name, seed, 0.0, 0, 0, []))
            return
        settings = (top / "pyproject.toml").read_text("utf-8")
        with changed(top / "pyproject.toml", deselecting(settings, gone)):
            only_commit(top)
            search, left, seconds = searched(top, args.search, Search)

    right = compared_in(top, fault.path, original)
    found = described(search.chosen.sets[0], fault.path, original, right) if search.chosen.sets else []
    keep(Row("injected", name, seed, seconds, left, len(told) - len(gone), found, questions(search)))


def compared_in(
    top: Path, path: str, original: str, timeout: float = 120.0, python: str | Path = sys.executable
) -> Right:
    """Compare texts of the file at `path` in the package at `top` with `original`."""

    def right(text: str) -> Likeness:
        if same(original, text):
            return EQUAL
        return same_in_package(top, path, original, text, timeout=timeout, python=python)

    return right


def enclosing(text: str, line: int) -> str:
    """The name of the innermost function around `line`."""
    found = ""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            found = node.name
    return found


def taken_away(top: Path, failing: list[str], tests: list[str], function: str, dice: random.Random) -> list[str] | None:
    """Half of the tests of `function`; None where that would leave no failing one."""
    mentioning = [test for test in tests if function and function in mentioned(top, test)]
    about = sorted({*failing, *mentioning})
    if not failing:
        return None
    staying = dice.choice(sorted(failing))
    others = [test for test in about if test != staying]
    return dice.sample(others, len(about) // 2) if others else []


def mentioned(top: Path, test: str) -> set[str]:
    """Names in the source of a test."""
    path, _, name = test.partition("::")
    wanted = name.split("[")[0].split("::")[-1]
    try:
        tree = ast.parse((top / path).read_text("utf-8"))
    except (OSError, SyntaxError):
        return set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            return names | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return set()


# -- slips in real projects, all tests kept ---------------------------------------------------------------


def real(args: argparse.Namespace) -> None:
    for project in chosen(args.only, ""):
        for slip in accepted(project, args.faults, args.seed):
            if time.monotonic() > args.until:
                return
            if wanted(args, "real", slip_name(slip)):
                with locked(project):
                    keep(real_row(project, slip, args.seed))
                    restore(project)


def slip_name(slip: Slip) -> str:
    return f"{slip.project}/{slip.id}"


def real_row(project: Project, slip: Slip, seed: int) -> Row:
    path = slip.fault.path
    original = (project.pristine / path).read_text("utf-8")
    limit = 10 * prepare_project(project).seconds + 120

    put_slip(project, slip)
    search, failing, seconds = searched(project.top, 30.0, Search)
    restore(project)
    commit(project)
    right = compared_in(project.top, path, original, limit, project.python)
    found = described(search.chosen.sets[0], path, original, right) if search.chosen.sets else []
    return Row("real", slip_name(slip), seed, seconds, failing, 0, found, questions(search))


# -- functions that a release repaired ---------------------------------------------------------------------


def released(args: argparse.Namespace) -> None:
    """Release by release in turns, so that a cut run has all packages in it."""
    every = [cases for cases in releases.looked_at().values() if cases]
    for case in (case for row in zip_longest(*every) for case in row if case is not None):
        if time.monotonic() > args.until:
            return
        if wanted(args, "releases", case.name) and args.only in case.name:
            keep(released_row(case, args))


def released_row(case: releases.Case, args: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "tree"
        original = releases.ready(case, top)
        search, failing, seconds = searched(top, args.search, Search, releases.python())
        (top / case.path).write_bytes(original.encode())
        right = compared_in(top, case.path, original, python=releases.python())
        found = described(search.chosen.sets[0], case.path, original, right) if search.chosen.sets else []
        return Row("releases", case.name, args.seed, seconds, failing, 0, found, questions(search))


SOURCES = {
    "written": written,
    "few": written,
    "past": written,
    "injected": injected,
    "releases": released,
    "real": real,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=tuple(SOURCES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slice", type=float, default=1e9, help="begin no trial after so many seconds")
    parser.add_argument("--faults", type=int, default=20, help="of each package")
    parser.add_argument("--only", default="")
    parser.add_argument("--half", choices=("development", "aside"), default="")
    parser.add_argument("--search", type=float, default=20.0, help="seconds of each search at most")
    args = parser.parse_args()
    args.until = time.monotonic() + args.slice
    SOURCES[args.source](args)


if __name__ == "__main__":
    main()
