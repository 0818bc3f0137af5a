"""Chooses what of the repository a model is shown, and lays it out: stable parts first, evidence last."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coderefine.core import Case, Finding
from coderefine.llm.code import Code
from coderefine.llm.evidence import MOST, Witness, leading, near_tests, tell
from coderefine.llm.excerpt import excerpt, joined
from coderefine.llm.fixtures import shared
from coderefine.llm.folding import MARKED, RAN
from coderefine.llm.missing_symbols import Failed, MissingSymbol, find_missing, users
from coderefine.llm.modules import Definition, Project, Read, dotted_names
from coderefine.llm.normalize import cut
from coderefine.llm.outline import parsed
from coderefine.llm.selection import Trace
from coderefine.source import decode

TESTS = 1_500
"""Characters of failing tests."""

USERS = 6_500
"""Characters of tests that use what does not exist yet: they are what is asked for."""

SAID = 4_000
"""Characters of each part of a failure that are searched for what is missing."""

WIDER = 1.6
"""How much more of tests and results is shown once there is progress: all that is left, then."""


@dataclass(frozen=True, slots=True)
class Repository:
    """How to look at the tree under repair: `text` gives a file (None: no such text), `prefix` is the project's
    folder in it ("." for the top), `is_test` and `writable` answer for a path. `always`: files shown in any case.
    `listing`: the files in a folder. `needed`: (path, name) of definitions that the model asked for; without a name
    the file."""

    top: Path
    prefix: str
    text: Read
    is_test: Callable[[str], bool]
    writable: Callable[[str], bool]
    always: tuple[str, ...] = ()
    listing: Callable[[str], Sequence[str]] = lambda _: ()
    needed: tuple[tuple[str, str], ...] = ()

    def is_code(self, path: str) -> bool:
        """Whether `path` is the project's own code, which may be shown and edited."""
        return _relative(path) and not self.is_test(path) and self.writable(path)


@dataclass(frozen=True, slots=True)
class Context:
    """What is shown. `shown` are the paths whose code is in it."""

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
    """The context for clearing `findings`. Only the last part depends on anything but source text.

    `room`: the share of the usual size that there is room for, at most 1. `trace` gives what the failing tests
    executed (None: not known); it costs a run and is asked only where not all code is shown anyway.
    `wide`: show all remaining failures.
    """
    witness = Witness(repository.top, cases, repository.text)
    project = Project(repository.text, repository.prefix, repository.listing)
    tests = [finding for finding in findings if finding.critic == "pytest"]
    things = find_missing((_failed(finding, cases) for finding in tests), project)
    share = room * (WIDER if wide else 1.0)
    told = leading(findings, witness, wide=wide)
    sources = _sources(told, cases, repository, things, int((USERS if things else TESTS) * share))
    sources |= shared(sources, repository.text)
    sources |= _helpers(sources, project, repository)
    chooser = Code(project, repository, trace if tests else lambda: None, room)
    code = chooser.texts(_pointed(findings, cases), sources, things)
    sign = mark((*code.values(), *sources.values()))
    shown_code = _code_part(code, sign)
    shown_tests = _tests_part(sources, sign)
    said = [thing.said for thing in things] + [tell(findings, witness, int(MOST * share), wide=wide)]
    said += near_tests(chooser.trace, cases, told)
    evidence = fenced("result", "", "\n".join(filter(None, said)), sign)
    if room < 1:
        shown_tests, evidence = (
            cut(text, int(most * share)) for text, most in ((shown_tests, TESTS), (evidence, MOST))
        )
    return Context(shown_code, shown_tests, evidence, tuple(code))


LEGEND = f"Lines that the failing tests executed end in {RAN.strip()}; leave that mark out of edits."


def _code_part(code: Mapping[str, str], sign: str) -> str:
    """Delimit the code, with a legend where executed lines are marked."""
    legend = LEGEND if any(MARKED.search(text) for text in code.values()) else ""
    parts = [legend, *(fenced("file", path, text, sign) for path, text in code.items())]
    return "\n".join(filter(None, parts))


def _tests_part(sources: Mapping[str, str], sign: str) -> str:
    """Delimit the tests, files without any left out."""
    return "\n".join(fenced("tests", path, text, sign) for path, text in sources.items() if text)


def _test_file(finding: Finding, case: Case | None) -> str:
    """Give the file of the finding's test."""
    return case.path if case and case.path else finding.path


def _failed(finding: Finding, cases: Mapping[str, Case]) -> Failed:
    """The finding's test, with all that is known of its failure."""
    case = cases.get(finding.symbol)
    failure = case.failure if case else None
    said = [finding.message, finding.evidence]
    frames: tuple[str, ...] = ()
    if failure:
        said += [f"{failure.exception}: {failure.message}", failure.assertion, failure.output]
        frames = tuple(frame.path for frame in failure.frames if _relative(frame.path))
    path = _test_file(finding, case)
    return Failed(path, "\n".join(cut(text, SAID) for text in said), "::" not in finding.symbol, frames)


def _pointed(findings: Sequence[Finding], cases: Mapping[str, Case]) -> tuple[tuple[str, int], ...]:
    """(path, line) of the frames of all failures, innermost first, then of the other findings."""
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


def _sources(
    failing: Iterable[Finding],
    cases: Mapping[str, Case],
    repository: Repository,
    things: Sequence[MissingSymbol],
    most: int,
) -> dict[str, str]:
    """The failing tests' source by test file, and tests that use what is missing."""
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


def _helpers(sources: Mapping[str, str], project: Project, repository: Repository) -> dict[str, str]:
    """Functions and constants of other test modules that the shown tests use."""
    wanted: dict[str, set[ast.stmt]] = {}
    for path, source in sources.items():
        tree = parsed(source)
        for name in sorted(dotted_names(tree)) if tree else ():
            found = project.locate(name, path)
            if isinstance(found, Definition) and _is_helper(found, sources, repository):
                wanted.setdefault(found.path, set()).add(found.node)
    return {path: joined(project.read(path) or "", nodes) for path, nodes in sorted(wanted.items())}


def _is_helper(found: Definition, sources: Mapping[str, str], repository: Repository) -> bool:
    """Tell whether a definition is a function or constant of a test module that is not shown."""
    away = found.path not in sources and repository.is_test(found.path)
    return away and not isinstance(found.node, ast.ClassDef)


def _relative(path: str) -> bool:
    return bool(path) and not Path(path).is_absolute() and ".." not in PurePosixPath(path).parts


def mark(texts: Iterable[str]) -> str:
    """A mark that the delimited text cannot contain, since it depends on it."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:6]


def fenced(kind: str, path: str, text: str, mark: str) -> str:
    """`text` between lines that say what it is and bear `mark`."""
    head = f"=== {kind} {path}".rstrip()
    return f"{head} [{mark}]\n{text.rstrip()}\n=== end [{mark}]"


def text_of(data: bytes | None) -> str | None:
    """`data` as text with plain line ends, None when it is none."""
    source = decode(data) if data is not None else None
    return source.text if source else None
