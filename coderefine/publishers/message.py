"""Texts about a publication: the commit message with the evidence as trailers, its author, and the changed lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from coderefine.core import Attempt, Outcome, Severity
from coderefine.core.plurals import counted, printable
from coderefine.errors import PublishError
from coderefine.journal import FileChange
from coderefine.judge.diff import lines_of

RUN = "Coderefine-Run"
"""The trailer by which a commit of coderefine is recognised."""
AUTHOR = re.compile(r"^\s*(?P<name>[^<>\n]*?)\s*<(?P<address>[^<>\n]*)>\s*$")
NAMED = 3
"""Maximum number of changed files that are named; if there are more, only their number is given."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The configured message: `message` may contain {summary}; `author` is `Name <address>`, None for the user."""

    message: str = "fix: {summary}"
    author: str | None = None

    def subject(self, outcome: Outcome) -> str:
        """Return the configured message with the summary in place of {summary}."""
        return self.message.replace("{summary}", _summary(outcome)).strip() or _summary(outcome)

    def full(self, outcome: Outcome, run: str) -> str:
        """Return the whole message: subject, steps (if several) and trailers, with blank lines between them."""
        taken = outcome.accepted
        steps = [f"- {step.patch.origin}: {_one_line(step)}" for step in taken] if len(taken) > 1 else []
        parts = (self.subject(outcome), "\n".join(steps), "\n".join(trailers(outcome, run)))
        return "\n\n".join(part for part in parts if part) + "\n"


PLAIN = Wording()
"""The wording if none is configured."""


def author_env(author: str | None) -> Mapping[str, str]:
    """Return `Name <address>` as git's environment variables; empty for None.

    Raises PublishError for any other form.
    """
    if author is None:
        return {}
    found = AUTHOR.match(author)
    if not found or not found["name"]:
        raise PublishError(f"the author must read `Name <address>`, not {author!r}: see [tool.coderefine] author")
    return {"GIT_AUTHOR_NAME": found["name"], "GIT_AUTHOR_EMAIL": found["address"]}


def changed_lines(changes: tuple[FileChange, ...]) -> str:
    """Describe changes in a few words: `src/cart.py +1 −2`."""
    counts = [lines_of(change.before, change.after) for change in changes]
    if len(changes) > NAMED:
        return f"{len(changes)} files +{sum(a for a, _ in counts)} −{sum(b for _, b in counts)}"
    named = (
        f"{printable(change.path)} +{added} −{gone}" for change, (added, gone) in zip(changes, counts, strict=True)
    )
    return ", ".join(named) or "nothing"


def trailers(outcome: Outcome, run: str = "") -> tuple[str, ...]:
    """Return `Key: value` lines: checks before and after, what was proved, attempts, cost, run."""
    tried = sum(1 for attempt in outcome.attempts if attempt.number)
    values = (
        ("Coderefine-Checks", _checks(outcome.baseline, outcome.best)),
        ("Coderefine-Evidence", "; ".join(outcome.evidence.measured)),
        ("Coderefine-Confidence", _confidence(outcome)),
        ("Coderefine-Attempts", str(tried) if outcome.attempts else ""),
        ("Coderefine-Cost", ", ".join(outcome.cost.words)),
        (RUN, run),
    )
    return tuple(f"{key}: {value}" for key, value in values if value)


def _one_line(attempt: Attempt) -> str:
    return " ".join(attempt.patch.summary.split())


def _summary(outcome: Outcome) -> str:
    """Return the summary of the only step; for several steps, the number of repaired findings and the files."""
    if len(outcome.accepted) < 2 and (summary := _one_line(outcome.best)):
        return summary
    before, left = (
        sum(finding.severity is Severity.HARD for finding in findings)
        for findings in (outcome.baseline.findings, outcome.remaining)
    )
    where = ", ".join(PurePosixPath(path).name for path in sorted(outcome.best.patch.files))
    return f"repair {counted(before - left, 'finding')} in {where}" if before > left else f"improve {where}"


def _checks(before: Attempt, after: Attempt) -> str:
    """Return the number of hard findings of each gate, and a review's total: `pytest 3 -> 0, review 2.5 -> 4.0`."""
    parts = []
    for check in before.checks:
        results = []
        for one in (check, after.check(check.critic)):
            if one is None or (not check.gate and one.total is None):
                results.append("?")
            elif check.gate:
                results.append(str(sum(finding.severity is Severity.HARD for finding in one.findings)))
            else:
                results.append(f"{one.total:.1f}")
        parts.append(f"{check.critic} {' -> '.join(results)}")
    return ", ".join(parts)


def _confidence(outcome: Outcome) -> str:
    """Return `proved`, or `plausible` and why the patch may be wrong; "" for a patch that repairs no test."""
    found = outcome.evidence
    if not found.flipped and not found.doubts:
        return ""
    changed = ("changes {} of {} nearby answers".format(*found.changed),) if found.changed else ()
    reasons = "; ".join((*found.doubts, *changed))
    return f"{found.word}: {reasons}" if reasons else found.word
