"""The result of a run in one sentence, and the rows of a report on a given patch; the last row is the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine.core import Outcome, Patch, Proof
from coderefine.core.plurals import counted, listed
from coderefine.reports.formats import blocking, cleared
from coderefine.reports.rows import Row, checks_row, ending, evidence, headline, notes, several


def verdict(end: Outcome) -> str:
    """Return the result of a run: `Proved: 3 failing tests and 2 findings are repaired; all checks pass.`"""
    if end.proof:
        text = decision(end.proof)
        return f"{text[:1].upper()}{text[1:]}."
    if end.best.number:
        return f"{end.evidence.claim.capitalize()}: {_repaired(end)}; {_rest(end)}."
    if end.offers:
        count = sum(len(offer.alternatives) for offer in end.offers)
        return f"Nothing is written: {count} plausible patch{'es' * (count != 1)} to choose from."
    untried = end.clean and len(end.attempts) < 2
    return f"Nothing {'to repair' if untried else 'is proved'}: {_rest(end)}."


def _repaired(end: Outcome) -> str:
    lint = [finding for finding in cleared(end) if finding.critic != "pytest"]
    counts = ((len(end.evidence.flipped), "failing test"), (len(lint), "finding"))
    parts = [counted(count, noun) for count, noun in counts if count]
    verb = "is" if sum(count for count, _ in counts) == 1 else "are"
    return f"{' and '.join(parts)} {verb} repaired" if parts else end.best.verdict.reason or "the patch is better"


def _rest(end: Outcome) -> str:
    """Return only how many findings remain; if none remains, return how the run ended (`ending`)."""
    hard = len(blocking(end.remaining))
    return f"{counted(hard, 'finding')} remain{'s' * (hard == 1)}" if hard else ending(end)


def proof_rows(outcome: Outcome, proof: Proof, wrote: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows on a given patch."""
    yield Row("patch", patch_headline(proof.patch))
    yield from several("weakened", proof.weakened)
    yield checks_row(outcome.baseline.checks)
    yield from notes((outcome.best if outcome.best.number else outcome.attempts[-1]).checks)
    yield from several("flipped", proof.evidence.flipped)
    yield from several("rests on", [f"{name}, which the patch adds or changes" for name in proof.rests])
    yield from several("lost", proof.evidence.lost)
    yield from several("flaky", proof.evidence.flaky)
    yield from several("new", [headline(finding) for finding in proof.findings])
    yield from several("added", [f"{name}, which passes without the patch's code, too" for name in proof.added])
    if any((proof.evidence.flipped, proof.evidence.kept, proof.evidence.lost)):
        yield Row("evidence", evidence(proof.evidence))
    yield from several("survived", [f"{one}: no test notices" for one in proof.evidence.survived])
    yield from (Row("note", note) for note in proof.evidence.notes)
    yield from several("unjudged", proof.unjudged)
    yield from several("spare", proof.spare)
    yield from (Row("wrote", line.removeprefix("wrote ")) for line in wrote)
    yield Row("", decision(proof))


def decision(proof: Proof) -> str:
    """Return the verdict in one line: `proved: 1 test repaired`, or `not proved: breaks tests/test_a.py::test_x`."""
    return f"{proof.evidence.word if proof.verdict else 'not proved'}: {proof.verdict.reason}"


def patch_headline(patch: Patch) -> str:
    """Return the patch's own description, and the files that it changes."""
    named = listed(sorted(patch.files))
    return f"{patch.summary} · {named}" if patch.summary else named
