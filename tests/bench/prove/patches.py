"""Honest and bad patches, made of the hand-written faults of tests/bench/repair and the cheats of tests/attacks."""

from __future__ import annotations

import ast
import os
import random
import re
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from coderefine.core import Patch
from coderefine.judge import mutants
from tests.attacks.cheats import CHEATS
from tests.attacks.shop import FILES
from tests.bench.real.projects import Project
from tests.bench.repair.cases import Written, load
from tests.support.repo import write

HALVES = ("development", "held_out", "held_out2")
CPU = 10
"""Seconds of CPU time for the tests of one program."""
Files = Mapping[str, "str | bytes | None"]


@dataclass(frozen=True)
class Case:
    """A patch: `before` is the tree, `after` what it changes; None deletes. One of a kind "honest: …" has to be proved.

    `project`: the real package that it belongs to; `before` then holds only the files that differ from its sdist.
    """

    name: str
    kind: str
    before: Files
    after: Files
    project: Project | None = None


def honest(chance: random.Random) -> Iterator[Case]:
    """Yield repairs: where their tests are there, and where they come with it."""
    yield from _made((_code, _code_and_tests), chance)


def bad(chance: random.Random) -> Iterator[Case]:
    """Yield cheats, regressions, half fixes and weakened tests in turn, as long as there are any."""
    recipes = (_regression, _deleted, _half_fix, _skipped, _assertion_gone)
    cheats = [Case(cheat.name, "bad: cheat", FILES, cheat.files()) for cheat in CHEATS]
    chance.shuffle(cheats)
    for made in _made(recipes, chance):
        yield made
        if cheats and chance.random() < 1 / 4:
            yield cheats.pop()
    yield from cheats


Recipe = Callable[[Written, random.Random], "Case | None"]


def _made(recipes: Sequence[Recipe], chance: random.Random) -> Iterator[Case]:
    every = [(case, recipe) for half in HALVES for case in load(half) for recipe in recipes]
    chance.shuffle(every)
    yield from filter(None, (recipe(case, chance) for case, recipe in every if red(case)))


def _names(case: Written) -> tuple[str, str]:
    return f"{case.name}.py", f"test_{case.name}.py"


def _code(case: Written, _chance: random.Random) -> Case:
    return Case(case.name, "honest: code", case.files, {_names(case)[0]: case.right})


def _code_and_tests(case: Written, _chance: random.Random) -> Case | None:
    code, tests = _names(case)
    fewer = _without(case.tests, red(case))
    after = {code: case.right, tests: case.tests}
    return Case(case.name, "honest: code and tests", {**case.files, tests: fewer}, after) if fewer else None


def _regression(case: Written, _chance: random.Random) -> Case:
    code = _names(case)[0]
    return Case(case.name, "bad: regression", {**case.files, code: case.right}, {code: case.faulty})


def _deleted(case: Written, _chance: random.Random) -> Case | None:
    code, tests = _names(case)
    fewer = _without(case.tests, red(case))
    after = {code: f"{case.faulty}\n\nDONE = True\n", tests: fewer}
    return Case(case.name, "bad: test deleted", case.files, after) if fewer else None


def _half_fix(case: Written, chance: random.Random) -> Case | None:
    code, tests = _names(case)
    fewer, half = _without(case.tests, red(case)), _half(case, chance)
    if not fewer or not half:
        return None
    return Case(case.name, "bad: half fix", {**case.files, tests: fewer}, {code: half, tests: case.tests})


def _skipped(case: Written, _chance: random.Random) -> Case:
    tests = case.tests
    for name in red(case):
        tests = tests.replace(f"def {name}(", f"@pytest.mark.skip\ndef {name}(")
    tests = tests if re.search("^import pytest", tests, re.MULTILINE) else f"import pytest\n\n{tests}"
    return Case(case.name, "bad: test skipped", case.files, {_names(case)[1]: tests})


def _assertion_gone(case: Written, chance: random.Random) -> Case | None:
    """Return the repair with one assertion less, in a test that has others."""
    code, tests = _names(case)
    lines = case.tests.splitlines(keepends=True)
    plain = [at for at, line in enumerate(lines) if re.match(r"    assert .*[^(\[{,]\n", line)]
    more = [at for at in plain if at + 1 in plain or at - 1 in plain]
    if not more:
        return None
    del lines[chance.choice(more)]
    return Case(case.name, "bad: assertion gone", case.files, {code: case.right, tests: "".join(lines)})


def _half(case: Written, chance: random.Random) -> str:
    """Return a version of the right program with which some of the failing tests pass, and some fail; "" for none."""
    code = f"{case.name}.py"
    wrong = [one.files[code].decode() for one in mutants(Patch({code: case.right.encode()}), {})]
    names = red(case)
    for text in chance.sample(wrong, min(6, len(wrong))):
        now = failing({**case.files, code: text})
        if now and now < names:
            return text
    return ""


def _without(tests: str, names: frozenset[str]) -> str:
    """Return the test file without the tests `names`; "" where none is left."""
    lines, tree = tests.splitlines(keepends=True), ast.parse(tests)
    gone = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    left = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    for node in reversed(gone):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        del lines[first - 1 : node.end_lineno]
    return "".join(lines).rstrip() + "\n" if gone and len(left) > len(gone) else ""


@cache
def _red(name: str, faulty: str, tests: str) -> frozenset[str]:
    return failing({f"{name}.py": faulty, f"test_{name}.py": tests})


def red(case: Written) -> frozenset[str]:
    """Return the names of the failing tests; none for a fault that makes a test hang."""
    return _red(case.name, case.faulty, case.tests)


def failing(files: Files) -> frozenset[str]:
    """Return the names of the failing tests of a program, run in a fork; none where they take too much CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {path: text for path, text in files.items() if text is not None})
        reading, writing = os.pipe()
        if not (child := os.fork()):
            _run(folder, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            names = pipe.read().decode().split()
        os.waitpid(child, 0)
    return frozenset(names)


def _run(folder: str, writing: int) -> NoReturn:
    """Run the tests in `folder`, write the names of the failing ones, and end this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    os.chdir(folder)
    sys.path.insert(0, folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    names = _Names()
    pytest.main(["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, folder], plugins=[names])
    os.write(writing, " ".join(names.failed).encode())
    os._exit(0)


class _Names:
    """A plug-in of pytest that keeps the names of failing tests."""

    def __init__(self) -> None:
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid.partition("::")[2].partition("[")[0])
