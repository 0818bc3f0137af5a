"""The operations that turn the actual value of a failed comparison into the expected one."""

from __future__ import annotations

import pytest

from coderefine.proposers.search.differences import compared, factors, operations


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("assert 'A.B' == 'A.B.'", {'{} + "."'}),
        ("assert 'b' == '#b'", {'"#" + {}'}),
        ("assert 'b' == '(b)'", {'"(" + {} + ")"'}),
        ("assert 'x-' == 'x'", {'{}.rstrip("-")', '{}.strip("-")'}),
        ("assert '_x' == 'x'", {'{}.lstrip("_")', '{}.strip("_")'}),
        ("assert ' x\\n' == 'x'", {"{}.strip()"}),
        ("assert 'a.py' == 'a'", {'{}.removesuffix(".py")'}),
        ("assert 'a_b_c' == 'a-b-c'", {'{}.replace("_", "-")'}),
        ("assert 'a,b' == 'ab'", {'{}.replace(",", "")'}),
        ("AssertionError: 3 != 300", {"{} * 100"}),
        ("assert 150 == 2.5", {"{} / 60"}),
        ("assert -2.0 == 2", {"-{}", "abs({})"}),
        ("assert 0.1234 == 0.12", {"round({}, 2)"}),
        ("assert [3, 1] == [1, 3]", {"{}[::-1]", "sorted({})"}),
        ("assert [1, 2, 1] == [1, 2]", {"list(dict.fromkeys({}))"}),
    ],
)
def test_operations_that_explain_the_difference_are_found(message: str, wanted: set[str]) -> None:
    assert wanted <= operations([message]).keys()


@pytest.mark.parametrize(
    "message",
    [
        "assert 'x' == 'an answer of its own'",
        "assert '09:06' == '09:00'",
        "assert 'C' == 'B'",
        "assert 'x' == 'x and more than three characters'",
        "assert '' == '.'",
        "assert 'x' == ''",
        "assert 1 == True",
        "assert True == False",
        "assert [1, 'a'] == [2]",
        "assert 1e400 == 1.0",
        f"assert {10**400} == 1",
        "assert f(1) == 3",
        "ValueError: no comparison",
    ],
)
def test_nothing_is_found_where_an_operation_would_be_an_answer_or_makes_no_sense(message: str) -> None:
    assert operations([message]) == {}


def test_an_operation_that_explains_one_of_two_failures_has_half_the_share() -> None:
    shares = operations(["assert 'x-' == 'x'", "assert 'A.B' == 'A.B.'"])
    assert shares['{} + "."'] == shares['{}.rstrip("-")'] == 0.5


def test_the_values_of_unittest_are_read() -> None:
    assert compared("AssertionError: 'a' != 'b'\n- a\n+ b") == ("a", "b")


def test_factors_are_those_of_multiplications_and_divisions() -> None:
    assert factors(operations(["assert 150 == 2.5", "assert 3 == 300", "assert 7.9 == 3.0"])) == (100.0, 1 / 60)
