"""The rows of a report without colour or layout: checks, steps, evidence, offers, remaining findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coderefine.core import (
    PLAUSIBLE,
    Alternative,
    Attempt,
    Check,
    Cost,
    Evidence,
    Finding,
    Offer,
    Outcome,
    Patch,
    Severity,
    Status,
    Stop,
)
from coderefine.core.plurals import counted, listed
from coderefine.judge.diff import line_after
from coderefine.reports.formats import blocking
from coderefine.source import syntax

LEFT = 5
"""Maximum number of remaining findings that are named; of the other findings, only the number is given."""
OF = {"review": " of 5", "reading": " of 5", "speed": "×"}
"""Suffix of an adviser's score: the highest possible score, or a unit."""
BAR = 24
"""Width of a full bar in characters."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a report: `label  text  verdict  seconds`; all but the text may be empty."""

    label: str
    text: str
    verdict: str = ""
    seconds: float | None = None


def summary(check: Check) -> str:
    """Summarise a check: `pytest 3 failed, 41 passed`, `ruff 2 (+1 allowed)`, or `review 2.5 of 5, 1 remark`."""
    if not check.gate:
        score = f"{check.total:.1f}{OF.get(check.critic, '')}" if check.total is not None else "no score"
        return f"{check.critic} {score}, {counted(len(check.findings), 'remark')}"
    hard = len(blocking(check.findings))
    allowed = len(check.findings) - hard
    counts = ", ".join(_statuses(check)) if check.cases else str(hard)
    return f"{check.critic} {counts}" + (f" (+{allowed} allowed)" if allowed and not check.cases else "")


def _statuses(check: Check) -> Iterator[str]:
    counts = Counter(case.status for case in check.cases.values())
    order = (Status.FAILED, Status.ERROR, Status.PASSED, Status.SKIPPED, Status.XFAILED, Status.XPASSED)
    for status in order:
        if counts[status]:
            yield f"{counts[status]} {status.value}"


def checks_row(checks: Sequence[Check]) -> Row:
    """Summarise all gates in one row, with the time of the slowest gate."""
    text = " · ".join(summary(check) for check in checks) or "no gate ran"
    return Row("checks", text, seconds=slowest(checks))


def slowest(checks: Sequence[Check]) -> float | None:
    """Return the seconds of the slowest check, which is the time of all, because they run in parallel.

    None if there is no check.
    """
    return max((check.seconds for check in checks), default=None)


def notes(checks: Sequence[Check]) -> Iterator[Row]:
    """Yield the critics' notes, for example on tests that did not run."""
    return (Row("note", f"{check.critic}: {note}") for check in checks for note in check.notes)


def outcome_rows(
    outcome: Outcome,
    wrote: Sequence[str],
    decided: str,
    before: Mapping[str, bytes | None],
) -> Iterator[Row]:
    """Yield the rows on a whole run: checks, attempts, remaining findings, evidence, offers, written files.

    `decided`: the last line if the run was not about the working tree (but about a commit, for example). `before`:
    content of the patched files at the start, for the line numbers.
    """
    yield checks_row(outcome.baseline.checks)
    yield from notes(outcome.best.checks or outcome.baseline.checks)
    for attempt, text in steps(outcome.attempts, before):
        if attempt.number and attempt.verdict:
            verdict = outcome.evidence.word if attempt.number <= outcome.best.number else "not proved"
            yield Row(attempt.patch.origin, text, verdict, attempt.cost.seconds)
    yield from _refused(outcome)
    yield from several("left", list(map(headline, blocking(outcome.remaining))), "more (coderefine check lists them)")
    yield from advice(outcome.remaining)
    yield from _flaky(outcome.evidence.flaky)
    yield from _evidence(outcome)
    yield from _other_patches(outcome)
    yield from (Row(label, text) for label, text in offer_lines(outcome))
    if outcome.cost.requests:
        yield Row("spent", cost(outcome.cost), seconds=outcome.cost.seconds)
    yield from _tried(outcome)
    yield from (Row("wrote", line.removeprefix("wrote ")) for line in wrote)
    yield Row("", decided or ending(outcome))


def _evidence(outcome: Outcome) -> Iterator[Row]:
    if outcome.best.number:
        carried = outcome.best.carried
        before, after = (_passed(attempt, carried) for attempt in (outcome.baseline, outcome.best))
        if before and after and before != after:
            yield Row("tests", f"{bar(*before)} {before[0]}/{before[1]} → {bar(*after)} {after[0]}/{after[1]} passed")
        yield Row("evidence", evidence(outcome.evidence))
        yield from (Row("plausible", f"may be wrong: {doubt}") for doubt in outcome.evidence.doubts)
        yield from (Row("note", note) for note in outcome.evidence.notes)
    elif outcome.evidence.isolation:
        yield Row("view", outcome.evidence.isolation)


def _tried(outcome: Outcome) -> Iterator[Row]:
    """Yield a row about the best attempt that was better than the start, if nothing was proved or offered.

    This attempt is not written; it is only recorded.
    """
    if not outcome.best.number and not outcome.offers and (attempt := best_try(outcome.attempts)):
        yield Row("kept", f"{attempt.patch.summary}: not written; coderefine show --diff prints it")


def best_try(attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the last attempt that was better than all attempts before it, whether or not it was proved."""
    return next((one for one in reversed(attempts) if one.number and one.verdict), None)


def shown_patch(outcome: Outcome) -> Patch:
    """Return the patch that a report shows: the given patch, or that of the best attempt, or that of `best_try`."""
    if outcome.proof:
        return outcome.proof.patch
    tried = outcome.best if outcome.best.number else best_try(outcome.attempts)
    return tried.patch if tried else Patch()


def _refused(outcome: Outcome) -> Iterator[Row]:
    """Yield rows with the number of refused attempts and the most frequent reasons."""
    refusals = (attempt.verdict.reason for attempt in outcome.attempts if attempt.number and not attempt.verdict)
    reasons = Counter(reason for reason in refusals if not reason.startswith(PLAUSIBLE))
    if reasons:
        shown = "; ".join(f"{first_line(reason)}{f' (×{n})' if n > 1 else ''}" for reason, n in reasons.most_common(2))
        total = reasons.total()
        yield Row("refused", f"{counted(total, 'attempt')}: {shown}{'; …' if len(reasons) > 2 else ''}")


def advice(remaining: Sequence[Finding]) -> Iterator[Row]:
    """Yield the advisers' remaining findings, which block nothing."""
    soft = (finding for finding in remaining if finding.severity is Severity.SOFT)
    return several("advice", [f"{headline(one)}: {first_line(one.instruction)}".rstrip(": ") for one in soft])


def several(
    label: str, texts: Sequence[str], others: str = "more (--format json lists them)", most: int = LEFT
) -> Iterator[Row]:
    """Yield a row for each of the first `most` texts; if there are more, a row with their number and `others`.

    `others`: the words after this number.
    """
    yield from (Row(label, text) for text in texts[:most])
    if len(texts) > most:
        yield Row(label, f"… and {len(texts) - most} {others}")


def _flaky(ids: Sequence[str]) -> Iterator[Row]:
    """Yield a row with the tests whose outcome or name differs between runs of the same tree: they prove nothing."""
    if ids:
        yield Row("flaky", f"{listed(ids, LEFT)}: another outcome or name in another run of the same tree; left out")


def headline(finding: Finding) -> str:
    """Describe a finding in one line: `path:line rule message`; for a test its name and how it failed."""
    if "::" in finding.symbol:
        name = finding.symbol.split("::", 1)[1]
        return f"{finding.where} {name} {finding.rule}: {first_line(finding.message)}"
    return f"{finding.where} {finding.rule} {first_line(finding.message)}"


def first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0]


def _passed(attempt: Attempt, carried: Collection[str]) -> tuple[int, int] | None:
    """Return (number of tests that passed, number of tests that ran); None if none ran.

    `carried`: ids of tests whose outcome was copied; these do not count.
    """
    ran = [case for id, case in attempt.cases.items() if case.status is not Status.SKIPPED and id not in carried]
    return (sum(not case.status.bad for case in ran), len(ran)) if ran else None


def bar(done: int, total: int) -> str:
    """Return `done` of `total` as a bar of blocks; full only if all are done, empty only if none is."""
    cells = round(BAR * done / total) if total else 0
    cells = min(cells, BAR - (done < total))
    return "█" * max(cells, int(done > 0)) + "░" * (BAR - max(cells, int(done > 0)))


def evidence(proof: Evidence) -> str:
    """Summarise evidence: `3 tests flipped, 41 kept, 0 lost · patched lines covered 2/2 · strength 7/8`."""
    changed = changed_answers(proof.changed) if proof.changed else ""
    return " · ".join(filter(None, (*proof.measured, changed, proof.isolation)))


def _other_patches(outcome: Outcome) -> Iterator[Row]:
    """Yield a row for each of the first 3 other patches that pass the tests, and a row with the number of the rest.

    They are shown because one of them may be the correct one.
    """
    patches = outcome.evidence.alternatives
    texts = [f"{patch.summary} (passes too: plausible, not proven unique)" for patch in patches]
    return several("also", texts, "more plausible patches", 3)


def cost(spent: Cost) -> str:
    """Summarise costs: `2 requests · 3,411 tokens · $0.0021`, or `price unknown`."""
    return " · ".join(spent.words)


def ending(outcome: Outcome) -> str:
    """Return the last line of a report: clean, or the remaining findings and why the run ended."""
    hard = len(blocking(outcome.remaining))
    if not hard and outcome.stop is Stop.CLEAN:
        flaky = len(outcome.evidence.flaky)
        return f"all checks pass, but for {counted(flaky, 'flaky test')}" if flaky else "all checks pass"
    if not hard:
        return f"stopped: {_why(outcome)}"
    remains = f"{hard} finding{'s' * (hard != 1)} remain{'s' * (hard == 1)}"
    return f"{remains} ({_why(outcome)})"


def _why(outcome: Outcome) -> str:
    return f"{outcome.stop.value}: {outcome.why}" if outcome.why not in ("", outcome.stop.value) else outcome.stop.value


def numbered_offers(outcome: Outcome) -> Iterator[tuple[Offer, tuple[tuple[int, Alternative], ...]]]:
    """Yield each offer and its alternatives with the numbers for picking them, counted from 1 over all offers."""
    number = 1
    for offer in outcome.offers:
        yield offer, tuple(enumerate(offer.alternatives, number))
        number += len(offer.alternatives)


def offer_lines(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of each row about offers."""
    for offer, alternatives in numbered_offers(outcome):
        yield "plausible", f"not written: {offer.why}"
        compared = any(one.changed for _, one in alternatives)
        for number, alternative in alternatives:
            unseen = "" if alternative.changed or not compared else " · its answers could not be compared"
            yield "offered", f"{number}  {offer_headline(alternative)}{unseen}"
            yield from (("", f"{'':13}{line}") for line in offer.diff(alternative))
        for question in offer.questions:
            yield "ask", question.text(alternatives[0][0])
        yield from (("ask", text) for text in _undecided(offer, alternatives[0][0]))


def _undecided(offer: Offer, first: int) -> Iterator[str]:
    """Yield a line for each group of alternatives, numbered from `first` on, that the questions do not distinguish."""
    for places in offer.together:
        *most, last = (str(first + place) for place in places)
        names = f"{', '.join(most)} and {last}"
        if offer.questions:
            yield f"none of these inputs tells {names} apart"
        else:
            yield f"no input that can be shown tells {names} apart: compare their diffs"


def offer_headline(alternative: Alternative) -> str:
    """Return one line: the patch's summary, how many results it changes, how many plausible patches behave like it."""
    parts = [alternative.patch.summary]
    parts += [changed_answers(alternative.changed)] if alternative.changed else []
    parts += [f"{alternative.alike} plausible patches behave so"] if alternative.alike > 1 else []
    return " · ".join(parts)


def changed_answers(changed: tuple[int, int]) -> str:
    """Return `changes 3 of 412 nearby answers`."""
    return f"changes {changed[0]} of {changed[1]} nearby answers"


def answer_template(offers: Sequence[Offer]) -> str:
    """Return the first question as a line to complete, `price(10) == ANSWER`; "" if no question has this form."""
    lines = (
        (question.call, answer)
        for offer in offers
        for question in offer.questions
        for answer in question.answers
        if answer and "…" not in question.call + answer
    )
    return next(
        (f"{call} == ANSWER" for call, answer in lines if syntax(f"{call} == {answer}".encode()) is not None), ""
    )


def steps(attempts: Sequence[Attempt], before: Mapping[str, bytes | None]) -> Iterator[tuple[Attempt, str]]:
    """Yield each attempt and its summary, with the line numbers of the files `before` the run.

    The attempt's own summary has the line numbers of a tree that includes the patches accepted before.
    """
    base: Mapping[str, bytes | None] = {}
    for attempt in attempts:
        yield attempt, _translated(attempt.patch.summary, base, before)
        if attempt.number and attempt.verdict:
            base = attempt.patch.files


def _translated(summary: str, base: Mapping[str, bytes | None], before: Mapping[str, bytes | None]) -> str:
    """Return `summary` with every `path:line` of a file in `base` changed to the line number in `before`."""

    def translated(found: re.Match[str]) -> str:
        path, line = found[1], int(found[2])
        data, old = base.get(path), before.get(path)
        if data is None or old is None or line > len(data.splitlines()):
            return found[0]
        return f"{path}:{line_after(line, data, old)}"

    paths = "|".join(map(re.escape, base))
    return re.sub(rf"(?<![\w./-])({paths}):(\d+)", translated, summary) if base else summary
