"""How an offer of plausible patches reads."""

from __future__ import annotations

import pytest

from coderefine.core import Alternative, Offer, Patch, Question
from coderefine.reports.rows import answer_template


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
