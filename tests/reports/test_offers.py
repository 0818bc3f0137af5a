"""How an offer of plausible patches reads."""

from __future__ import annotations

import pytest

from coderefine.core import Alternative, Attempt, Offer, Outcome, Patch, Question, Stop
from coderefine.reports.rows import answer_template, offer_lines


@pytest.mark.parametrize(
    ("call", "answers", "line"),
    [
        ("price(10)", ("9", "10"), "price(10) == ANSWER"),
        ("price(10)", ("raises KeyError", "10"), "price(10) == ANSWER"),
        ("price(10)", ("does not end", "raises KeyError"), ""),
        ("<Cart lines=[]>.total()", ("9", "10"), ""),
        ("wrap('a … b')", ("'a'", "'b'"), ""),
        ("pay(1)", ("afterwards self.cents = 1", "afterwards self.cents = 2"), ""),
    ],
)
def test_the_line_to_complete_is_python_or_not_shown(call: str, answers: tuple[str, ...], line: str) -> None:
    offer = Offer((Alternative(Patch({}, "search", "")),), questions=(Question(call, "shop", answers),))
    assert answer_template([offer]) == line


def test_an_alternative_that_was_not_compared_is_marked() -> None:
    start = Attempt(0, Patch())
    offer = Offer((Alternative(Patch({}, "search", "one"), (3, 8)), Alternative(Patch({}, "search", "two"))))
    outcome = Outcome(start, start, Stop.OFFERED, offers=(offer,))
    shown = [text for label, text in offer_lines(outcome) if label == "offered"]
    assert shown == ["1  one · changes 3 of 8 nearby answers", "2  two · its answers could not be compared"]


@pytest.mark.parametrize(
    ("questions", "last"),
    [
        ((), "no input that can be shown tells 1, 2 and 3 apart: compare their diffs"),
        ((("size(1024)", ("'1 KB'", "'1024 B'", "'1 KB'")),), "none of these inputs tells 1 and 3 apart"),
    ],
    ids=["none", "one"],
)
def test_alternatives_that_no_input_distinguishes_are_named(
    questions: tuple[tuple[str, tuple[str, ...]], ...], last: str
) -> None:
    """Three ways to draw a limit were offered without a word of how they differ, or whether they do."""
    start = Attempt(0, Patch())
    alternatives = tuple(Alternative(Patch({}, "search", name), (0, 25)) for name in ("one", "two", "three"))
    offer = Offer(alternatives, questions=tuple(Question(call, "sizes", answers) for call, answers in questions))
    outcome = Outcome(start, start, Stop.OFFERED, offers=(offer,))
    asked = [text for label, text in offer_lines(outcome) if label == "ask"]
    assert asked[-1] == last
    assert len(asked) == len(questions) + 1


def test_a_removed_line_that_begins_with_two_hyphens_is_shown() -> None:
    patch = Patch({"a.py": b"Q = '''\n-- new\n'''\n"}, "search", "one")
    offer = Offer((Alternative(patch),), before={"a.py": b"Q = '''\n-- old\n'''\n"})
    assert {"--- old", "+-- new"} <= {*offer.diff(offer.alternatives[0])}
