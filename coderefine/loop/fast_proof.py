"""--fast-proof: prove with the tests that can reach the patch, and carry the others' outcomes over from the baseline.

Which can is what the import graph says, and, where the hook has left one, its coverage map. Neither sees what tests
reach by a module's name that is computed, by reading files, or through programs that the code under test starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from coderefine.core import Case, Check, Patch
from coderefine.import_graph import reached
from coderefine.project.affected_tests import above, conftests_of, python_files, users

SLOW = 60.0
"""Seconds of tests from which on it is said what a proof costs."""
PROGRAMS = re.compile(rb"\b(?:subprocess|runpy|pytester|testdir|script_runner|Popen|os\.(?:system|popen|spawn|exec))")
"""Words of tests that start programs: these may reach what the tests do not import."""
SPECIAL = ("conftest.py", "__init__.py")
"""Files that pytest reads for the sake of others: tests in them (doctests) always run."""

Same = Callable[[Collection[str], Mapping[str, bytes]], Collection[str]]


def none_same(_tests: Collection[str], _patched: Mapping[str, bytes]) -> frozenset[str]:
    """No test is known to run as it did: there is no coverage map of this tree."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """The test files to run, named as in test ids; None for all, and then `why`."""

    files: tuple[str, ...] | None = None
    why: str = ""


WHOLE = Selection()


@dataclass(frozen=True, slots=True)
class FastProof:
    """Chooses the tests of a proof.

    `plugins`: files that pytest loads by name. `under`: files that have another content in the views than below `top`.
    `same`: which of some test files surely run as they did when files change so (the coverage map).
    """

    top: Path
    is_test: Callable[[str], bool]
    plugins: frozenset[str] = frozenset()
    under: Mapping[str, bytes | None] = field(default_factory=dict)
    same: Same = none_same

    def select(self, patch: Patch, cases: Mapping[str, Case], judged: Collection[str] = ()) -> Selection:
        """The files of the tests that failed (`cases`: the baseline's), of those `judged`, and that reach `patch`."""
        there = self._files()
        if why := next(chain(self._unseen(patch, there), _uncollected(cases, there)), ""):
            return Selection(why=why)
        graph = users(self.top, {*there, *patch.files}, {**self.under, **patch.files})
        by_patch = reached(graph, patch.files)
        opaque = reached(graph, list(filter(self._starts_programs, there)))
        if plugin := min(by_patch & self.plugins, default=""):
            return Selection(why=f"the plug-in {plugin} imports what is patched")
        tests = {case.path for case in cases.values()}
        may = _using(by_patch, tests)
        if not may:
            return Selection(why="no test is known to import what is patched")
        must = (_always(cases, there) | _using(opaque, tests)).union(judged) & tests
        chosen = must | may.difference(self._cleared(patch, may, by_patch)) or must | may
        if chosen == tests:
            return Selection(why=_all(by_patch, opaque))
        return Selection(tuple(dict.fromkeys(name.partition("::")[0] for name in cases if cases[name].path in chosen)))

    def _files(self) -> set[str]:
        """The Python files of the tree that is checked."""
        gone = {path for path, data in self.under.items() if data is None}
        return {*python_files(self.top), *(path for path in self.under if path.endswith(".py"))} - gone

    def _unseen(self, patch: Patch, there: Collection[str]) -> Iterator[str]:
        """Why the import graph cannot say which tests reach `patch`."""
        for path in sorted(patch.files):
            if not path.endswith(".py"):
                yield f"{path} is no Python file"
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
        """Those of `tests` that the coverage map excludes: none where a conftest.py is affected."""
        texts = {path: data for path, data in patch.files.items() if data is not None}
        if conftests_of(by_patch) or len(texts) < len(patch.files):
            return frozenset()
        return self.same(tests, texts)


def _uncollected(cases: Mapping[str, Case], there: Collection[str]) -> Iterator[str]:
    """Why tests cannot be chosen by their files: what is no test file failed at the start."""
    for name, case in cases.items():
        if case.status.bad and "::" not in name and (PurePosixPath(name).name in SPECIAL or case.path not in there):
            yield f"{name} could not be collected"


def _always(cases: Mapping[str, Case], there: Collection[str]) -> set[str]:
    """The files of tests that failed, and those of which the import graph does not say what they reach."""
    return {
        case.path
        for case in cases.values()
        if case.status.bad or case.path not in there or PurePosixPath(case.path).name in SPECIAL
    }


def _using(found: Collection[str], tests: Collection[str]) -> set[str]:
    """Those of `tests` that are in `found` or below a conftest.py that is."""
    conftests = conftests_of(found)
    return {path for path in tests if path in found or above(path, conftests)}


def _all(by_patch: Collection[str], opaque: Collection[str]) -> str:
    """Why every test is chosen."""
    for found, why in ((by_patch, "imports what is patched"), (opaque, "starts programs")):
        if conftests := conftests_of(found):
            return f"{min(conftests.values())} {why}"
    return "every test file can reach what is patched"


def carry(check: Check, baseline: Check, selection: Selection) -> Check:
    """`check` of some files, with the other files' outcomes of the baseline, marked as such."""
    if selection.files is None:
        return check
    ran = frozenset(selection.files)
    left = {name: case for name, case in baseline.cases.items() if name.partition("::")[0] not in ran}
    return replace(check, cases={**left, **check.cases}, carried=frozenset(left))


def announcement(seconds: float, *, fast: bool, least: float = SLOW) -> str:
    """What a run of tests that took `seconds` costs; "" for less than `least`."""
    if seconds < least:
        return ""
    took = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    one = f"one run of this suite takes {took}; a proved repair needs"
    if fast:
        return f"{one} only the tests that can reach the patch (--fast-proof)"
    return f"{one} about 2 more: `fix --fast-proof` proves with the tests that can reach the patch"
