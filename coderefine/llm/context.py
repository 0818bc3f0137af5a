"""Select the parts of the repository that a model is shown, and order them: stable parts first, evidence last."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from coderefine.core import Case, Finding, Read, Task, repairable
from coderefine.llm.failing_tests import conftest_excerpts, excerpt, joined
from coderefine.llm.findings_text import MOST, EvidenceSources, describe, leading, passing_nearby
from coderefine.llm.folding import MARKED, RAN
from coderefine.llm.missing_symbols import Failed, MissingSymbol, find_missing, users
from coderefine.llm.modules import Definition, ModuleIndex, dotted_names
from coderefine.llm.normalize import cut, fenced, fenced_files, mark
from coderefine.llm.selection import Selection, Trace
from coderefine.source import syntax

LONGEST = 7_600
"""Maximum number of characters of the context, without the lines around files; a request has less than 10,000."""
TESTS, USERS = 700, 6_500
"""Maximum number of characters of tests if no symbol is missing, and if one is: then the tests specify the new code."""
SHARED = 500
"""Maximum number of characters of conftest.py files and of helpers in other test modules."""
FUNCTIONS, PLACE = 4_000, 2_500
"""Characters reserved for the project's functions; if symbols are missing, PLACE for the code to which they belong."""
LEAST = 200
"""Minimum number of characters of a shortened excerpt; if there is less room, the excerpt is omitted."""
SEARCHED = 4_000
"""Maximum number of characters of each part of a failure that are searched for missing symbols."""
GIVEN = 10_000
"""Maximum number of characters of each read-only file of a task."""
WIDER = 1.6
"""Factor for the size of tests and results once there is progress, when all remaining failures are shown."""
LEGEND = f"Lines that the failing tests executed end in {RAN.strip()}; leave that mark out of edits."


@dataclass(frozen=True, slots=True)
class SourceTree:
    """Access to the tree under repair.

    `roots`: see ModuleIndex. `text` returns the content of a file (None: no such text file). `is_test`, `writable`:
    predicates of a path. `always`: files that are always shown. `listing` returns the files in a folder. `needed`:
    (path, name) of definitions that the model requested; an empty name means the whole file. `asserting` returns the
    names of the functions in a file that assert on behalf of tests, which are not to be changed.
    """

    top: Path
    roots: tuple[str, ...]
    text: Read
    is_test: Callable[[str], bool]
    writable: Callable[[str], bool]
    always: tuple[str, ...] = ()
    listing: Callable[[str], Sequence[str]] = lambda _: ()
    needed: tuple[tuple[str, str], ...] = ()
    asserting: Callable[[str], Collection[str]] = lambda _: ()

    def is_code(self, path: str) -> bool:
        """Return whether `path` is the project's own code, which may be shown and edited."""
        return _relative(path) and not self.is_test(path) and self.writable(path)


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of the context. `shown`: the paths of the files in `code`."""

    code: str
    tests: str
    evidence: str
    shown: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(part for part in (self.code, self.tests, self.evidence) if part)


def gather(
    findings: Sequence[Finding],
    cases: Mapping[str, Case],
    repository: SourceTree,
    room: float = 1.0,
    trace: Callable[[], Trace | None] = lambda: None,
    *,
    wide: bool = False,
) -> Context:
    """Return the context for repairing `findings`: code, tests, and at the end the evidence (test results, findings).

    The context has a maximum length. Its parts get room in this order: results and findings, the failing tests, the
    functions on the tracebacks and the most suspicious ones, fixtures and helpers of the tests, the code that these
    functions use.

    `room`: the maximum length as a share of LONGEST, at most 1. `trace` returns what the failing tests executed
    (None: unknown); it needs a test run and is called only if not all code is shown. `wide`: describe all remaining
    failures, not only the most important ones.
    """
    findings = _repairable(findings, cases)
    sources = EvidenceSources(repository.top, cases, repository.text)
    project = ModuleIndex(repository.text, repository.roots, repository.listing)
    failed = [_failed(finding, cases, repository) for finding in findings if finding.critic == "pytest"]
    symbols = _missing(failed, project, repository)
    share = room * (WIDER if wide else 1.0)
    detailed = leading(findings, sources, wide=wide)
    results = [*_notes(symbols, repository), describe(findings, sources, int(MOST * share), wide=wide)]
    left = int(LONGEST * room) - sum(map(len, results))
    most = min(int((USERS if symbols else TESTS) * share), left - int((PLACE if symbols else FUNCTIONS) * room))
    tests = _tests(detailed, cases, repository, symbols, most)
    shared = conftest_excerpts(tests, repository.text)
    shared |= _helpers(tests | shared, project, repository)
    left -= sum(map(len, tests.values()))
    selection = Selection(project, repository, trace if failed else lambda: None, left)
    left = selection.choose(_pointed(findings, cases, repository), _remarked(findings), tests | shared, symbols)
    shared = _shortened(shared, min(int(SHARED * share), left))
    code = selection.texts(left - sum(map(len, shared.values())))
    tests |= shared
    results.append(passing_nearby(selection.trace, cases, detailed))
    result = "\n".join(filter(None, results))
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


def _repairable(findings: Sequence[Finding], cases: Mapping[str, Case]) -> Sequence[Finding]:
    """Return `findings` without the failing tests that no patch may repair (see `core.repairable`), if others fail."""
    failing = [case for item in findings if (case := cases.get(item.symbol))]
    hopeless = {case.id for case in failing} - {case.id for case in repairable(failing)}
    left = [item for item in findings if item.symbol not in hopeless]
    return left if any(item.critic == "pytest" for item in left) else findings


def _missing(failed: Sequence[Failed], project: ModuleIndex, repository: SourceTree) -> tuple[MissingSymbol, ...]:
    """Return the missing symbols; those that no patch may add, only if each failing test misses a symbol.

    Otherwise the fault may be elsewhere: it may be the reason why a class of the tests gets a wrong argument.
    """
    symbols = find_missing(failed, project)
    addable = tuple(symbol for symbol in symbols if not symbol.place or repository.is_code(symbol.place))
    every = addable == symbols or all(find_missing([one], project) for one in failed)
    return symbols if every else addable


def _notes(symbols: Sequence[MissingSymbol], repository: SourceTree) -> list[str]:
    """Return a description of each missing symbol, with a note if no patch may change the file where it belongs."""
    fixed = {symbol.place for symbol in symbols if symbol.place and not repository.is_code(symbol.place)}
    return [symbol.note + f"; {symbol.place} may not be edited" * (symbol.place in fixed) for symbol in symbols]


def _test_file(finding: Finding, case: Case | None) -> str:
    return case.path if case and case.path else finding.path


def _failed(finding: Finding, cases: Mapping[str, Case], repository: SourceTree) -> Failed:
    """Return the finding's test with all details of its failure."""
    case = cases.get(finding.symbol)
    failure = case.failure if case else None
    parts = [finding.message, finding.evidence]
    frames: tuple[str, ...] = ()
    if failure:
        parts += [f"{failure.exception}: {failure.message}", failure.assertion, failure.output]
        frames = tuple(frame.path for frame in failure.frames if _relative(frame.path))
    text = "\n".join(cut(part, SEARCHED) for part in parts)
    # An AttributeError that only the message of another exception quotes was not raised by the test's own line either.
    quoted = failure is not None and not failure.exception.endswith(("AttributeError", "TypeError"))
    inside = quoted or any(map(repository.is_code, frames[-1:]))
    return Failed(_test_file(finding, case), text, "::" not in finding.symbol, frames, inside)


def _pointed(
    findings: Sequence[Finding], cases: Mapping[str, Case], repository: SourceTree
) -> tuple[tuple[str, int], ...]:
    """Return (path, line) of traceback frames in the project's code; the innermost frames of all failures are first."""
    found: list[list[tuple[str, int]]] = []
    for case in (cases.get(finding.symbol) for finding in findings):
        frames = reversed(case.failure.frames) if case and case.failure else ()
        found.append([(frame.path, frame.line) for frame in frames if repository.is_code(frame.path)])
    return tuple(dict.fromkeys(place for depth in zip_longest(*found) for place in depth if place))


def _remarked(findings: Sequence[Finding]) -> tuple[tuple[str, int], ...]:
    """Return (path, line) for the first and the last line of each finding that is not about a test."""
    others = [finding for finding in findings if finding.critic != "pytest"]
    spans = ((finding.path, (finding.span.first, finding.span.last) if finding.span else (1,)) for finding in others)
    return tuple(dict.fromkeys((path, line) for path, lines in spans for line in lines))


def _tests(
    failing: Iterable[Finding],
    cases: Mapping[str, Case],
    repository: SourceTree,
    symbols: Sequence[MissingSymbol],
    most: int,
) -> dict[str, str]:
    """Return, by test file, the source of the failing tests and of tests that use missing symbols.

    All excerpts together have at most `most` characters; a file whose excerpt does not fit is left out. But the first
    file with an excerpt is always included.
    """
    ids: dict[str, list[str]] = {}
    lines: dict[str, set[int]] = {}
    for finding in failing:
        case = cases.get(finding.symbol)
        path = _test_file(finding, case)
        ids.setdefault(path, []).append(finding.symbol)
        frames = case.failure.frames if case and case.failure else ()
        lines.setdefault(path, set()).update(frame.line for frame in frames if frame.path == path)
    shown: dict[str, str] = {}
    for path in filter(repository.is_test, ids):
        text = repository.text(path) or ""
        using = users(text, symbols, collected=path not in ids[path])
        part = excerpt(text, ids[path], also=using, lines=lines[path], most=most)
        if len(part) <= max(most, 0) or not any(shown.values()):
            shown[path] = part
            most -= len(part)
    return shown


def _helpers(tests: Mapping[str, str], project: ModuleIndex, repository: SourceTree) -> dict[str, str]:
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


def _shortened(texts: Mapping[str, str], most: int) -> dict[str, str]:
    """Return `texts`, the longest of them cut or left out, so that all together have at most `most` characters."""
    kept: dict[str, str] = {}
    for number, path in enumerate(sorted(texts, key=lambda path: len(texts[path]))):
        share = (most - sum(map(len, kept.values()))) // (len(texts) - number)
        if share >= min(LEAST, len(texts[path])):
            kept[path] = cut(texts[path], share)
    return kept


def _relative(path: str) -> bool:
    return bool(path) and not Path(path).is_absolute() and ".." not in PurePosixPath(path).parts
