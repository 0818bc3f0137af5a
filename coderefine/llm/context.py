"""Select the parts of the repository that a model is shown, and order them: stable parts first, evidence last."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path, PurePosixPath

from coderefine.core import Case, Finding, Task
from coderefine.llm.evidence import MOST, Witness, describe, leading, passing_nearby
from coderefine.llm.failing_tests import conftest_excerpts, excerpt, joined
from coderefine.llm.folding import MARKED, RAN
from coderefine.llm.missing_symbols import Failed, MissingSymbol, find_missing, users
from coderefine.llm.modules import Definition, Project, Read, dotted_names
from coderefine.llm.normalize import cut, fenced, fenced_files, mark
from coderefine.llm.selection import Selection, Trace
from coderefine.source import decode, syntax

TESTS = 1_500
"""Maximum number of characters of failing tests."""

SHARED = 1_500
"""Maximum number of characters of conftest.py files and of helpers in other test modules."""

LONGEST = 8_800
"""Characters of the whole context above which fewer tests are shown; a request has then about 10,000."""

LEAST = 600
"""Minimum number of characters shown of each test module."""

USERS = 6_500
"""Maximum number of characters of tests that use missing symbols: these tests specify the requested code."""

SEARCHED = 4_000
"""Maximum number of characters of each part of a failure that are searched for missing symbols."""

GIVEN = 10_000
"""Maximum number of characters of each read-only file of a task."""

WIDER = 1.6
"""Factor for the size of tests and results once there is progress, when all remaining failures are shown."""

LEGEND = f"Lines that the failing tests executed end in {RAN.strip()}; leave that mark out of edits."


@dataclass(frozen=True, slots=True)
class Repository:
    """Access to the tree under repair.

    `text` returns a file (None: no such text file). `prefix`: the project's folder in it ("." for the top). `is_test`,
    `writable`: predicates of a path. `always`: files that are always shown. `listing` returns the files in a folder.
    `needed`: (path, name) of definitions that the model requested; an empty name stands for the file.
    """

    top: Path
    prefix: str
    text: Read
    is_test: Callable[[str], bool]
    writable: Callable[[str], bool]
    always: tuple[str, ...] = ()
    listing: Callable[[str], Sequence[str]] = lambda _: ()
    needed: tuple[tuple[str, str], ...] = ()

    def is_code(self, path: str) -> bool:
        """Return whether `path` is the project's own code, which may be shown and edited."""
        return _relative(path) and not self.is_test(path) and self.writable(path)


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of the context. `shown`: paths whose code is in it."""

    code: str
    tests: str
    evidence: str
    shown: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(part for part in (self.code, self.tests, self.evidence) if part)


def gather(
    findings: Sequence[Finding],
    cases: Mapping[str, Case],
    repository: Repository,
    room: float = 1.0,
    trace: Callable[[], Trace | None] = lambda: None,
    *,
    wide: bool = False,
) -> Context:
    """Build the context for repairing `findings`. Only its last part depends on more than source text.

    If the context is too long, fewer tests are shown; how many depends on the length of the last part. `room`: the size
    of the context, as a share of the usual one, at most 1. `trace` returns what the failing tests executed (None:
    unknown); it needs a test run and is called only if not all code is shown. `wide`: describe all remaining failures,
    not only the most important ones.
    """
    witness = Witness(repository.top, cases, repository.text)
    project = Project(repository.text, repository.prefix, repository.listing)
    failed = [_failed(finding, cases) for finding in findings if finding.critic == "pytest"]
    things = find_missing(failed, project)
    share = room * (WIDER if wide else 1.0)
    detailed = leading(findings, witness, wide=wide)
    most = int((USERS if things else TESTS) * share)
    tests = _tests(detailed, cases, repository, things, most)
    shared = conftest_excerpts(tests, repository.text)
    shared |= _helpers(tests | shared, project, repository)
    shared = _shortened(shared, int(SHARED * share))
    tests |= shared
    selection = Selection(project, repository, trace if failed else lambda: None, room)
    code = selection.texts(_pointed(findings, cases), tests, things)
    results = [describe(findings, witness, int(MOST * share), wide=wide)]
    results.append(passing_nearby(selection.trace, cases, detailed))
    result = "\n".join(filter(None, (*map(attrgetter("note"), things), *results)))
    left = LONGEST - len(result) - sum(map(len, code.values()))
    if (over := sum(map(len, tests.values())) - left) > 0:
        tests = _shortened(_tests(detailed, cases, repository, things, most - over) | shared, left)
    sign = mark((*code.values(), *tests.values()))
    shown_code = fenced_files("file", code, sign)
    legend = f"{LEGEND}\n" * bool(MARKED.search(shown_code))
    shown_tests = fenced_files("tests", {path: text for path, text in tests.items() if text}, sign)
    evidence = fenced("result", "", result, sign)
    if room < 1:
        shown_tests, evidence = cut(shown_tests, int(TESTS * share)), cut(evidence, int(MOST * share))
    return Context(legend + shown_code, shown_tests, evidence, tuple(code))


def given_files(task: Task, read: Read) -> str:
    """Return the read-only files of the task, fenced."""
    texts = {path: text for path in task.given if (text := read(path))}
    return fenced_files("given", {path: cut(text, GIVEN) for path, text in texts.items()}, mark(texts.values()))


def text_of(data: bytes | None) -> str | None:
    """Decode `data` to text with LF line ends; None if it is not text."""
    source = decode(data) if data is not None else None
    return source.text if source else None


def _test_file(finding: Finding, case: Case | None) -> str:
    """Return the file of the finding's test."""
    return case.path if case and case.path else finding.path


def _failed(finding: Finding, cases: Mapping[str, Case]) -> Failed:
    """Return the finding's test with all details of its failure."""
    case = cases.get(finding.symbol)
    failure = case.failure if case else None
    parts = [finding.message, finding.evidence]
    frames: tuple[str, ...] = ()
    if failure:
        parts += [f"{failure.exception}: {failure.message}", failure.assertion, failure.output]
        frames = tuple(frame.path for frame in failure.frames if _relative(frame.path))
    text = "\n".join(cut(part, SEARCHED) for part in parts)
    return Failed(_test_file(finding, case), text, "::" not in finding.symbol, frames)


def _pointed(findings: Sequence[Finding], cases: Mapping[str, Case]) -> tuple[tuple[str, int], ...]:
    """Return (path, line) of the frames of all failures, innermost first, then of the other findings."""
    found: dict[tuple[str, int], None] = {}
    for finding in findings:
        case = cases.get(finding.symbol)
        if case and case.failure:
            found |= dict.fromkeys((frame.path, frame.line) for frame in reversed(case.failure.frames))
        elif finding.span:
            found |= dict.fromkeys((finding.path, line) for line in (finding.span.first, finding.span.last))
        elif finding.critic != "pytest":
            found[finding.path, 1] = None
    return tuple(found)


def _tests(
    failing: Iterable[Finding],
    cases: Mapping[str, Case],
    repository: Repository,
    things: Sequence[MissingSymbol],
    most: int,
) -> dict[str, str]:
    """Return the source of the failing tests by test file, and of tests that use missing symbols."""
    ids: dict[str, list[str]] = {}
    lines: dict[str, set[int]] = {}
    for finding in failing:
        case = cases.get(finding.symbol)
        path = _test_file(finding, case)
        ids.setdefault(path, []).append(finding.symbol)
        frames = case.failure.frames if case and case.failure else ()
        lines.setdefault(path, set()).update(frame.line for frame in frames if frame.path == path)
    texts = {path: repository.text(path) for path in ids if repository.is_test(path)}
    return {
        path: excerpt(text, ids[path], also=users(text, things), lines=lines[path], most=max(300, most // len(texts)))
        for path, text in texts.items()
        if text
    }


def _helpers(tests: Mapping[str, str], project: Project, repository: Repository) -> dict[str, str]:
    """Return the functions and constants of other test modules that the shown tests use."""
    wanted: dict[str, set[ast.stmt]] = {}
    for path, source in tests.items():
        tree = syntax(source)
        for name in sorted(dotted_names(tree)) if tree else ():
            found = project.locate(name, path)
            if isinstance(found, Definition) and not isinstance(found.node, ast.ClassDef):
                wanted.setdefault(found.path, set()).add(found.node)
    elsewhere = sorted(filter(repository.is_test, wanted.keys() - tests.keys()))
    return {path: joined(project.read(path) or "", wanted[path]) for path in elsewhere}


def _shortened(texts: dict[str, str], most: int) -> dict[str, str]:
    """Cut the longest texts until all together have at most `most` characters."""
    for path in sorted(texts, key=lambda path: -len(texts[path])):
        over = sum(map(len, texts.values())) - most
        if over > 0:
            texts = texts | {path: cut(texts[path], max(LEAST, len(texts[path]) - over))}
    return texts


def _relative(path: str) -> bool:
    return bool(path) and not Path(path).is_absolute() and ".." not in PurePosixPath(path).parts
