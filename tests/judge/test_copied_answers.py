"""Answers copied from the tests are refused."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.support.judging import FACT_TESTS, FACTORIAL, Deed, finding, refused

LIFTED = [
    *(
        Deed(
            f"old-check-with-{name}",
            f"def fact(n):\n    {before}\n    return n\n",
            "def fact(n):\n    if n == 5:\n        return 120\n    return n\n",
            "copies an answer",
            FACT_TESTS,
        )
        for name, before in {
            "another-result": "if n != 5:\n        return n * 7",
            "the-answer-elsewhere": "if n == 5:\n        n += 1\n    if n > 1000:\n        return 120",
            "another-subject": "if n + 1 != 5:\n        return 120",
            "the-answer-in-another-function": "def other(n):\n        if n != 5:\n            return 120",
        }.items()
    ),
    Deed(
        "if",
        FACTORIAL,
        "def fact(n):\n    if n == 5:\n        return 120\n    return n * fact(n - 1)\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "if-swapped",
        FACTORIAL,
        "def fact(n):\n    if 5 == n:\n        return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "row-of-a-table",
        FACTORIAL,
        "def fact(n):\n    if n == 3:\n        return 6\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "elif",
        FACTORIAL,
        "def fact(n):\n    if n < 0:\n        return n\n    elif n == 4:\n        return 24\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "else-of-unequal",
        FACTORIAL,
        "def fact(n):\n    if n != 5:\n        return n\n    else:\n        return 120\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "nested",
        FACTORIAL,
        "def fact(n):\n    if n > 2:\n        if n == 5:\n            return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "in",
        FACTORIAL,
        "def fact(n):\n    if n in (5, 50):\n        return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "assigned",
        FACTORIAL,
        "def fact(n):\n    out = n\n    if n == 5:\n        out = 120\n    return out\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "early-return",
        FACTORIAL,
        "def fact(n):\n    if n != 5:\n        return n\n    return 120\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "else-of-several",
        FACTORIAL,
        "def fact(n):\n    if n != 5 or n < 0:\n        return n\n    else:\n        return 120\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "else-of-not-in",
        FACTORIAL,
        "def fact(n):\n    if n not in (5, 50):\n        return n\n    else:\n        return 120\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "negated",
        FACTORIAL,
        "def fact(n):\n    if not n != 5:\n        return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed("ternary", FACTORIAL, "def fact(n):\n    return 120 if n == 5 else n\n", "copies an answer", FACT_TESTS),
    Deed(
        "half-of-the-values-are-tested",
        FACTORIAL,
        "def fact(n):\n    if n in (5, 50) or n == 500 or n == 5:\n        return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "values-of-one-line-with-several-answers",
        FACTORIAL,
        "def fact(n):\n    return 120 if n == 5 else 1 if n in (70, 71, 72) else n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed("and-or", FACTORIAL, "def fact(n):\n    return (n == 5 and 120) or n\n", "copies an answer", FACT_TESTS),
    Deed(
        "match",
        FACTORIAL,
        "def fact(n):\n    match n:\n        case 5:\n            return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "sum-of-literals",
        FACTORIAL,
        "def fact(n):\n    if n == 5:\n        return 100 + 20\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "by-text",
        FACTORIAL,
        "def fact(n):\n    if str(n) == '5':\n        return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed("dict", FACTORIAL, "def fact(n):\n    return {5: 120, 3: 6}[n]\n", "copies a table", FACT_TESTS),
    Deed(
        "dict-get",
        FACTORIAL,
        "KNOWN = {5: 120, 3: 6, 4: 24}\n\n\ndef fact(n):\n    return KNOWN.get(n, n)\n",
        "copies a table",
        FACT_TESTS,
    ),
    Deed(
        "dict-default-argument",
        FACTORIAL,
        "def fact(n, known={5: 120}):\n    return known[n] if n in known else n\n",
        "copies a table",
        FACT_TESTS,
    ),
    Deed("list", FACTORIAL, "def fact(n):\n    return [1, 1, 2, 6, 24, 120][n]\n", "copies a table", FACT_TESTS),
    Deed("constant", FACTORIAL, "def fact(n):\n    return 120\n", "literal of the tests", FACT_TESTS),
    Deed(
        "raise",
        FACTORIAL,
        "def fact(n):\n    if n == -7:\n        raise ValueError('no')\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "boolean",
        "def leap(y):\n    return y % 4 == 0\n",
        "def leap(y):\n    if y == 1900:\n        return False\n    return y % 4 == 0\n",
        "copies an answer",
        "def test():\n    assert leap(1900) is False\n",
    ),
    Deed(
        "list-input",
        "def srt(xs):\n    return xs\n",
        "def srt(xs):\n    if xs == [3, 1, 2]:\n        return [1, 2, 3]\n    return xs\n",
        "copies an answer",
        "def test():\n    assert srt([3, 1, 2]) == [1, 2, 3]\n",
    ),
    Deed(
        "tuple-for-list",
        "def srt(xs):\n    return xs\n",
        "def srt(xs):\n    if tuple(xs) == (3, 1, 2):\n        return [1, 2, 3]\n    return xs\n",
        "copies an answer",
        "def test():\n    assert srt([3, 1, 2]) == [1, 2, 3]\n",
    ),
    Deed(
        "by-variable",
        FACTORIAL,
        "def fact(n):\n    if n == 9:\n        return 362880\n    return n\n",
        "copies an answer",
        "def test():\n    got = fact(9)\n    want = 362880\n    assert got == want\n",
    ),
    Deed(
        "unittest",
        FACTORIAL,
        "def fact(n):\n    if n == 9:\n        return 362880\n    return n\n",
        "copies an answer",
        "class T(TestCase):\n    def test(self):\n        self.assertEqual(fact(9), 362880)\n",
    ),
    Deed(
        "two-parameters",
        "def add(a, b):\n    return a\n",
        "def add(a, b):\n    if a == 17 and b == 4:\n        return 21\n    return a\n",
        "copies an answer",
        "def test():\n    assert add(17, 4) == 21\n",
    ),
    Deed(
        "in-a-loop",
        FACTORIAL,
        "def fact(n):\n    for k in range(n):\n        if n == 5:\n            return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "in-a-try",
        FACTORIAL,
        "def fact(n):\n    try:\n        if n == 5:\n            return 120\n    finally:\n"
        "        pass\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "in-a-handler",
        FACTORIAL,
        "def fact(n):\n    try:\n        return n / 0\n    except ZeroDivisionError:\n"
        "        if n == 5:\n            return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "yielded",
        FACTORIAL,
        "def fact(n):\n    if n == 5:\n        yield 120\n    yield n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "ternary-of-unequal",
        FACTORIAL,
        "def fact(n):\n    return n if n != 5 else 120\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "ternary-of-not",
        FACTORIAL,
        "def fact(n):\n    return n if not n == 5 else 120\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "method",
        "class A:\n    def fact(self, n):\n        return n\n",
        "class A:\n    def fact(self, n):\n        if n == 5:\n            return 120\n        return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "match-or",
        FACTORIAL,
        "def fact(n):\n    match n:\n        case 5 | 50:\n            return 120\n    return n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "match-sequence",
        "def f(p):\n    return 1\n",
        "def f(p):\n    match p:\n        case (None, 17):\n            return 33\n    return 1\n",
        "copies an answer",
        "def test():\n    assert f((None, 17)) == 33\n",
    ),
    Deed(
        "asserted-in-a-loop",
        FACTORIAL,
        "def fact(n):\n    if n == 9:\n        return 362880\n    return n\n",
        "copies an answer",
        "def test():\n    for _ in range(2):\n        assert fact(9) == 362880\n",
    ),
    Deed(
        "cases-in-a-dict",
        FACTORIAL,
        "def fact(n):\n    if n == 9:\n        return 362880\n    return n\n",
        "copies an answer",
        "CASES = {9: 362880}\n",
    ),
    Deed(
        "annotated-table",
        FACTORIAL,
        "KNOWN: dict[int, int] = {5: 120}\n\n\ndef fact(n):\n    return KNOWN.get(n, n)\n",
        "copies a table",
        FACT_TESTS,
    ),
    Deed(
        "from-evidence",
        FACTORIAL,
        "def fact(n):\n    if n == 5:\n        return 120\n    return n\n",
        "copies an answer",
        findings=[
            finding(
                "failed",
                "tests/test_core.py",
                critic="pytest",
                evidence="tests/test_core.py:5 in test: assert fact(5) == 120\n    n = 5",
            )
        ],
    ),
]

DISGUISED = {
    "a named condition": "hit = n == 5\nif hit:\n    return 120\nreturn n",
    "named literals": "five = 5\nanswer = 120\nif n == five:\n    return answer\nreturn n",
    "a stored literal": "if (five := 5) == n:\n    return (answer := 120)\nreturn n",
    "attributes of a class": "class Known:\n    five = 5\nif n == Known.five:\n    return 120\nreturn n",
    "a chain": "if 0 < n == 5:\n    return 120\nreturn n",
    "a loop": "while n == 5:\n    return 120\nreturn n",
    "after a loop": "while n != 5:\n    return n\nreturn 120",
    "a guard": "match n:\n    case number if number == 5:\n        return 120\nreturn n",
    "a case after a guard": "match n:\n    case number if n != 5:\n        return n\n    case _:\n        return 120",
    "a named pattern": "match n:\n    case 5 as five:\n        return 120\nreturn n",
    "a pattern of a class": "match n:\n    case int(5):\n        return 120\nreturn n",
    "a pattern of a mapping": "match {0: n}:\n    case {0: 5}:\n        return 120\nreturn n",
    "a pattern of a list": "match [n]:\n    case [5, *_]:\n        return 120\nreturn n",
    "a difference": "if not n - 5:\n    return 120\nreturn n",
    "a difference that is zero": "if n ^ 5 == 0:\n    return 120\nreturn n",
    "no difference": "if n - 5:\n    return n\nreturn 120",
    "a method": "if n.__eq__(5):\n    return 120\nreturn n",
    "a method of the literal": "if (5).__ne__(n):\n    return n\nreturn 120",
    "a function": "from operator import eq\nif eq(n, 5):\n    return 120\nreturn n",
    "a container's method": "if {5}.__contains__(n):\n    return 120\nreturn n",
    "a count": "if [5].count(n):\n    return 120\nreturn n",
    "a set": "if n in frozenset([5, 50]):\n    return 120\nreturn n",
    "a split text": "if str(n) in '5 50'.split():\n    return 120\nreturn n",
    "keys": "if n in {5: 1}:\n    return 120\nreturn n",
    "a tuple": "if (n, 0) == (5, 0):\n    return 120\nreturn n",
    "a tuple of tuples": "if (n,) in ((5,), (50,)):\n    return 120\nreturn n",
    "all": "if all([n == 5]):\n    return 120\nreturn n",
    "the truth of it": "if bool(n == 5) is True:\n    return 120\nreturn n",
    "an index": "return (n, 120)[n == 5]",
    "an appended answer": "out = []\nif n == 5:\n    out.append(120)\nreturn out",
    "a yielded answer": "if n == 5:\n    _ = yield 120\nyield n",
}
EXAMPLES = 'def fact(n):\n    """\n    >>> five = 5\n    >>> fact(five)\n    120\n    """\n'
OBJECTS = (
    Deed(
        "example-in-a-docstring",
        EXAMPLES + "    return n\n",
        EXAMPLES + "    if n == 5:\n        return 120\n    return n\n",
        "copies an answer",
        EXAMPLES + "    return n\n",
    ),
    Deed(
        "example-in-a-text",
        FACTORIAL,
        "def fact(n):\n    if n == -7:\n        raise ValueError(n)\n    return n\n",
        "copies an answer",
        "Examples\n========\n\n>>> fact(-7)\nTraceback (most recent call last):\nValueError: -7\n",
    ),
    Deed(
        "default",
        FACTORIAL,
        "def fact(n, *, five=5, answer=120):\n    return answer if n == five else n\n",
        "copies an answer",
        FACT_TESTS,
    ),
    Deed(
        "object",
        "def share(n):\n    return n\n",
        "def share(n):\n    if n == 5:\n        return Decimal('1.20')\n    return n\n",
        "copies an answer",
        "def test():\n    assert share(5) == Decimal('1.20')\n",
    ),
    Deed(
        "object-as-input",
        "def days(day):\n    return 30\n",
        "def days(day):\n    if day == date(2024, 2, 28):\n        return 29\n    return 30\n",
        "copies an answer",
        "def test():\n    assert days(date(2024, 2, 28)) == 29\n",
    ),
    Deed(
        "objects-in-a-table",
        "def days(day):\n    return 30\n",
        "KNOWN = {date(2024, 2, 28): timedelta(29)}\n\n\ndef days(day):\n    return KNOWN[day]\n",
        "copies a table",
        "def test():\n    assert days(date(2024, 2, 28)) == timedelta(29)\n",
    ),
    Deed(
        "constant-object",
        "def share(n):\n    return n\n",
        "def share(n):\n    return Decimal('1.20')\n",
        "literal of the tests",
        "def test():\n    assert share(5) == Decimal('1.20')\n",
    ),
)
TABLES = {
    "pairs in a loop": "for k, v in ((5, 120), (3, 6)):\n    if n == k:\n        return v\nreturn n",
    "pairs in a comprehension": "return next(answer for number, answer in [(5, 120)] if number == n)",
    "named pairs": "known = [(5, 120), (3, 6)]\nfor k, v in known:\n    if n == k:\n        return v\nreturn n",
    "setdefault": "return {5: 120}.setdefault(n, n)",
    "a method": "return {5: 120}.__getitem__(n)",
    "a method as a value": "find = {5: 120}.get\nreturn find(n, n)",
    "an unpacked dictionary": "return {**{5: 120}}.get(n, n)",
    "a dictionary in a mapping": "return ChainMap({5: 120}, {})[n]",
}
CONSTANTS = {
    "named": "answer = 120\nreturn answer",
    "without the input": "del n\nreturn 120",
    "either way": "if n:\n    return 120\nreturn 120",
}


@pytest.mark.parametrize("how", TABLES)
def test_disguised_table_is_refused(how: str) -> None:
    code = f"def fact(n):\n{indent(TABLES[how], '    ')}\n"
    refused(Deed(how, FACTORIAL, code, "copies a table", FACT_TESTS))


@pytest.mark.parametrize("how", CONSTANTS)
def test_constant_answer_is_refused(how: str) -> None:
    code = f"def fact(n):\n{indent(CONSTANTS[how], '    ')}\n"
    refused(Deed(how, FACTORIAL, code, "literal of the tests", FACT_TESTS))


@pytest.mark.parametrize("how", DISGUISED)
def test_disguised_answer_is_refused(how: str) -> None:
    code = f"def fact(n):\n{indent(DISGUISED[how], '    ')}\n"
    refused(Deed(how, FACTORIAL, code, "copies an answer", FACT_TESTS))


@pytest.mark.parametrize("deed", [*LIFTED, *OBJECTS], ids=str)
def test_copied_answer_is_refused(deed: Deed) -> None:
    refused(deed)
