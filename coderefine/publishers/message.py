"""The message of a commit: the user's subject, and the evidence as trailers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from coderefine.core import Attempt, Check, Cost, Outcome, Severity
from coderefine.core.plurals import counted

RUN = "Coderefine-Run"
"""The trailer by which a commit of coderefine is recognised."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The configured message: `message` may hold {summary}; `author` is `Name <address>`, None for the user."""

    message: str = "fix: {summary}"
    author: str | None = None

    def subject(self, outcome: Outcome) -> str:
        """Return the configured message with the summary in place of {summary}."""
        return self.message.replace("{summary}", _summary(outcome)).strip() or _summary(outcome)

    def full(self, outcome: Outcome, run: str) -> str:
        """Return the whole message: subject, steps (if several) and trailers, with blank lines between them."""
        parts = (self.subject(outcome), "\n".join(steps(outcome)), "\n".join(trailers(outcome, run)))
        return "\n\n".join(part for part in parts if part) + "\n"


PLAIN = Wording()
"""The message where nothing is configured."""


def trailers(outcome: Outcome, run: str = "") -> tuple[str, ...]:
    """Return `Key: value` lines: checks before and after, what was proved, attempts, cost, run."""
    values = (
        ("Coderefine-Checks", _checks(outcome.baseline, outcome.best)),
        ("Coderefine-Evidence", _evidence(outcome)),
        ("Coderefine-Confidence", _confidence(outcome)),
        (
            "Coderefine-Attempts",
            str(sum(1 for attempt in outcome.attempts if attempt.number)) if outcome.attempts else "",
        ),
        ("Coderefine-Cost", _cost(outcome.cost)),
        (RUN, run),
    )
    return tuple(f"{key}: {value}" for key, value in values if value)


def steps(outcome: Outcome) -> tuple[str, ...]:
    """Return a line for each accepted step of the best attempt; none when there is only one."""
    taken = _taken(outcome)
    return tuple(f"- {step.patch.origin}: {_words(step)}" for step in taken) if len(taken) > 1 else ()


def _taken(outcome: Outcome) -> list[Attempt]:
    """Return the accepted attempts that the best one is built on, and itself."""
    return [step for step in outcome.attempts if step.verdict and 0 < step.number <= outcome.best.number]


def _words(attempt: Attempt) -> str:
    return " ".join(attempt.patch.summary.split())


def _summary(outcome: Outcome) -> str:
    """Return the summary of the only step, or what all steps achieved and where."""
    if len(_taken(outcome)) < 2 and (words := _words(outcome.best)):
        return words
    before, left = (
        sum(finding.severity is Severity.HARD for finding in findings)
        for findings in (outcome.baseline.findings, outcome.remaining)
    )
    where = ", ".join(PurePosixPath(path).name for path in sorted(outcome.best.patch.files))
    return f"repair {counted(before - left, 'finding')} in {where}" if before > left else f"improve {where}"


def _checks(before: Attempt, after: Attempt) -> str:
    """Return hard findings per gate and a review's total: `pytest 3 -> 0, ruff 2 -> 0, review 2.5 -> 4.0`."""
    parts = []
    for check in before.checks:
        later = after.check(check.critic)
        if not check.gate:
            parts.append(f"{check.critic} {_total(check)} -> {_total(later)}")
            continue
        parts.append(f"{check.critic} {_hard(before, check.critic)} -> {_hard(after, check.critic) if later else '?'}")
    return ", ".join(parts)


def _hard(attempt: Attempt, critic: str) -> int:
    check = attempt.check(critic)
    return sum(finding.severity is Severity.HARD for finding in check.findings) if check else 0


def _total(check: Check | None) -> str:
    return "?" if check is None or check.total is None else f"{check.total:.1f}"


def _evidence(outcome: Outcome) -> str:
    found = outcome.evidence
    parts = []
    if found.flipped or found.kept or found.lost:
        parts.append(f"{counted(len(found.flipped), 'test')} flipped, {found.kept} kept, {len(found.lost)} lost")
    if found.covered:
        parts.append("patched lines covered {}/{}".format(*found.covered))
    if found.strength:
        parts.append("strength {}/{}".format(*found.strength))
    if found.proved_by:
        parts.append(found.proved_by)
    return "; ".join(parts)


def _confidence(outcome: Outcome) -> str:
    """`proved`, or `plausible` and why it may be wrong; nothing about a patch that repairs no test."""
    found = outcome.evidence
    changed = "changes {} of {} nearby answers".format(*found.changed) if found.changed else ""
    words = "; ".join(part for part in (*found.doubts, changed) if part)
    return (f"{found.word}: {words}" if words else found.word) if found.flipped or found.doubts else ""


def _cost(cost: Cost) -> str:
    parts = [counted(cost.requests, "request"), counted(cost.tokens, "token")]
    parts.append("price unknown" if cost.usd is None else f"${cost.usd:.4f}")
    return ", ".join(parts)
