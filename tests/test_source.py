"""Somebody's source: read whatever it holds, and without a word about it."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from coderefine.proposers.rewritings.code import Code
from coderefine.source import ParsedText, outer_functions, syntax

ODD = 'PATTERN = "\\d"\nassert (1, "always")\n'


@pytest.mark.parametrize("source", ["def f(:\n", "x = '\0'\n", b"# coding: none\n", "(" * 5000, "-" * 5_000 + "1"])
def test_text_that_does_not_parse_has_no_tree(source: str | bytes) -> None:
    assert syntax(source) is None


@pytest.mark.parametrize("source", [ODD, ODD.encode(), "\ufeffx = 1\n".encode()])
def test_warnings_of_python_are_suppressed(source: str | bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert syntax(source) is not None


def test_many_at_once_leave_the_warning_filters_as_they_were() -> None:
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(syntax, [ODD] * 200))
    assert list(warnings.filters) == before


@pytest.mark.parametrize("kind", [ParsedText, Code], ids=["text", "code of a rewriting"])
def test_the_step_of_a_file_is_known_although_a_body_follows_a_header_of_two_lines(kind: type[ParsedText]) -> None:
    text = "def f(a,\n      b): return a\n\n\nclass A:\n  x = 1\n"
    tree = syntax(text)
    assert tree is not None
    assert kind(text, tree).step == "  "


@pytest.mark.parametrize(
    "text",
    [
        "for one in (1, 2):\n    def f(): ...\n",
        "try:\n    import a\nexcept* ImportError:\n    def f(): ...\n",
        "match x:\n    case 1:\n        def f(): ...\n",
        "while True:\n    def f(): ...\n    break\n",
    ],
)
def test_a_function_defined_in_a_compound_statement_is_seen(text: str) -> None:
    tree = syntax(text)
    assert tree is not None
    assert [name for name, _ in outer_functions(tree)] == ["f"]
