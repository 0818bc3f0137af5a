"""What the tools said, in the words a model needs: values, frames and locals; noise and repetition cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Case, Failure, Finding, Frame, Status
from coderefine.llm.normalize import cut, normalize, normalize_output
from coderefine.llm.selection import Trace
from coderefine.sensitive import shortened

IN_FULL = 4
"""Failures told in full; the others of the same kind get a line."""

WIDE = 12
"""Failures told in full once there is progress."""

LINES = 8
"""Lines for failing tests that are not told in full."""

REMARKS = 25
"""Lines for findings of other gates."""

MOST = 1_600
"""Characters of failing tests told in full, the first one whatever its length."""

BRIEF = 800
"""Characters up to which a failure is brief: those come first."""

NEAR = 5
"""Passing tests that are named."""

EACH = 1_600
OUTPUT = 600
LOCALS = 8
FRAMES = 4


@dataclass(frozen=True, slots=True)
class Witness:
    """Where the words come from: the repository's top, each failing test's result, and the files' text."""

    top: Path
    cases: Mapping[str, Case]
    text: Callable[[str], str | None] = lambda _: None

    def line(self, frame: Frame) -> str:
        """The source line that `frame` stands on, short."""
        lines = (self.text(frame.path) or "").split("\n")
        return _short(lines[frame.line - 1].strip()) if 0 < frame.line <= len(lines) else ""


def tell(findings: Sequence[Finding], witness: Witness, most: int = MOST, *, wide: bool = False) -> str:
    """All `findings` as text, failing tests first, about `most` characters of them in full."""
    tests = [finding for finding in findings if finding.critic == "pytest"]
    others = [finding for finding in findings if finding.critic != "pytest"]
    chosen: list[Finding] = []
    told: list[str] = []
    for finding in leading(tests, witness, wide=wide):
        text = _failed(finding, witness)
        if not told or sum(map(len, told)) + len(text) <= most:
            chosen.append(finding)
            told.append(text)
    rest = [finding for finding in tests if finding not in chosen]
    told += _lines("also FAILED", rest, witness, LINES)
    told += _lines("", others, witness, REMARKS)
    return "\n".join(told)


def leading(findings: Iterable[Finding], witness: Witness, *, wide: bool = False) -> list[Finding]:
    """The few test failures worth telling in full: one of each kind first, then one of each test function."""
    tests = [finding for finding in findings if finding.critic == "pytest"]
    tests.sort(key=lambda finding: _size(finding, witness) > BRIEF)
    kinds = _firsts(tests, lambda finding: _kind(finding, witness))
    functions = _firsts(tests, lambda finding: finding.symbol.split("[", maxsplit=1)[0] or finding.path)
    return _firsts((*kinds, *functions), lambda finding: finding.identity)[: WIDE if wide else IN_FULL]


def _size(finding: Finding, witness: Witness) -> int:
    """Characters of what the failure says: a short one tells more in less."""
    case = witness.cases.get(finding.symbol)
    return len(_said(case.failure)) if case and case.failure else 0


def near_tests(trace: Trace | None, cases: Mapping[str, Case], failing: Sequence[Finding]) -> list[str]:
    """A line that names passing tests near the edit: those that execute the same code, else those called alike."""
    near = list(trace.near) if trace else []
    if not near:
        near = _beside(cases, failing)
    named: dict[str, list[str]] = {}
    for test in list(dict.fromkeys(test.split("[", maxsplit=1)[0] for test in near))[:NEAR]:
        path, _, name = test.partition("::")
        named.setdefault(path, []).append(name)
    return [f"passing now, to be kept: {path}: {', '.join(names)}" for path, names in named.items()]


def _beside(cases: Mapping[str, Case], failing: Sequence[Finding]) -> list[str]:
    """List the passing tests of the same files, those called most like the failing ones first."""
    passing = [test for test, case in cases.items() if case.status is Status.PASSED]
    files = {finding.symbol.partition("::")[0] for finding in failing}
    names = " ".join(finding.symbol for finding in failing)
    beside = [test for test in passing if test.partition("::")[0] in files]
    return sorted(beside, key=lambda test: -len(_words(test) & _words(names)))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


def _firsts(findings: Iterable[Finding], key: Callable[[Finding], object]) -> list[Finding]:
    """The first finding for each key, in order."""
    found: dict[object, Finding] = {}
    for finding in findings:
        found.setdefault(key(finding), finding)
    return list(found.values())


def _kind(finding: Finding, witness: Witness) -> object:
    """Two failures are of one kind when the same exception comes out of the same function."""
    case = witness.cases.get(finding.symbol)
    failure = case.failure if case else None
    if failure is None:
        return finding.message
    frame = failure.frames[-1] if failure.frames else None
    return (failure.exception, frame and (frame.path, frame.function))


def _failed(finding: Finding, witness: Witness) -> str:
    case = witness.cases.get(finding.symbol)
    name = finding.symbol or finding.where
    if case is None or case.failure is None:
        body = "\n".join(part for part in (finding.message, finding.evidence) if part)
        return f"FAILED {name}\n{cut(normalize(body, witness.top), EACH)}"
    return f"FAILED {name}\n{_failure(case.failure, case.path, witness)}"


def _failure(failure: Failure, test_path: str, witness: Witness) -> str:
    lines = [cut(normalize(_said(failure), witness.top), EACH)]
    lines += [_frame(frame, witness) for frame in _telling(failure.frames, test_path)]
    if failure.output.strip():
        lines.append(f"printed: {cut(normalize_output(failure.output.strip(), witness.top), OUTPUT)}")
    return "\n".join(line for line in lines if line)


def _said(failure: Failure) -> str:
    """Exception, message and assertion, each thing once."""
    message = _message(failure)
    kind = failure.exception if failure.exception and failure.exception not in message else ""
    said = f"{kind}: {message}" if kind and message else kind or message
    detail = failure.assertion.strip()
    if not detail or detail in said:
        return said
    return detail if message and message in detail else f"{said}\n{detail}"


def _message(failure: Failure) -> str:
    """Give the message, without the exception's name where the assertion repeats the rest."""
    message = failure.message.strip()
    bare = message.removeprefix(f"{failure.exception.rpartition('.')[2]}: ") if failure.exception else message
    return bare if bare and bare in failure.assertion else message


def _telling(frames: Sequence[Frame], test_path: str) -> Sequence[Frame]:
    """The frames worth a line, innermost last: those in the project; the test's own only for its locals."""
    inside = [frame for frame in frames if not Path(frame.path).is_absolute()]
    telling = [frame for frame in inside if frame.path != test_path or frame.locals]
    return telling[-FRAMES:]


def _frame(frame: Frame, witness: Witness) -> str:
    line = witness.line(frame)
    shown = [f"{name}={_short(value)}" for name, value in list(frame.locals.items())[:LOCALS]]
    values = f"; {', '.join(shown)}" if shown else ""
    return normalize(f"  {frame.path}:{frame.line} {frame.function}: {line}{values}", witness.top)


def _short(value: str, most: int = 80) -> str:
    flat = re.sub(r"\s+", " ", value)
    return shortened(flat, most)


def _lines(word: str, findings: Sequence[Finding], witness: Witness, most: int) -> list[str]:
    told = [_line(word, finding, witness) for finding in findings[:most]]
    missing = len(findings) - len(told)
    return [*told, f"… and {missing} more"] if missing > 0 else told


def _line(word: str, finding: Finding, witness: Witness) -> str:
    case = witness.cases.get(finding.symbol)
    said = case.failure.message if case and case.failure else finding.message
    where = finding.symbol if word else f"{finding.where} {finding.rule}"
    advice = f" ({finding.instruction})" if finding.instruction and not word else ""
    told = _short(said, 160) if word else said
    return normalize(f"{word} {where}: {told}{advice}".strip(), witness.top)
