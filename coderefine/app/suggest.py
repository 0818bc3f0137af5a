"""Turn a proved outcome into the bundle that is posted on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from coderefine import judge
from coderefine.core import Attempt, Finding, Outcome, Patch
from coderefine.publishers.hosts.bundle import CONTROL, LINE, LINES, NOTES, SUGGESTIONS, WORDS, Bundle, Note, Suggestion
from coderefine.reports.formats import blocking, gone, rule, words
from coderefine.reports.rows import evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coderefine.loop.state import Parts

STYLE = ("ruff/", "radon/")
"""Rules whose findings other bots report: they get no inline suggestion."""


def bundled(parts: Parts, outcome: Outcome, diff: bytes, *, head: str, base: str, style: bool = False) -> Bundle:
    """Make the bundle of `outcome`.

    Every hunk of its patch is proved alone, which takes one run of all tests each.
    """
    best = outcome.best
    notes = tuple(_note(finding) for finding in blocking(outcome.remaining))[:NOTES]
    if not best.number:
        return Bundle(head=head, base=base, notes=notes)
    rules = _cleared(outcome.baseline, best)
    before = {path: parts.original(path) for path in best.patch.files}
    return Bundle(
        head=head,
        base=base,
        summary=_line(_summary(outcome)),
        evidence=_line(evidence(outcome.evidence)),
        patch=_text(diff),
        behaviour=_behaviour(rules),
        suggestions=_suggestions(parts, outcome, before, style=style)[:SUGGESTIONS],
        notes=notes,
    )


def _suggestions(
    parts: Parts, outcome: Outcome, before: Mapping[str, bytes | None], *, style: bool
) -> tuple[Suggestion, ...]:
    """Return the hunks that pass alone.

    Where none does, return one suggestion per file, if its hunks are close together.
    """
    patch = outcome.best.patch
    small = judge.pieces(patch, before, span=0)
    found = tuple(_holding(parts, outcome, small, before, style=style))
    large = () if found else tuple(one for one in judge.pieces(patch, before) if one not in small)
    return found or tuple(_holding(parts, outcome, large, before, style=style))


def _holding(
    parts: Parts,
    outcome: Outcome,
    pieces: Sequence[judge.Hunk],
    before: Mapping[str, bytes | None],
    *,
    style: bool,
) -> Iterator[Suggestion]:
    from coderefine.loop.alone import alone

    told = [(hunk, text) for hunk in pieces if (text := before[hunk.path]) and _tellable(hunk, text)]
    patches = [Patch({hunk.path: hunk.upon(text)}, "suggest", f"{hunk.path}:{hunk.first}") for hunk, text in told]
    for (hunk, text), attempt in zip(told, alone(parts, outcome, patches), strict=True):
        if attempt is None:
            continue
        rules = _cleared(outcome.baseline, attempt)
        if style or _behaviour(rules):
            yield _suggestion(_anchored(hunk, text), rules, _why(outcome.baseline, attempt))


def _anchored(hunk: judge.Hunk, before: bytes) -> judge.Hunk:
    """Turn an insertion into the replacement of a neighbouring line: a suggestion must replace lines."""
    if hunk.old:
        return hunk
    lines = before.splitlines(keepends=True)
    if hunk.first > 1:
        above = lines[hunk.first - 2]
        return judge.Hunk(hunk.path, hunk.first - 1, (above,), (above, *hunk.new))
    return judge.Hunk(hunk.path, 1, (lines[0],), (*hunk.new, lines[0]))


def _tellable(hunk: judge.Hunk, before: bytes) -> bool:
    """Return whether the hunk can be an inline suggestion: plain text with LF line ends.

    Anything else is only in the whole patch.
    """
    anchored = _anchored(hunk, before)
    if not anchored.textual:
        return False
    texts = [line.decode("utf-8") for line in (*anchored.old, *hunk.new)]
    plain = all(text.endswith("\n") and not CONTROL.search(text[:-1].replace("\t", " ")) for text in texts)
    return plain and len(texts) <= LINES and all(len(text) <= LINE for text in texts)


def _suggestion(hunk: judge.Hunk, rules: Sequence[str], why: str) -> Suggestion:
    old, new = (tuple(line.decode("utf-8")[:-1] for line in lines) for lines in (hunk.old, hunk.new))
    return Suggestion(hunk.path, hunk.first, hunk.last, old, new, tuple(sorted(set(rules)))[:50], _line(why))


def _cleared(before: Attempt, after: Attempt) -> list[str]:
    return [rule(finding) for finding in gone(before, after)]


def _behaviour(rules: Sequence[str]) -> bool:
    return any(not name.startswith(STYLE) for name in rules)


def _why(before: Attempt, after: Attempt) -> str:
    """Name what the hunk repairs: tests by name, else findings."""
    mended = gone(before, after)
    tests = [finding.symbol for finding in mended if finding.critic == "pytest"]
    if tests:
        return f"mends {judge.listed(tuple(dict.fromkeys(tests)))}"
    return "; ".join(dict.fromkeys(f"{rule(finding)}: {words(finding)}" for finding in mended))


def _summary(outcome: Outcome) -> str:
    steps = [step for step in outcome.attempts if step.verdict and 0 < step.number <= outcome.best.number]
    return "; ".join(dict.fromkeys(step.patch.summary for step in steps)) or outcome.best.patch.summary


def _note(finding: Finding) -> Note:
    first = finding.span.first if finding.span else 1
    last = max(first, finding.span.last if finding.span else 1)
    return Note(finding.path, max(1, first), max(1, last), _line(rule(finding)), _line(words(finding)))


def _line(text: str) -> str:
    clean = CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
    return " ".join(clean.split())[:WORDS]


def _text(diff: bytes) -> str:
    """Return the patch as text; where it is not UTF-8, it ends in a mark so that it is never shown (see patch_text)."""
    try:
        return diff.decode("utf-8")
    except UnicodeDecodeError:
        return diff.decode("utf-8", "replace") + "\r"
