"""What a search found plausible, in words: the model may know from names and docstrings which is meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coderefine.core import Offer

HEAD = """The tests pass with each of these repairs, so the tests do not say which is right; perhaps none is.
Docstrings, names, callers and similar functions may. Take one of them, or write a better one."""


def plausible(offers: Sequence[Offer]) -> str:
    """The alternatives with their diffs, and the inputs on which they differ; "" without any."""
    return "\n".join((HEAD, *(line for offer in offers for line in _lines(offer)))) if offers else ""


def _lines(offer: Offer) -> Iterator[str]:
    for number, alternative in enumerate(offer.alternatives, 1):
        yield f"{number}. {alternative.patch.summary}"
        yield from offer.diff(alternative)
    yield from (question.text() for question in offer.questions)
