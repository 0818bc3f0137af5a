"""Chooses what of the repository a model is shown, and lays it out: stable parts first, evidence last."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coderefine.core import Case, Finding
from coderefine.llm.evidence import MOST, Witness, leading, tell
from coderefine.llm.excerpt import excerpt, imports
from coderefine.llm.fixtures import shared
from coderefine.llm.outline import at_lines, called, narrow, outline, used
from coderefine.llm.steady import cut
from coderefine.source import decode

WHOLE = 3_000
"""Characters up to which a file is shown whole."""

CODE = 14_000
TESTS = 4_000
FILES = 6


@dataclass(frozen=True, slots=True)
class Repository:
    """How to look at the tree under repair: `text` gives a file (None: no such text), `prefix` is the project's
    folder in it ("." for the top), `is_test` and `writable` answer for a path. `always`: files shown in any case."""

    top: Path
    prefix: str
    text: Callable[[str], str | None]
    is_test: Callable[[str], bool]
    writable: Callable[[str], bool]
    always: tuple[str, ...] = ()


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
    findings: Sequence[Finding], cases: Mapping[str, Case], repository: Repository, room: float = 1.0
) -> Context:
    """The context for clearing `findings`. Only the last part depends on anything but source text.

    `room`: the share of the usual size that there is room for, at most 1.
    """
    witness = Witness(repository.top, cases, repository.text)
    sources = _sources(leading(findings, witness), cases, repository)
    sources |= shared(sources, repository.text)
    clues = _clues(findings, cases, sources)
    files = _files(findings, cases, sources, repository)
    sign = mark((*files.values(), *sources.values()))
    shown = {path: _shown(path, text, clues, room) for path, text in files.items()}
    code = _fit((fenced("file", path, text, sign) for path, text in shown.items()), int(CODE * room))
    tests = _fit((fenced("tests", path, text, sign) for path, text in sources.items() if text), int(TESTS * room))
    evidence = fenced("result", "", cut(tell(findings, witness), int(MOST * room)), sign)
    return Context(code, tests, evidence, tuple(files))


@dataclass(frozen=True, slots=True)
class _Clues:
    """What points at functions: lines by path, and names that the tests use."""

    lines: Mapping[str, frozenset[int]]
    names: frozenset[str]


def _clues(findings: Sequence[Finding], cases: Mapping[str, Case], sources: Mapping[str, str]) -> _Clues:
    lines: dict[str, set[int]] = {}
    for path, line in (*_frames(findings, cases), *_spans(findings)):
        lines.setdefault(path, set()).add(line)
    names = frozenset[str]().union(*(used(text) for text in sources.values()))
    return _Clues({path: frozenset(found) for path, found in lines.items()}, names)


def _frames(findings: Iterable[Finding], cases: Mapping[str, Case]) -> Iterator[tuple[str, int]]:
    """(path, line) of the frames of all failures, innermost first."""
    for finding in findings:
        case = cases.get(finding.symbol)
        if case and case.failure:
            yield from ((frame.path, frame.line) for frame in reversed(case.failure.frames))


def _spans(findings: Iterable[Finding]) -> Iterator[tuple[str, int]]:
    for finding in findings:
        if finding.span:
            yield from ((finding.path, line) for line in (finding.span.first, finding.span.last))


def _sources(failing: Iterable[Finding], cases: Mapping[str, Case], repository: Repository) -> dict[str, str]:
    """The failing tests' source by test file."""
    ids: dict[str, list[str]] = {}
    for finding in failing:
        case = cases.get(finding.symbol)
        ids.setdefault(case.path if case and case.path else finding.path, []).append(finding.symbol)
    texts = {path: repository.text(path) for path in ids if repository.is_test(path)}
    return {path: excerpt(text, ids[path]) for path, text in texts.items() if text}


def _files(
    findings: Sequence[Finding], cases: Mapping[str, Case], sources: Mapping[str, str], repository: Repository
) -> dict[str, str]:
    """The files worth showing, sorted by path so that the prompt's start is stable: where findings and frames
    point, then what the failing tests import."""
    pointed = [path for path, _ in _frames(findings, cases)]
    pointed += [finding.path for finding in findings]
    imported = [path for test in sources for path in _imported(test, repository)]
    found: dict[str, str] = {}
    for path in dict.fromkeys((*repository.always, *pointed, *imported)):
        text = repository.text(path) if _relative(path) and not repository.is_test(path) else None
        if text is not None and repository.writable(path):
            found[path] = text
    return dict(sorted(list(found.items())[:FILES]))


def _relative(path: str) -> bool:
    return bool(path) and not Path(path).is_absolute() and ".." not in PurePosixPath(path).parts


def _imported(test: str, repository: Repository) -> Iterator[str]:
    """Files of the repository that the test file imports; through a package's `__init__.py` one step further."""
    for path in _modules(test, repository):
        yield path
        if path.endswith("/__init__.py"):
            yield from _modules(path, repository)


def _modules(path: str, repository: Repository) -> Iterator[str]:
    text = repository.text(path)
    for name in imports(text) if text else ():
        found = next((file for file in _candidates(name, path, repository.prefix) if repository.text(file)), None)
        if found and found != path:
            yield found


def _candidates(name: str, path: str, prefix: str) -> Iterator[str]:
    """Where the module `name`, imported in `path`, may lie."""
    here = PurePosixPath(path).parent
    level = len(name) - len(name.lstrip("."))
    tail = name.lstrip(".").replace(".", "/")
    if level:
        bases = [[here, *here.parents][min(level, len(here.parts) + 1) - 1]]
    else:
        bases = [PurePosixPath(prefix) / "src", PurePosixPath(prefix), here, here.parent]
    for base in bases:
        for ending in (".py", "/__init__.py") if tail else ("__init__.py",):
            yield (base / f"{tail}{ending}").as_posix()


def _shown(path: str, text: str, clues: _Clues, room: float) -> str:
    """`text` whole when it is short, else outlined around what the clues point at."""
    if len(text) <= WHOLE * room:
        return text
    keep = at_lines(text, clues.lines.get(path, frozenset())) | called(text, clues.names)
    drawn = outline(text, keep)
    return drawn if len(drawn) <= CODE * room / 2 else narrow(text, keep)


def mark(texts: Iterable[str]) -> str:
    """A mark that the delimited text cannot contain, since it depends on it."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:6]


def fenced(kind: str, path: str, text: str, mark: str) -> str:
    """`text` between lines that say what it is and bear `mark`."""
    head = f"=== {kind} {path}".rstrip()
    return f"{head} [{mark}]\n{text.rstrip()}\n=== end [{mark}]"


def _fit(parts: Iterable[str], most: int) -> str:
    """The parts one after the other, each cut to what its share of `most` characters allows."""
    listed = list(parts)
    whole = sum(map(len, listed))
    if whole <= most:
        return "\n".join(listed)
    return "\n".join(cut(part, max(400, most * len(part) // whole)) for part in listed)


def text_of(data: bytes | None) -> str | None:
    """`data` as text with plain line ends, None when it is none."""
    source = decode(data) if data is not None else None
    return source.text if source else None
