"""Digests: what is the same patch, and what is not."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderefine.core import Patch
from coderefine.judge import admit, digest, digests, normal
from tests.support.judging import Deed, finding, judged, protected

OLD = {"a.py": b"x = 1\n", "b.txt": b"1\n", "broken.py": b"def (:\n"}
NOTHING = digest(Patch(), OLD)

SAME = [
    (b"def f(a):\n    return a\n", b"def f( a ) :\n\n    # why\n    return (a)  # yes\n"),
    (b"x = 'a'\n", b'x = "a"\n'),
    (b"x = 1000\n", b"x = 1_000\n"),
    (b"x = [1, 2]\n", b"x = [\n    1,\n    2,\n]\n"),
    (b"x = 1\n", b"x = 1\r\n"),
    (b"x = 1\n", b"\xef\xbb\xbfx = 1\n"),
    (b"x = 1\n", b"# coding: latin-1\nx = 1\n"),
]
DIFFERENT = [
    (b"x = 1\n", b"x = 1.0\n"),
    (b"x = 1\n", b"x = True\n"),
    (b"x = 'a'\n", b"x = b'a'\n"),
    (b'def f():\n    """A."""\n', b'def f():\n    """B."""\n'),
    (b"x = a\ny = b\n", b"y = b\nx = a\n"),
    (b"x = 1\n", b"x = 1\nx =\n"),
    (b"def (:\n", b"def (: \n"),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_layout_does_not_matter(one: bytes, two: bytes) -> None:
    assert normal("a.py", one) == normal("a.py", two)
    assert normal("a.txt", one) != normal("a.txt", two)
    assert digest(Patch({"a.py": two}), {"a.py": one}) == NOTHING
    assert digest(Patch({"a.py": two}), {"a.py": one}, exact=True) != digest(Patch(), {}, exact=True)


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_meaning_matters(one: bytes, two: bytes) -> None:
    assert digest(Patch({"a.py": two}), {"a.py": one}) != NOTHING


def test_unchanged_content_does_not_count() -> None:
    alone = Patch({"a.py": b"x = 2\n"})
    with_company = Patch({"a.py": b"x = 2\n", "b.txt": b"1\n", "broken.py": b"def (:\n"})
    assert digest(alone, OLD) == digest(with_company, OLD)
    assert digest(Patch({"a.py": None}), OLD) not in (NOTHING, digest(Patch({"a.py": b""}), OLD))


def test_paths_and_borders_between_files_count() -> None:
    assert digest(Patch({"a": b"1"}), {}) != digest(Patch({"b": b"1"}), {})
    assert digest(Patch({"a": b"1", "b": b"2"}), {}) != digest(Patch({"a": b"12", "b": b""}), {})


def test_a_program_nested_beyond_reason_is_compared_by_bytes() -> None:
    deep = b"x = " + b"-" * 50_000 + b"1\n"
    assert normal("a.py", deep) == b"bytes:" + deep
    long = b"x = " + b"+".join([b"1"] * 20_000) + b"\n"
    assert normal("a.py", long).endswith(long) or normal("a.py", long).startswith(b"tree:")


def test_repeats_and_round_trips_are_refused() -> None:
    first, second = Patch({"a.py": b"x = 2\n"}), Patch({"a.py": b"x = 3\n"})
    seen = digests(first, OLD) | digests(second, OLD)
    again = Patch({"a.py": b"x  =  2  # once more\n"})
    assert "seen before" in admit(again, OLD, protected, seen).reason
    assert "changes nothing" in admit(Patch({"a.py": OLD["a.py"]}), OLD, protected, seen).reason
    assert admit(Patch({"a.py": b"x = 4\n"}), OLD, protected, seen)


def test_with_a_lint_finding_in_the_file_layout_makes_a_new_patch_but_equal_bytes_do_not() -> None:
    spoken = (finding("W291", "a.py"),)
    once = Patch({"a.py": b"x = 1  # a\n"})
    assert admit(once, OLD, protected, findings=spoken)
    assert "seen before" in admit(once, OLD, protected, digests(once, OLD), findings=spoken).reason
    assert admit(Patch({"a.py": b"x = 1  # b\n"}), OLD, protected, digests(once, OLD), findings=spoken)
    assert not admit(once, OLD, protected, findings=(finding("W291", "b.txt"),))


def test_invalid_escapes_do_not_warn() -> None:
    assert judged(Deed("escape", "x = '\\d'\n", "y = '\\d'\nx = 2\n"))


names = st.sampled_from(["x", "y", "z"])
leaves = st.one_of(names, st.integers(0, 999).map(str), st.sampled_from(["'a'", "None", "True"]))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "==", "and", "<"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, names).map(lambda parts: f"f({parts[0]}, k={parts[1]})"),
    ),
    max_leaves=8,
)
lines = st.tuples(names, expressions).map(lambda parts: f"{parts[0]} = {parts[1]}")
programs = st.lists(lines, min_size=1, max_size=5)


@given(programs, st.data())
def test_digest_survives_any_formatting(program: list[str], data: st.DataObject) -> None:
    spoiled = []
    for line in program:
        spoiled += ["# note"] * data.draw(st.integers(0, 2)) + [""] * data.draw(st.integers(0, 2))
        spoiled.append(
            line.replace(", ", data.draw(st.sampled_from([",", " , "]))) + data.draw(st.sampled_from(["", "  # x"]))
        )
    original, other = "\n".join(program) + "\n", "\n".join(spoiled)
    formatted = ast.unparse(ast.parse(original))
    base = {"a.py": b"pass\n"}
    every = {digest(Patch({"a.py": text.encode()}), base) for text in (original, other, formatted)}
    assert len(every) == 1


@given(programs, programs)
def test_digests_are_equal_exactly_when_the_trees_are(one: list[str], two: list[str]) -> None:
    texts = ["\n".join(program) for program in (one, two)]
    trees = {ast.dump(ast.parse(text)) for text in texts}
    prints = {digest(Patch({"a.py": text.encode()}), {"a.py": b"pass\n"}) for text in texts}
    assert len(prints) == len(trees)
