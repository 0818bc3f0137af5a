"""--fast-proof: run only the tests that can reach the patch, and copy the outcomes of the others from the baseline.

Which tests can reach the patch follows from the import graph and, if it exists, from the hook's coverage map. Neither
shows modules imported by a computed name, files that are read, or programs that the code under test starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from coderefine.core import Case, Check, Patch
from coderefine.import_graph import reached, walk
from coderefine.project.affected_tests import SPECIAL, above, conftests_of, users
from coderefine.runner.test_selection import files_of

SLOW = 60.0
"""Duration of the tests, in seconds, from which on the cost of a proof is reported."""
PROGRAMS = re.compile(rb"\b(?:subprocess|runpy|pytester|testdir|script_runner|Popen|os\.(?:system|popen|spawn|exec))")
"""Identifiers with which tests start programs; such programs may reach code that the tests do not import."""

Same = Callable[[Collection[str], Mapping[str, bytes]], Collection[str]]


def none_same(_tests: Collection[str], _patched: Mapping[str, bytes]) -> frozenset[str]:
    """Return no tests: without a coverage map, none is known to be unaffected."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class ChosenTests:
    """The tests of a proof. `files`: test files, named as in test ids (None: all). `why`: why all tests have to run."""

    files: tuple[str, ...] | None = None
    why: str = ""


WHOLE = ChosenTests()


Selector = Callable[[Patch, Mapping[str, Case], Collection[str]], ChosenTests]
"""Selects the tests of a proof; see `FastProof.select`."""


@dataclass(frozen=True, slots=True)
class FastProof:
    """Chooses the tests that have to run for a proof.

    `top`: the repository's folder on disk. `plugins`: files that pytest loads as plug-ins. `under`: the files that
    differ between `top` and the views, with their content in the views (None: no such file). `same`: takes test files
    and changed files, and returns the test files that, by the coverage map, do not execute the changes.
    """

    top: Path
    is_test: Callable[[str], bool]
    plugins: frozenset[str] = frozenset()
    under: Mapping[str, bytes | None] = field(default_factory=dict)
    same: Same = none_same

    def select(self, patch: Patch, cases: Mapping[str, Case], judged: Collection[str] = ()) -> ChosenTests:
        """Select the test files that have failing tests, are in `judged`, or can reach `patch`.

        `cases`: the baseline's tests, by id. `judged`: the test files that judge the task. The result contains all test
        files, with the reason, if the import graph does not show which tests can reach `patch`.
        """
        there = self._files()
        if why := next(chain(self._unseen(patch, there), _uncollected(cases, there)), ""):
            return ChosenTests(why=why)
        graph = users(self.top, {*there, *patch.files}, {**self.under, **patch.files})
        by_patch = reached(graph, patch.files)
        opaque = reached(graph, list(filter(self._starts_programs, there)))
        if plugin := min(by_patch & self.plugins, default=""):
            return ChosenTests(why=f"the plug-in {plugin} imports what is patched")
        tests = {case.path for case in cases.values()}
        may = _using(by_patch, tests)
        if not may:
            return ChosenTests(why="no test is known to import what is patched")
        must = (_always(cases, there) | _using(opaque, tests)).union(judged) & tests
        chosen = must | may.difference(self._cleared(patch, may, by_patch)) or must | may
        if chosen == tests:
            return ChosenTests(why=_all(by_patch, opaque))
        return ChosenTests(tuple(files_of(name for name in cases if cases[name].path in chosen)))

    def _files(self) -> set[str]:
        """Return the Python files of the tree that is checked."""
        gone = {path for path, data in self.under.items() if data is None}
        return {*walk(str(self.top)), *(path for path in self.under if path.endswith(".py"))} - gone

    def _unseen(self, patch: Patch, there: Collection[str]) -> Iterator[str]:
        """Yield the reasons why the import graph does not show which tests reach `patch`."""
        for path in sorted(patch.files):
            if not path.endswith(".py"):
                yield f"{path} is not a Python file"
            elif PurePosixPath(path).name == "conftest.py" or path in self.plugins:
                yield f"{path} is patched"
            elif path not in there and (self.top / path).exists():
                yield f"{path} is in no folder that the import graph covers"

    def _starts_programs(self, path: str) -> bool:
        if not self.is_test(path):
            return False
        data = self.under.get(path)
        try:
            return bool(PROGRAMS.search((self.top / path).read_bytes() if data is None else data))
        except OSError:
            return True

    def _cleared(self, patch: Patch, tests: Collection[str], by_patch: Collection[str]) -> Collection[str]:
        """Return the files in `tests` that, by the coverage map, do not run the patch.

        Return none if a conftest.py is affected, or if the patch deletes a file.
        """
        texts = {path: data for path, data in patch.files.items() if data is not None}
        if conftests_of(by_patch) or len(texts) < len(patch.files):
            return frozenset()
        return self.same(tests, texts)


def _uncollected(cases: Mapping[str, Case], there: Collection[str]) -> Iterator[str]:
    """Yield, for each file that could not be collected and is no test file, a reason not to select tests by file."""
    for name, case in cases.items():
        if case.status.bad and "::" not in name and (PurePosixPath(name).name in SPECIAL or case.path not in there):
            yield f"{name} could not be collected"


def _always(cases: Mapping[str, Case], there: Collection[str]) -> set[str]:
    """Return the test files to run always: with failing tests, outside the import graph, or with a name in SPECIAL."""
    return {
        case.path
        for case in cases.values()
        if case.status.bad or case.path not in there or PurePosixPath(case.path).name in SPECIAL
    }


def _using(found: Collection[str], tests: Collection[str]) -> set[str]:
    """Return the files in `tests` that are in `found`, or below a conftest.py that is in `found`."""
    conftests = conftests_of(found)
    return {path for path in tests if path in found or above(path, conftests)}


def _all(by_patch: Collection[str], opaque: Collection[str]) -> str:
    """Return the reason why every test is selected."""
    for found, why in ((by_patch, "imports what is patched"), (opaque, "starts programs")):
        if conftests := conftests_of(found):
            return f"{min(conftests.values())} {why}"
    return "every test file can reach what is patched"


def carry(check: Check, baseline: Check, selection: ChosenTests) -> Check:
    """Add to `check` the baseline's outcomes of the test files that did not run; `carried` lists these tests."""
    if selection.files is None:
        return check
    ran = frozenset(selection.files)
    left = {name: case for name, case in baseline.cases.items() if name.partition("::")[0] not in ran}
    return replace(check, cases={**left, **check.cases}, carried=frozenset(left))


def announcement(seconds: float, *, fast: bool, least: float = SLOW) -> str:
    """Return a message on the cost of a proof for tests that took `seconds`; "" for less than `least`."""
    if seconds < least:
        return ""
    took = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    one = f"one run of this suite takes {took}; a proved repair needs"
    if fast:
        return f"{one} only the tests that can reach the patch (--fast-proof)"
    return f"{one} about 2 more: `fix --fast-proof` proves with the tests that can reach the patch"
