"""Offers in a few rows: the alternatives with their diffs, and the inputs that tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine.core import Alternative, Offer, Outcome


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
            yield from (("", f"{'':13}{line}") for line in offer.diff(alternative))
        for question in offer.questions:
            yield "ask", question.text(number + 1)
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


def sentence(offers: Sequence[Offer]) -> str:
    """A line of Python that a person who knows the answer may give back; "" without a question."""
    question = next((question for offer in offers for question in offer.questions), None)
    if question is None:
        return ""
    answer = next((one for one in question.answers if one and not one.startswith(("raises", "does not"))), "...")
    return f"{question.call} == {answer}"
