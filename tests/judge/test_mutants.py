"""Mutants touch only what the patch changed, and each is another program."""

from __future__ import annotations

import ast

import pytest

from coderefine.core import Patch
from coderefine.judge import mutants, parse

OLD = b"def f(x, y):\n    a = x + 1\n    return a > y\n"


def texts(new: bytes, old: bytes = OLD) -> list[str]:
    return [one.files["m.py"].decode() for one in mutants(Patch({"m.py": new}), {"m.py": old})]


def test_only_changed_lines_are_mutated() -> None:
    found = texts(OLD.replace(b"a > y", b"a >= y"))
    assert found
    assert all("a = x + 1" in text for text in found)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("return a >= y", "a > y"),
        ("return a == y", "a != y"),
        ("return a in y", "a not in y"),
        ("return a and y", "a or y"),
        ("return a * y", "a // y"),
        ("return a - y", "a + y"),
        ("return a + 7", "8"),
        ("return True", "False"),
        ("return a if y else x", "not y"),
        ("return a if y else x", "(True)"),
        ("return a if y else x", "(False)"),
        ("return a < y", "return (None)"),
        ("a += y", "a += (-y)"),
    ],
)
def test_each_operator(line: str, wrong: str) -> None:
    assert any(wrong in text for text in texts(OLD.replace(b"return a > y", line.encode())))


def test_every_mutant_parses_and_differs() -> None:
    new = OLD.replace(b"a > y", b"a >= y and x < 3")
    trees = {ast.dump(tree) for text in texts(new) if (tree := parse(text.encode()))}
    assert len(trees) == len(texts(new))
    assert ast.dump(parse(new) or ast.Module([], [])) not in trees


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("if a == 'x' : pass", "if a != 'x' : pass", ["if (True)", "if (False)"]),
        ("if a: pass", "if not a: pass", ["if (True)", "if (False)"]),
        ("if a > 1: pass", "if a >= 1: pass", ["if (not a >= 1)", "if (True)", "if (False)", "if a >= (2)"]),
        ("while a > 1: pass", "while a > 2: pass", ["while (not a > 2)", "while (a >= 2)", "while a > (3)"]),
    ],
)
def test_a_mutant_of_a_repair_is_not_the_original_again(old: str, new: str, wanted: list[str]) -> None:
    """cssutils: `if v != x` had a strength of 2/2: both mutants were `if v == x`, with which the failing test fails."""
    patch, originals = Patch({"m.py": f"{new}\n".encode()}), {"m.py": f"{old}\n".encode()}
    found = [one.files["m.py"].decode() for one in mutants(patch, originals, repairing=True)]
    assert sorted(text.partition(":")[0].strip() for text in found) == sorted(wanted)


def test_text_before_the_expression_may_be_non_ascii() -> None:
    new = OLD.replace(b"return a > y", 'return "é" and a >= y'.encode())
    assert any('"é" and (a > y)' in text for text in texts(new))


def test_other_files_and_deletions_have_no_mutants() -> None:
    assert list(mutants(Patch({"m.txt": b"1 > 2\n"}), {"m.txt": b""})) == []
    assert list(mutants(Patch({"m.py": None}), {"m.py": OLD})) == []
