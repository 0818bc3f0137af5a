# ruff: noqa: E501 (rows of a report)
"""What `coderefine fix` does for small projects with several faults each.

python -m tests.bench.repair.several_faults development|aside|fresh [NAME...] [--coderefine PATH] [--details]
python -m tests.bench.repair.several_faults development|aside|fresh --check     only: the files are as they should be

A file of `several/` has the right text of each file (`### file PATH`), the faults (`### fault`, a line about it, pairs of
`### change` and `### into`), and `### hidden`: tests that the tool never sees, `test_K_...` for the fault of number K.
Of `aside` and `fresh` only sums are printed; half of `aside` was read on 25 November 2026, `fresh` was written after that.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.command import ROOT
from tests.support.repo import make_repo, write

HERE = Path(__file__).parent / "several"
HIDDEN = "test_hidden_from_the_tool.py"
FORK = multiprocessing.get_context("fork")
"""Each suite runs in a fork of this process, which has pytest loaded: a tenth of the time of a new interpreter."""
VERDICTS = ("written", "offered first", "offered", "none")

Tree = Mapping[str, str]
"""Text by path."""


@dataclass(frozen=True)
class Fault:
    number: int
    about: str
    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Project:
    name: str
    about: str
    right: Tree
    faults: tuple[Fault, ...]
    hidden: str

    def tree(self, numbers: Collection[int]) -> Tree:
        """Return the files with the faults of these numbers."""
        found = dict(self.right)
        for fault in self.faults:
            for old, new in fault.changes if fault.number in numbers else ():
                places = [path for path in found if not _is_test(path) and old in found[path]]
                if len(places) != 1 or found[places[0]].count(old) != 1:
                    raise ValueError(f"{self.name}, fault {fault.number}: does not occur exactly once:\n{old}")
                found[places[0]] = found[places[0]].replace(old, new)
        return found

    @property
    def numbers(self) -> list[int]:
        return [fault.number for fault in self.faults]


@dataclass
class Result:
    seconds: float
    stop: str
    verdicts: dict[int, str] = field(default_factory=dict)
    wrong: dict[int, list[str]] = field(default_factory=dict)
    """By fault: why what was written is wrong."""


def load(half: str) -> list[Project]:
    return [_read(path) for path in sorted((HERE / half).glob("*.txt"))]


def _read(path: Path) -> Project:
    about, *parts = re.split(r"^### ", path.read_text("utf-8"), flags=re.MULTILINE)
    files: dict[str, str] = {}
    faults: list[tuple[str, list[list[str]]]] = []
    hidden = ""
    for part in parts:
        head, text = part.split("\n", 1)
        kind, _, rest = head.partition(" ")
        match kind:
            case "file":
                files[rest] = text
            case "fault":
                faults.append((text.strip(), []))
            case "change":
                faults[-1][1].append([text.rstrip("\n")])
            case "into":
                faults[-1][1][-1].append(text.rstrip("\n"))
            case "hidden":
                hidden = text
            case _:
                raise ValueError(f"{path.name}: ### {head}")
    made = [
        Fault(number, line, tuple((old, new) for old, new in pairs)) for number, (line, pairs) in enumerate(faults, 1)
    ]
    return Project(path.stem, about.strip(), files, tuple(made), hidden)


def _is_test(path: str) -> bool:
    return Path(path).name.startswith(("test_", "conftest"))


def outcomes(tree: Tree, hidden: str = "") -> dict[str, bool]:
    """Return whether each test passes: those of the tree, or only the `hidden` ones."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "project"
        write(top, {**tree, HIDDEN: hidden} if hidden else tree)
        report = Path(folder) / "report.xml"
        process = FORK.Process(target=_test, args=(top, report, [HIDDEN] if hidden else []))
        process.start()
        process.join(60)
        if process.is_alive():
            process.kill()
            process.join()
        cases = ElementTree.parse(report).iter("testcase") if report.exists() else []
        return {f"{case.get('classname')}::{case.get('name')}": _passes(case) for case in cases}


def _test(top: Path, report: Path, paths: Sequence[str]) -> None:
    os.chdir(top)
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path[:] = [path for path in sys.path if path not in ("", str(ROOT))]
    sys.dont_write_bytecode = True
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", f"--junitxml={report}", *paths])


def _passes(case: ElementTree.Element) -> bool:
    return not any(child.tag in ("failure", "error") for child in case)


def _environ(home: Path) -> dict[str, str]:
    """Return the environment with a HOME of its own, and nothing of the user's or of this project's."""
    dropped = ("GIT_", "XDG_", "OPENAI_", "CODEREFINE", "PYTEST_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def of(number: int, tests: Mapping[str, bool]) -> dict[str, bool]:
    return {name: passes for name, passes in tests.items() if f"::test_{number}_" in name}


def repaired(number: int, tests: Mapping[str, bool]) -> bool:
    own = of(number, tests)
    return bool(own) and all(own.values())


def noticed(project: Project) -> dict[int, set[str]]:
    """Return by fault the visible tests that fail with this fault alone."""
    return {
        number: {name for name, passes in outcomes(project.tree([number])).items() if not passes}
        for number in project.numbers
    }


def checked(project: Project) -> list[str]:
    """Return what is not as it should be."""
    right = {**outcomes(project.right), **outcomes(project.right, project.hidden)}
    found = [f"right program: {name} fails" for name, passes in right.items() if not passes]
    for number, tests in noticed(project).items():
        alone = outcomes(project.tree([number]), project.hidden)
        others = outcomes(project.tree([one for one in project.numbers if one != number]), project.hidden)
        strange = [name for name, passes in alone.items() if not passes and name not in of(number, alone)]
        reasons = {
            "no visible test fails": not tests,
            "none of its hidden tests fails, or not all of them run": repaired(number, alone)
            or not alone.keys() < right.keys(),
            f"it fails hidden tests of others: {strange}": strange,
            "its hidden tests fail because of other faults": not repaired(number, others),
        }
        found += [f"fault {number}: {reason}" for reason, holds in reasons.items() if holds]
    return found


def run(project: Project, command: Path) -> Result:
    faulty = project.tree(project.numbers)
    with tempfile.TemporaryDirectory() as folder:
        top = make_repo(Path(folder) / project.name, faulty)
        home = Path(folder) / "home"
        home.mkdir()
        environ = _environ(home)
        environ["PATH"] = f"{command.parent}{os.pathsep}{environ['PATH']}"
        argv = [str(command), "fix", ".", "--gate", "pytest", "--format", "json"]
        began = time.monotonic()
        done = subprocess.run(argv, cwd=top, env=environ, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        after = {path: (top / path).read_text("utf-8") for path in faulty}
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        report = {"stop": f"exit {done.returncode}", "why": done.stderr.strip()[-200:], "offers": []}
    result = Result(seconds, f"{report['stop']} {report['why'] or ''}".strip())
    hidden = outcomes(after, project.hidden)
    ways = _offered(project, after, report["offers"])
    for number in project.numbers:
        result.verdicts[number] = "written" if repaired(number, hidden) else ways.get(number, "none")
    result.wrong = _wrong(project, after, hidden)
    return result


def _offered(project: Project, after: Tree, offers: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return how each fault is repaired by an offer, alone or together with what was written."""
    found: dict[int, str] = {}
    for offer in offers:
        for place, one in enumerate(offer["alternatives"]):
            patch = {part["path"]: part["text"] for part in one["patch"] if "text" in part}
            runs = [outcomes({**after, **files}, project.hidden) for files in _ways(project, after, patch)]
            for number in project.numbers:
                if any(repaired(number, tests) for tests in runs) and found.get(number) != "offered first":
                    found[number] = "offered" if place else "offered first"
    return found


def _ways(project: Project, after: Tree, patch: Tree) -> list[Tree]:
    """Return the files of the patch; and merged with what was written, unless both change the same lines."""
    faulty = project.tree(project.numbers)
    merged = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in patch:
            write(Path(folder), {"ours": after[path], "base": faulty[path], "theirs": patch[path]})
            command = ("git", "merge-file", "-p", "ours", "base", "theirs")
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return [patch]
            merged[path] = done.stdout
    return [patch] if merged == patch else [patch, merged]


def _wrong(project: Project, after: Tree, hidden: Mapping[str, bool]) -> dict[int, list[str]]:
    """Return by fault what was made worse, or seems repaired to a visible test and is not."""
    faulty = project.tree(project.numbers)
    if after == faulty:
        return {}
    before, now = ({**outcomes(tree), **outcomes(tree, project.hidden)} for tree in (faulty, after))
    found: dict[int, list[str]] = {}
    for number, visible in noticed(project).items():
        own = {*visible, *of(number, hidden)}
        reasons = [f"{name} failed after the write" for name in own if before.get(name) and not now.get(name)]
        if not repaired(number, hidden):
            failing = ", ".join(name for name, passes in of(number, hidden).items() if not passes)
            seeming = [name for name in visible if not before.get(name, True) and now.get(name)]
            reasons += [f"{name} passes, but not {failing}" for name in seeming]
        if reasons:
            found[number] = reasons
    return found


def _row(name: str, results: Sequence[Result]) -> str:
    verdicts = Counter(verdict for result in results for verdict in result.verdicts.values())
    figures = "  ".join(f"{verdicts[verdict]:3} {verdict}" for verdict in VERDICTS)
    wrong = sum(len(result.wrong) for result in results)
    seconds = sum(result.seconds for result in results)
    return f"{name:20} {verdicts.total():3} faults  {figures}  {wrong:3} wrong writes  {seconds:6.1f} s"


def _print_details(project: Project, result: Result) -> None:
    print(f"    stopped: {result.stop}")
    for fault in project.faults:
        print(f"    {fault.number} {result.verdicts[fault.number]:14} {fault.about}")
        for reason in result.wrong.get(fault.number, []):
            print(f"      WRONG: {reason}")


def _check(half: str, projects: Sequence[Project]) -> None:
    wrong = {project.name: checked(project) for project in projects}
    faults = sum(len(project.faults) for project in projects)
    bad = sum(bool(reasons) for reasons in wrong.values())
    print(f"{half}: {len(projects)} projects, {faults} faults, {bad} projects not as they should be")
    for name, reasons in wrong.items():
        for reason in reasons:
            print(f"  {name}: {reason}")
    sys.exit(bad > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("half", choices=("development", "aside", "fresh"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--coderefine", type=Path, default=Path(sys.executable).parent / "coderefine", metavar="PATH")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--details", action="store_true")
    args = parser.parse_args()
    projects = [project for project in load(args.half) if not args.names or project.name in args.names]
    if args.check:
        _check(args.half, projects)
    results = []
    for project in projects:
        results.append(run(project, args.coderefine.absolute()))
        if args.half == "development":
            print(_row(project.name, results[-1:]), flush=True)
            if args.details:
                _print_details(project, results[-1])
    print(_row(f"{args.half}: {len(projects)}", results))
    clean = sum(set(result.verdicts.values()) == {"written"} for result in results)
    some = sum("written" in result.verdicts.values() for result in results)
    print(f"projects wholly repaired {clean}, with something right written {some}, with nothing {len(results) - some}")


if __name__ == "__main__":
    main()
