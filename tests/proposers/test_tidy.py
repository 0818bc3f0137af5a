"""Blank lines after a removal."""

from __future__ import annotations

import pytest

from coderefine.proposers.autofix import tidied


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ('"""d"""\n\nimport os\n\nx = 1\n', '"""d"""\n\n\nx = 1\n', '"""d"""\n\nx = 1\n'),
        ('"""d"""\n\nimport os\n\n\nx = 1\n', '"""d"""\n\n\n\nx = 1\n', '"""d"""\n\n\nx = 1\n'),
        ("import os\n\n\nx = 1\n", "\n\nx = 1\n", "x = 1\n"),
        ("x = 1\n\nimport os\n", "x = 1\n\n", "x = 1\n"),
        ("import os\nimport re\n\nre.x\n", "import re\n\nre.x\n", "import re\n\nre.x\n"),
        ("a\n\n\n\nb\nimport os\nc\n", "a\n\n\n\nb\nc\n", "a\n\n\n\nb\nc\n"),
        ("\n\na\nimport os\nb\n", "\n\na\nb\n", "\n\na\nb\n"),
        ("a\n\nx\n\nb\n\ny\n\nc\n", "a\n\n\nb\n\n\nc\n", "a\n\nb\n\nc\n"),
        ("import os\n", "", ""),
        ("a\nx\nb\n", "a\ny\nb\n", "a\ny\nb\n"),
        ("", "a\n", "a\n"),
    ],
)
def test_a_removal_joins_two_gaps_into_the_longer_one(before: str, after: str, wanted: str) -> None:
    assert tidied(before, after) == wanted


def test_a_long_file_is_left_alone() -> None:
    text = "x = 1\n" * 6_000
    assert tidied("import os\n\n" + text, "\n" + text) == "\n" + text
