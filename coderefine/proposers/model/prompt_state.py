"""The state that a request to the model describes: a tree, the findings on this tree, and the question."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from coderefine.core import Attempt, Case, Finding, Patch, Severity, Situation, Status, Task
from coderefine.llm.normalize import cut, normalize_output
from coderefine.llm.prompts import render
from coderefine.proposers.model.policies import Base, Move
from coderefine.source import text_of

ORIGIN = "model"
"""`Patch.origin` of a model's patches."""
LARGEST = 1_000_000
"""Maximum size in bytes of a file that a model can edit."""
REASON = 120
"""Maximum number of characters of a failing test's message in the outcome of an attempt."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """The user's files with a patch applied in memory. The model edits these files.

    `top`: root of the repository; nothing outside it is read, not even through symbolic links.
    """

    top: Path
    patch: Patch

    def read(self, path: str) -> bytes | None:
        """Return the bytes of `path`; None if it is no regular file inside `top`, or is larger than LARGEST."""
        if path in self.patch.files:
            return self.patch.files[path]
        file = self.top / path
        try:
            inside = file.resolve().is_relative_to(self.top.resolve())
            return file.read_bytes() if inside and file.is_file() and file.stat().st_size <= LARGEST else None
        except (OSError, ValueError):
            return None

    def text(self, path: str) -> str | None:
        return text_of(self.read(path))

    def listing(self, folder: str) -> tuple[str, ...]:
        """Return the sorted paths of the files directly in `folder`, relative to `top`.

        Hidden files are left out, except those that the patch contains.
        """
        try:
            found = {entry.name for entry in os.scandir(self.top / folder) if entry.is_file(follow_symlinks=False)}
        except OSError:
            found = set()
        patched = {path for path in self.patch.files if PurePosixPath(path).parent == PurePosixPath(folder)}
        paths = {(PurePosixPath(folder) / name).as_posix() for name in found if not name.startswith(".")} | patched
        return tuple(sorted(path for path in paths if self.patch.files.get(path, b"") is not None))


@dataclass(frozen=True, slots=True)
class PromptState:
    """What a request describes.

    `patch`: the patch that the model edits; `findings`, `cases`: the findings and the test results on the tree with
    this patch; `ask`: the question.
    """

    patch: Patch
    findings: tuple[Finding, ...]
    cases: Mapping[str, Case]
    ask: str


def choose_state(
    move: Move, situation: Situation, start: Overlay, writable: Callable[[str], bool], task: Task
) -> PromptState:
    """Return the state from which `move` starts, with its question. `start`: the tree without a patch."""
    state = _choose(move, situation, start, writable)
    usual = state.ask in (render("first"), render("quality"))
    return replace(state, ask=render("goal")) if usual and task.goal else state


def _choose(move: Move, situation: Situation, start: Overlay, writable: Callable[[str], bool]) -> PromptState:
    mine = [attempt for attempt in situation.attempts if attempt.patch.origin == ORIGIN]
    if move.base is Base.LAST:
        return state_after(mine[-1], situation, writable, move.prompt) if mine else best_state(situation, "first")
    lineage = _promising(situation) if move.base is Base.FAILED else None
    if lineage and _fails(situation.findings):
        ask = render("repair", number=str(lineage.number), reason=outcome(lineage, start))
        return PromptState(lineage.patch, hard(lineage, situation), lineage.cases, ask)
    return best_state(situation, _prompt(move, situation))


def _prompt(move: Move, situation: Situation) -> str:
    """Return the name of the prompt with the question about the best tree."""
    tried = failed(situation)
    if not _fails(situation.findings):
        # Findings of advisers are about the best tree, so the request must be about it, too.
        return "improve" if tried else "quality"
    if move.base is Base.START:
        return "fresh"
    if tried and move.prompt != "first":
        return "other"
    return "first" if any(finding.critic == "pytest" for finding in situation.findings) else "quality"


def _fails(findings: Sequence[Finding]) -> bool:
    return any(finding.severity is Severity.HARD for finding in findings)


def best_state(situation: Situation, prompt: str) -> PromptState:
    """Return the state of the best tree so far."""
    best = situation.best
    return PromptState(best.patch, situation.findings, best.cases, render(prompt))


def initial_state(situation: Situation) -> PromptState:
    """Return the state of the unchanged tree."""
    findings = situation.findings if situation.best.number == 0 else hard(situation.baseline, situation)
    return PromptState(Patch(), findings, situation.baseline.cases, render("fresh"))


def state_after(attempt: Attempt, situation: Situation, writable: Callable[[str], bool], prompt: str) -> PromptState:
    """Return the state after `attempt`, without files that the model may not write.

    If the attempt was refused before tests ran, the state has the findings and test results of the best tree.
    """
    files = {path: data for path, data in attempt.patch.files.items() if writable(path)}
    state = replace(best_state(situation, prompt), patch=replace(attempt.patch, files=files))
    return replace(state, findings=hard(attempt, situation), cases=attempt.cases) if attempt.checks else state


def hard(attempt: Attempt, situation: Situation) -> tuple[Finding, ...]:
    """Return the hard findings of `attempt`, except those about flaky tests."""
    findings = (finding for finding in attempt.findings if finding.severity is Severity.HARD)
    return tuple(finding for finding in findings if finding.symbol not in situation.flaky)


def failed(situation: Situation) -> tuple[Attempt, ...]:
    """Return the model's attempts that were refused or are no improvement, oldest first.

    Failed attempts of other proposers are left out: there are many, and a model cannot learn from them.
    """
    return tuple(item for item in situation.attempts if item.patch.origin == ORIGIN and not item.verdict)


def outcome(attempt: Attempt, start: Overlay) -> str:
    """Return the complete reason why the attempt failed, with the message of the first failing test."""
    reason = " ".join((attempt.verdict.reason or "no better than before").split())
    case = next((case for case in attempt.cases.values() if case.status.bad), None)
    if case and case.failure:
        test = case.id.rsplit("::", 1)[-1]
        message = normalize_output(" ".join(case.failure.message.split()), start.top)
        reason = f"{reason}; {test}: {cut(message, REASON)}"
    return normalize_output(reason, start.top).replace("\n", " ")


def _promising(situation: Situation) -> Attempt | None:
    """Return the failed attempt that repairs the most failing tests of the best tree; None if there is none.

    If several attempts repair the same number of tests, return the newest. Attempts older than the best tree are not
    considered, because they lack its improvements.
    """
    wanted = [test for test, case in situation.best.cases.items() if case.status.bad]

    def repaired(attempt: Attempt) -> int:
        cases = (attempt.cases.get(test) for test in wanted)
        return sum(1 for case in cases if case and case.status is Status.PASSED)

    later = [attempt for attempt in failed(situation) if attempt.number > situation.best.number]
    best = max(later, key=lambda attempt: (repaired(attempt), attempt.number), default=None)
    return best if best and repaired(best) else None
