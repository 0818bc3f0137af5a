"""Offers in a few rows: the alternatives with their diffs, and the inputs that tell them apart."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from coderefine.core import Alternative, Offer, Outcome, Question

CONTEXT, LINES = 1, 14
"""Unchanged lines around a change, and lines of one diff, that are shown."""


def numbered(outcome: Outcome) -> tuple[tuple[int, Offer, Alternative], ...]:
    """All alternatives with the numbers by which they are picked, from 1."""
    every = [(offer, alternative) for offer in outcome.offers for alternative in offer.alternatives]
    return tuple((number, offer, alternative) for number, (offer, alternative) in enumerate(every, 1))


def lines(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Label and text of each row."""
    number = 0
    for offer in outcome.offers:
        yield "plausible", f"not written: {offer.why}"
        for place, alternative in enumerate(offer.alternatives):
            yield "offered", f"{number + place + 1}  {head(alternative)}"
            yield from (("", f"{'':13}{line}") for line in diff(alternative, offer.before))
        for question in offer.questions:
            yield "ask", asked(question, number)
        number += len(offer.alternatives)


def head(alternative: Alternative) -> str:
    """What it does, how much it changes near the tests, how many plausible patches behave so."""
    parts = [alternative.patch.summary]
    parts += [changes(alternative.changed)] if alternative.changed else []
    parts += [f"{alternative.alike} plausible patches behave so"] if alternative.alike > 1 else []
    return " · ".join(parts)


def changes(changed: tuple[int, int]) -> str:
    """`changes 3 of 412 nearby answers`."""
    return f"changes {changed[0]} of {changed[1]} nearby answers"


def asked(question: Question, first: int = 0) -> str:
    """`pluralize('cat') → 1: 'cats' | 2, 3: 'cates'`; numbers count from `first` + 1."""
    by_answer: dict[str, list[str]] = {}
    for place, answer in enumerate(question.answers, first + 1):
        by_answer.setdefault(answer or "unknown", []).append(str(place))
    said = " | ".join(f"{', '.join(numbers)}: {answer}" for answer, numbers in by_answer.items())
    return f"{question.call} → {said}"


def sentence(offers: Sequence[Offer]) -> str:
    """A line of Python that a person who knows the answer may give back; "" without a question."""
    question = next((question for offer in offers for question in offer.questions), None)
    if question is None:
        return ""
    answer = next((one for one in question.answers if one and not one.startswith(("raises", "does not"))), "...")
    return f"{question.call} == {answer}"


def diff(alternative: Alternative, before: Mapping[str, bytes | None]) -> list[str]:
    """The lines that change, with a little around them."""
    found: list[str] = []
    for path, data in alternative.patch.files.items():
        old, new = (_text(one) for one in (before.get(path), data))
        found += [line for line in difflib.unified_diff(old, new, lineterm="", n=CONTEXT) if _shown(line)]
    return found if len(found) <= LINES else [*found[: LINES - 1], "…"]


def _shown(line: str) -> bool:
    return not line.startswith(("---", "+++", "@@"))


def _text(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
