"""The state that a request is about: a tree, and what the tools report on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from coderefine.core import FIX, Attempt, Case, Finding, Patch, Severity, Situation, Status, Task
from coderefine.llm.prompts import render
from coderefine.proposers.model.ledger import ORIGIN, failed, outcome
from coderefine.proposers.model.plan import Base, Move
from coderefine.proposers.model.tree import Overlay


@dataclass(frozen=True, slots=True)
class PromptState:
    """The patch that edits come on top of, what the tools say about that tree, and the question."""

    patch: Patch
    findings: tuple[Finding, ...]
    cases: Mapping[str, Case]
    ask: str


def choose_state(
    move: Move, situation: Situation, start: Overlay, writable: Callable[[str], bool], task: Task = FIX
) -> PromptState:
    """Where `move` starts from, and its question. `start` is the tree without a patch."""
    found = _choose(move, situation, start, writable)
    usual = found.ask in (render("first"), render("quality"))
    return replace(found, ask=render("goal")) if usual and task.goal else found


def _choose(move: Move, situation: Situation, start: Overlay, writable: Callable[[str], bool]) -> PromptState:
    if move.base is Base.LAST:
        return _last(move, situation, writable)
    if all(finding.severity is Severity.SOFT for finding in situation.findings):
        # Nothing fails: what an adviser remarked is about the best tree, and no earlier one will do.
        return _upon_best(situation, "improve" if failed(situation) else "quality")
    if move.base is Base.START:
        return _upon_best(situation, "fresh")
    lineage = _promising(situation) if move.base is Base.FAILED else None
    if lineage:
        ask = render("repair", number=str(lineage.number), reason=outcome(lineage, start))
        return PromptState(lineage.patch, hard(lineage, situation), lineage.cases, ask)
    name = "first" if move.prompt == "first" or not failed(situation) else "other"
    return _upon_best(situation, _fitting(name, situation))


def _upon_best(situation: Situation, prompt: str) -> PromptState:
    best = situation.best
    return PromptState(best.patch, situation.findings, best.cases, render(prompt))


def initial_state(situation: Situation) -> PromptState:
    """The untouched tree."""
    findings = situation.findings if situation.best.number == 0 else hard(situation.baseline, situation)
    return PromptState(Patch(), findings, situation.baseline.cases, render("fresh"))


def state_after(attempt: Attempt, situation: Situation, writable: Callable[[str], bool], ask: str = "") -> PromptState:
    """The tree that `attempt` left, without what it may not write; what it was never tested for is told of the best."""
    files = {path: data for path, data in attempt.patch.files.items() if writable(path)}
    patch = replace(attempt.patch, files=files)
    if not attempt.checks:
        return PromptState(patch, situation.findings, situation.best.cases, ask)
    return PromptState(patch, hard(attempt, situation), attempt.cases, ask)


def hard(attempt: Attempt, situation: Situation) -> tuple[Finding, ...]:
    """The hard findings of `attempt`, flaky tests left out."""
    return tuple(
        finding
        for finding in attempt.findings
        if finding.severity is Severity.HARD and finding.symbol not in situation.flaky
    )


def _last(move: Move, situation: Situation, writable: Callable[[str], bool]) -> PromptState:
    mine = [attempt for attempt in situation.attempts if attempt.patch.origin == ORIGIN]
    if not mine:
        return PromptState(situation.best.patch, situation.findings, situation.best.cases, render("first"))
    return state_after(mine[-1], situation, writable, render(move.prompt))


def _fitting(name: str, situation: Situation) -> str:
    """Without a failing test the question is about quality."""
    tests = any(finding.critic == "pytest" for finding in situation.findings)
    return name if tests or name != "first" else "quality"


def _promising(situation: Situation) -> Attempt | None:
    """The failed attempt that repairs the most tests of the best tree, the newest among equals; None without any.

    Older ones than the best lack what it gained.
    """
    wanted = [test for test, case in situation.best.cases.items() if case.status.bad]
    rated = [(_repaired(attempt, wanted), attempt.number, attempt) for attempt in failed(situation)]
    rated = [item for item in rated if item[1] > situation.best.number]
    best = max(rated, key=lambda item: item[:2], default=None)
    return best[2] if best and best[0] > 0 else None


def _repaired(attempt: Attempt, wanted: Sequence[str]) -> int:
    cases = attempt.cases
    return sum(1 for test in wanted if test in cases and cases[test].status is Status.PASSED)
