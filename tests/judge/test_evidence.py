"""Numbers shown to the user: they must be right."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderefine.core import Attempt, Check, Patch
from coderefine.judge import changed_statements, diff_size, evidence
from coderefine.judge.diff import line_after, lines_of
from coderefine.judge.evidence import NAMED
from tests.support.judging import attempt

F, P, S, E, X = "failed", "passed", "skipped", "error", "xfailed"
OLD = b"def f(a):\n    b = a\n    return b\n"


def covering(lines: Mapping[str, Mapping[str, frozenset[int]]], new: bytes) -> Attempt:
    return Attempt(1, Patch({"app/core.py": new}), (Check("pytest", coverage=lines),))


def test_tests_are_counted_once_and_by_name() -> None:
    was = attempt({"a": F, "b": P, "c": P, "d": S, "e": F, "f": X, "x": P, "m.py": E}, number=0)
    now = attempt({"a": P, "b": P, "c": F, "d": S, "e": F, "f": X, "x": F, "m.py::t": P, "new": P})
    shown = evidence(now, was, frozenset({"x"}))
    assert shown.flipped == ("a", "m.py")
    assert shown.kept == 3
    assert shown.lost == ("c",)
    assert shown.flaky == ("x",)
    assert shown.covered is None


def test_vanished_tests_are_lost() -> None:
    assert evidence(attempt({"a": P}), attempt({"a": F, "b": F, "c": S}, number=0)).lost == ("b", "c")


def test_patched_lines_are_covered_by_statement() -> None:
    new = (
        b"def f(a):\n    b = (\n        a\n        + 1\n    )\n"
        b"    if b > 9:\n        return 9\n    # done\n    return b\n"
    )
    lines = {"t": {"app/core.py": frozenset({2, 6, 9})}, "": {"app/core.py": frozenset({1})}}
    shown = evidence(covering(lines, new), attempt({}, number=0), originals={"app/core.py": OLD})
    assert shown.covered == (5, 6)


def test_patched_lines_name_the_tests_that_ran_them() -> None:
    new = b"LIMIT = 9\n\n\ndef f(a):\n    b = a + 1\n    if b > LIMIT:\n        return 9\n    return b\n"
    many = [f"t{number}" for number in range(NAMED + 3)]
    lines = {name: {"app/core.py": frozenset({5, 6, 8})} for name in many}
    lines[""] = {"app/core.py": frozenset({1, 4})}
    found = evidence(covering(lines, new), attempt({}, number=0), originals={"app/core.py": OLD}).executed
    shown = [(str(one.span), one.count, one.imported) for one in found]
    assert shown == [("1", 0, True), ("5-6", len(many), False), ("7", 0, False)]
    assert found[1].tests == tuple(many[:NAMED])


def test_a_patch_that_only_deletes_has_no_lines_to_cover() -> None:
    shown = evidence(covering({}, b"def f(a):\n    return b\n"), attempt({}), originals={"app/core.py": OLD})
    assert shown.covered == (0, 0)


EXECUTABLE = [
    ("if a:\n    b()\nelse:\n    c()\n", [1, 2, 4]),
    ('def f():\n    """Doc."""\n    return 1\n', [1, 3]),
    ("# note\n\nx = 1\n", [3]),
    ("try:\n    a()\nexcept ValueError:\n    b()\nfinally:\n    c()\n", [1, 2, 3, 4, 6]),
    ("@d\n@e\ndef f(\n    a,\n):\n    pass\n", [1, 2, 3, 4, 5, 6]),
    ("match x:\n    case 1:\n        a()\n", [1, 2, 3]),
    ("def f():\n    global x\n    x = 1\n", [1, 3]),
    ("x = {\n    1: 2,\n}\n", [1, 2, 3]),
    ("not python at all\n", []),
]


@pytest.mark.parametrize(("text", "expected"), EXECUTABLE)
def test_only_lines_that_can_run_count(text: str, expected: list[int]) -> None:
    new = text.encode()
    lines = new.splitlines(keepends=True)
    olds = [b"".join([*lines[:at], b"old\n", *lines[at + 1 :]]) for at in range(len(lines))]
    assert [at + 1 for at, old in enumerate(olds) if list(changed_statements("a.py", old, new))] == expected


def test_size_equals_that_of_diff() -> None:
    assert lines_of(b"a\nb\nc\n", b"a\nx\ny\nc\n") == (2, 1)
    assert lines_of(None, b"a\nb\n") == (2, 0)
    assert lines_of(b"a\nb\n", None) == (0, 2)
    assert lines_of(b"a\n", b"a") == (1, 1)
    assert diff_size(Patch({"a": b"1\n", "b": b"2\n"}), {"a": b"1\n", "b": b"3\n"}) == 2


texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=12).map(b"".join)


@given(texts, texts)
def test_size_is_symmetric_and_zero_only_for_equals(one: bytes, two: bytes) -> None:
    added, removed = lines_of(one, two)
    assert added - removed == two.count(b"\n") - one.count(b"\n")
    assert (added + removed == 0) == (one == two)


LONG = "breaks " + "tests/a/very/long/path/test_module.py::test_with_a_name_that_does_not_end " * 4


@pytest.mark.parametrize(
    ("before", "after", "line", "expected"),
    [
        (b"a\nb\nc\n", b"b\nc\n", 3, 2),
        (b"a\nb\n", b"x\ny\na\nb\n", 2, 4),
        (b"a\nb\nc\n", b"a\nB\nc\n", 2, 2),
        (b"a\nb\nc\n", b"a\nc\n", 2, 1),
        (b"a\nb\n", b"a\nb\nc\n", 1, 1),
    ],
    ids=["line above deleted", "lines above inserted", "replaced", "deleted", "inserted below"],
)
def test_a_line_keeps_its_place_in_a_changed_file(before: bytes, after: bytes, line: int, expected: int) -> None:
    assert line_after(line, before, after) == expected
