"""Edits of a text that several changes make together."""

from __future__ import annotations

import pytest

from coderefine.lint import TextEdit, take

IMPORT = TextEdit((1, 1), (1, 1), "import os\n")
FIRST, SECOND, THIRD = (TextEdit((row, 1), (row, 4), "new") for row in (2, 3, 4))


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        pytest.param((FIRST,), (SECOND,), True, id="apart"),
        pytest.param((IMPORT, FIRST), (IMPORT, SECOND), True, id="a-new-import"),
        pytest.param((FIRST, SECOND), (SECOND,), True, id="a-part-of-the-other"),
        pytest.param((FIRST, SECOND), (SECOND, THIRD), False, id="a-replacement-that-both-make"),
        pytest.param((FIRST,), (TextEdit((2, 4), (2, 5), ""),), False, id="touching"),
        pytest.param((IMPORT,), (TextEdit((1, 1), (1, 1), "import re\n"),), False, id="another-import"),
    ],
)
def test_changes_that_can_be_made_together(
    one: tuple[TextEdit, ...], other: tuple[TextEdit, ...], together: bool
) -> None:
    """In webob, two drafts for the variable of one loop agreed in its last use; together they broke a test."""
    taken: dict[TextEdit, None] = {}
    assert take(one, taken)
    assert take(other, taken) is together
    assert set(taken) == ({*one, *other} if together else {*one})
