"""Summaries name lines of the files as the user has them, whatever steps came before."""

from __future__ import annotations

import pytest

from coderefine.core import Attempt, Patch, Verdict
from coderefine.reports.rows import steps

OLD = b"import os\n\none = 1\ntwo = 2\nthree = 3\n"
TIDY = b"one = 1\ntwo = 2\nthree = 3\n"
LONGER = b"import os\n\n# a comment\none = 1\ntwo = 2\nthree = 3\n"


def attempt(number: int, data: bytes, summary: str, *, ok: bool = True, path: str = "a.py") -> Attempt:
    return Attempt(number, Patch({path: data}, "script", summary), verdict=Verdict(ok))


def summaries_of(*attempts: Attempt) -> list[str]:
    return [summary for _, summary in steps(attempts, {"a.py": OLD})]


@pytest.mark.parametrize(
    ("first", "line", "users"),
    [(TIDY, 2, 4), (TIDY, 3, 5), (LONGER, 5, 4), (LONGER, 1, 1), (LONGER, 99, 99)],
    ids=["removed above", "last line", "inserted above", "unchanged above", "no such line"],
)
def test_a_step_upon_another_named_lines_of_an_intermediate_file(first: bytes, line: int, users: int) -> None:
    summaries = summaries_of(attempt(1, first, "a.py:1 F401"), attempt(2, first, f"a.py:{line} `2` → `3`, b.py:7"))
    assert summaries == ["a.py:1 F401", f"a.py:{users} `2` → `3`, b.py:7"]


def test_an_inserted_line_is_named_where_it_was_inserted() -> None:
    (_, summary) = summaries_of(attempt(1, LONGER, "a.py:3"), attempt(2, LONGER, "a.py:3 comment"))
    assert summary in ("a.py:2 comment", "a.py:3 comment")


def test_refused_steps_and_other_files_change_no_numbers() -> None:
    summaries = summaries_of(
        attempt(1, TIDY, "x", ok=False), attempt(2, TIDY, "a.py:2"), attempt(3, TIDY, "src/a.py:2")
    )
    assert summaries == ["x", "a.py:2", "src/a.py:2"]
