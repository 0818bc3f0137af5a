"""Format the reports of the tools for a model: values, frames and locals, without noise and repetition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Case, Failure, Finding, Frame, Status, without_parameters
from coderefine.core.plurals import listed
from coderefine.llm.normalize import cut, normalize, normalize_output
from coderefine.llm.selection import Trace
from coderefine.sensitive import shortened

IN_FULL, WIDE = 4, 12
"""Maximum number of failures described in full, at first and once there is progress; others are listed by message."""
LINES, NAMED = 2, 3
"""Maximum number of lines for failing tests that are not described in full, and of tests named in one such line."""
REMARKS, FEW = 25, 1
"""Maximum number of lines for findings that are not about tests: if all tests pass, and if tests fail."""
MOST, FULL = 600, 1_200
"""Maximum number of characters of all failures described in full, and of each. The first is described in any case."""
EACH, OUTPUT = 700, 400
"""Maximum number of characters of the message of a failure described in full, and of its output."""
BRIEF = 800
"""Maximum number of characters of a short failure message; failures with short messages come first."""
NEAR = 3
"""Maximum number of passing tests that are named."""
FRAMES = 4
LOCALS, FEWER = 6, 2
"""Maximum number of locals shown for the innermost frame, and for each of its callers."""
VALUE, SHORTER, VALUES = 80, 40, 240
"""Maximum number of characters of a value in the innermost frame and in its callers, and of all values of a frame."""


@dataclass(frozen=True, slots=True)
class EvidenceSources:
    """The sources of the evidence: the repository's top, the results of the tests, and the texts of the files."""

    top: Path
    cases: Mapping[str, Case]
    text: Callable[[str], str | None]

    def failure(self, finding: Finding) -> Failure | None:
        case = self.cases.get(finding.symbol)
        return case.failure if case else None


def describe(findings: Sequence[Finding], sources: EvidenceSources, most: int, *, wide: bool) -> str:
    """Format `findings`: failing tests first, in full up to about `most` characters; then the others, briefly."""
    in_full: list[Finding] = []
    texts: list[str] = []
    for finding in leading(findings, sources, wide=wide):
        text = cut(_in_full(finding, sources), FULL)
        if not texts or sum(map(len, texts)) + len(text) <= most:
            in_full.append(finding)
            texts.append(text)
    rest = [finding for finding in findings if finding.critic == "pytest" and finding not in in_full]
    others = [finding for finding in findings if finding.critic != "pytest"]
    remarks = _lines(others, sources, FEW if in_full else REMARKS)
    return "\n".join((*texts, *_also_failed(rest, sources), *remarks))


def leading(findings: Iterable[Finding], sources: EvidenceSources, *, wide: bool) -> list[Finding]:
    """Select at most IN_FULL (with `wide`: WIDE) test failures: one of each kind first, then one of each test function.

    Two failures are of the same kind if the same function raised the same exception.
    """

    def is_long(finding: Finding) -> bool:
        failure = sources.failure(finding)
        return failure is not None and len(_message(failure)) > BRIEF

    def kind(finding: Finding) -> object:
        failure = sources.failure(finding)
        frame = failure.frames[-1] if failure and failure.frames else None
        return (failure.exception, frame and (frame.path, frame.function)) if failure else finding.message

    def function(finding: Finding) -> object:
        return without_parameters(finding.symbol) or finding.path

    tests = sorted((finding for finding in findings if finding.critic == "pytest"), key=is_long)
    ordered = (*_first_of_each(tests, kind), *_first_of_each(tests, function))
    return _first_of_each(ordered, lambda finding: finding.identity)[: WIDE if wide else IN_FULL]


def _first_of_each(findings: Iterable[Finding], key: Callable[[Finding], object]) -> list[Finding]:
    found: dict[object, Finding] = {}
    for finding in findings:
        found.setdefault(key(finding), finding)
    return list(found.values())


def passing_nearby(trace: Trace | None, cases: Mapping[str, Case], failing: Sequence[Finding]) -> str:
    """Return a line that names, by file, a few passing tests that a repair may break.

    These tests execute the suspicious code, according to `trace`. If no such test is known, they are in the files of
    the `failing` tests, and have the most similar names.
    """
    near = (trace and trace.near) or _same_file(cases, failing)
    named: dict[str, list[str]] = {}
    for test in list(dict.fromkeys(map(without_parameters, near)))[:NEAR]:
        path, _, name = test.partition("::")
        named.setdefault(path, []).append(name)
    files = "; ".join(f"{path}: {', '.join(names)}" for path, names in named.items())
    return files and f"passing now, to be kept: {files}"


def _same_file(cases: Mapping[str, Case], failing: Sequence[Finding]) -> list[str]:
    """Return the passing tests in the files of the `failing` tests; those with the most similar names first."""
    files = {finding.symbol.partition("::")[0] for finding in failing}
    words = _words(" ".join(finding.symbol for finding in failing))
    passing = (test for test, case in cases.items() if case.status is Status.PASSED)
    same_file = [test for test in passing if test.partition("::")[0] in files]
    return sorted(same_file, key=lambda test: -len(_words(test) & words))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


def _in_full(finding: Finding, sources: EvidenceSources) -> str:
    """Describe the failure of a test: its message, the frames in the project, and the captured output."""
    name = finding.symbol or finding.where
    failure = sources.failure(finding)
    if failure is None:
        body = "\n".join(part for part in (finding.message, finding.evidence) if part)
        return f"FAILED {name}\n{cut(normalize(body, sources.top), EACH)}"
    lines = [cut(normalize(_message(failure), sources.top), EACH)]
    frames = _telling(failure.frames, sources.cases[finding.symbol].path)
    lines += [_frame(frame, sources, innermost=frame is frames[-1]) for frame in frames]
    if failure.output.strip():
        lines.append(f"printed: {cut(normalize_output(failure.output.strip(), sources.top), OUTPUT)}")
    return "\n".join((f"FAILED {name}", *filter(None, lines)))


def _telling(frames: Sequence[Frame], test_path: str) -> Sequence[Frame]:
    """Return the innermost FRAMES frames in the project, without those in the test's file that have no locals."""
    inside = [frame for frame in frames if not Path(frame.path).is_absolute()]
    return [frame for frame in inside if frame.path != test_path or frame.locals][-FRAMES:]


def _message(failure: Failure) -> str:
    """Return exception, message and assertion without repetition."""
    message, detail = failure.message.strip(), failure.assertion.strip()
    # Omit the exception's name if the assertion repeats the rest of the message.
    bare = message.removeprefix(f"{failure.exception.rpartition('.')[2]}: ")
    message = bare if bare and bare in failure.assertion else message
    kind = "" if failure.exception in message else failure.exception
    whole = ": ".join(filter(None, (kind, message)))
    if detail in whole:
        return whole
    return detail if message and message in detail else f"{whole}\n{detail}"


def _frame(frame: Frame, sources: EvidenceSources, *, innermost: bool) -> str:
    """Format a frame with its source line and its first locals; `self` comes last, and is omitted for callers."""
    lines = (sources.text(frame.path) or "").split("\n")
    source = _short(lines[frame.line - 1].strip()) if 0 < frame.line <= len(lines) else ""
    names = sorted((name for name in frame.locals if innermost or name != "self"), key="self".__eq__)
    most, length = (LOCALS, VALUE) if innermost else (FEWER, SHORTER)
    shown = [f"{name}={_short(frame.locals[name], length)}" for name in names[:most]]
    values = f"; {_short(', '.join(shown), VALUES)}" if shown else ""
    return normalize(f"  {frame.path}:{frame.line} {frame.function}: {source}{values}", sources.top)


def _short(value: str, most: int = VALUE) -> str:
    return shortened(re.sub(r"\s+", " ", value), most)


def _also_failed(findings: Sequence[Finding], sources: EvidenceSources) -> list[str]:
    """Return a line for each different message, with the tests that failed with it; at most LINES such lines.

    If there are more messages, add a line with the number of the other failures.
    """
    by_message: dict[str, list[str]] = {}
    for finding in findings:
        failure = sources.failure(finding)
        message = _short(failure.message if failure else finding.message, 100)
        by_message.setdefault(message, []).append(_short(finding.symbol.rpartition("::")[2] or finding.where))
    lines = [f"also FAILED {listed(names, NAMED)}: {message}" for message, names in list(by_message.items())[:LINES]]
    left = sum(map(len, list(by_message.values())[LINES:]))
    return [*(normalize(line, sources.top) for line in lines), *([f"… and {left} more"] if left else [])]


def _lines(findings: Sequence[Finding], sources: EvidenceSources, most: int) -> list[str]:
    """Return one line for each of the first `most` findings, and one with the number of others.

    An instruction that several findings share is given only once.
    """
    more = [f"… and {len(findings) - most} more"] if len(findings) > most else []
    advice: set[str] = set()
    lines = []
    for finding in findings[:most]:
        instruction = f" ({finding.instruction})" if finding.instruction and finding.instruction not in advice else ""
        advice.add(finding.instruction)
        lines.append(normalize(f"{finding.where} {finding.rule}: {finding.message}{instruction}".strip(), sources.top))
    return [*lines, *more]
