"""Repairs that mean the same by the rules of the language count as one behaviour."""

from __future__ import annotations

import ast

import pytest

from coderefine.proposers.search.normal_form import normalised


def same(one: str, two: str) -> bool:
    return normalised(ast.parse(one)) == normalised(ast.parse(two))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("not (a == b)", "a != b"),
        ("not (a != b)", "a == b"),
        ("not (a is None or b in c)", "a is not None and b not in c"),
        ("not (a and b is None)", "not a or b is not None"),
        ("a < b", "b > a"),
        ("not (a < b)", "a >= b"),
        ("len(a) >= 3", "len(a) > 2"),
        ("3 <= a.count(b)", "not a.count(b) < 3"),
        ("5 >= len(a)", "len(a) < 6"),
        ("a - -len(b)", "a + len(b)"),
        ("a + -1", "a - 1"),
        ("1 + a", "a + 1"),
        ("a.strip().rstrip()", "a.strip()"),
        ("a.lstrip('/').rstrip('/')", "a.strip('/')"),
        ("a.rstrip().rstrip()", "a.rstrip()"),
        ("a.lower().strip().lstrip()", "a.lower().strip()"),
        ("a.lower().lower()", "a.lower()"),
        ("list(list(a))", "list(a)"),
        ("int(int(a, 16))", "int(a, 16)"),
    ],
)
def test_expressions_of_one_meaning_are_the_same(one: str, two: str) -> None:
    assert same(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("not (a == b)", "a == b"),
        ("not (a or b)", "not a or b"),
        ("not (a < b < c)", "a >= b >= c"),
        ("a >= 3", "a > 2"),
        ("len(a) >= 3.5", "len(a) > 2.5"),
        ("len(a) >= b", "len(a) > b"),
        ("a < b", "a > b"),
        ("1 - a", "a - 1"),
        ("'1' + a", "a + '1'"),
        ("a.strip('x').rstrip()", "a.strip('x')"),
        ("a.strip(c)", "a.rstrip(c)"),
        ("a.upper().lower()", "a.lower()"),
        ("next(next(a))", "next(a)"),
        ("int(int(a), 16)", "int(a)"),
        ("b.lower(a.lower())", "a.lower()"),
    ],
)
def test_others_are_not(one: str, two: str) -> None:
    assert not same(one, two)
