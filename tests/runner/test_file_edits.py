"""Which functions of a file an edit changes, as a whole and part by part."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import pytest

from coderefine.runner.file_edits import FileEdit

TEXT = """import os

A = 1


@cache
def first(a=2):
    \"\"\"Return a number.\"\"\"
    b = a + 3
    return b


class Table:
    kinds = [4]

    def second(self):
        return self.kinds[5]

    @property
    def third(self):
        return 6


def short(c=8): return c


if A:

    def fourth():
        return lambda: 7
"""


def changed(replaced: Mapping[str, str]) -> tuple[FileEdit, list[list[tuple[int, int]]]]:
    """Return the edit, and the line that each part of it touches."""
    text, parts = TEXT, []
    for old, new in replaced.items():
        line = next(number for number, row in enumerate(TEXT.split("\n"), 1) if old in row)
        parts.append([(line, line)])
        text = text.replace(old, new)
    return FileEdit.of_texts(TEXT, text), parts


@pytest.mark.parametrize(
    ("replaced", "found"),
    [
        ({"+ 3": "+ 4", "[5]": "[6]"}, [{"first"}, {"Table.second"}]),
        ({"= 1": "= 2", "return 6": "return 8", "[4]": "[5]"}, [{""}, {"Table.third"}, {""}]),
        ({"a number": "the number", "lambda: 7": "lambda: 8"}, [set(), {"fourth"}]),
        ({"A = 1": "A = 1  # one", "return b": "return (b)"}, [set(), set()]),
        ({"a=2": "a=3", "+ 3": "+ 4"}, None),
        ({"A = 1": "A = 2", "(c=8): return c": "(c=9): return c"}, None),
        ({"+ 3": "+ 4", "[5]": "[", "return 6": "return 8"}, None),
        ({"@cache": "@mark", "[5]": "[6]"}, None),
        ({"def fourth": "def fifth", "[5]": "[6]"}, None),
        ({"self.kinds[5]": "super().kinds", "[4]": "[5]"}, [{"Table.second"}, {""}]),
        ({"self.kinds[5]": "super().kinds", "return 6": "return 8"}, None),
    ],
)
def test_parts_of_an_edit_change_the_functions_whose_bodies_they_are_in(
    replaced: Mapping[str, str], found: list[AbstractSet[str]] | None
) -> None:
    """The call of `super` changes the class around it, too."""
    edit, parts = changed(replaced)
    made = edit.changed_by(TEXT, parts)
    assert made == found


def test_lines_around_an_insertion_are_not_in_one_function() -> None:
    text = TEXT.replace("\n\nclass Table", "    return c\n\n\nclass Table").replace("return b", "c = b")
    edit = FileEdit.of_texts(TEXT, text)
    assert edit.changed == {"first"}
    assert edit.changed_by(TEXT, [[(9, 9)], [(10, 11)]]) is None
