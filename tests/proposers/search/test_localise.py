"""The faulty statement comes out on top."""

from __future__ import annotations

import pytest

from coderefine.core import Case, Failure, Frame, Status
from coderefine.proposers.search.localise import suspects
from coderefine.proposers.search.syntax import Module

TEXT = """\
LIMITS = {"a": 1}

def small(x):
    if x > 1:
        return x
    return LIMITS["a"]

def other(y):
    \"\"\"Text.\"\"\"
    return y
"""


@pytest.fixture
def module() -> Module:
    found = Module.of("m.py", TEXT.encode())
    assert found is not None
    return found


def case(name: str, *frames: Frame, message: str = "", exception: str = "") -> Case:
    return Case(name, Status.FAILED, failure=Failure(message, exception, "", frames))


def lines(*numbers: int) -> dict[str, frozenset[int]]:
    return {"m.py": frozenset(numbers)}


def test_only_failing_tests_run_it(module: Module) -> None:
    coverage = {"bad": lines(4, 6), "good": lines(4, 5), "third": lines(10)}
    found = suspects({"m.py": module}, coverage, [case("bad")], {})
    ranked = sorted(found.weights, key=lambda stmt: -found.weights[stmt])
    assert ranked[0].lineno == 6
    assert all(stmt.lineno not in (8, 9, 10) for stmt in ranked)


def test_traceback_outweighs_a_tie(module: Module) -> None:
    frame = Frame("m.py", 4, "small", {"x": "'text'"})
    found = suspects({"m.py": module}, {"bad": lines(4, 6)}, [case("bad", frame, exception="TypeError")], {})
    assert max(found.weights, key=lambda stmt: found.weights[stmt]).lineno == 4
    assert found.raised == {"TypeError"}
    assert list(found.seen.values()) == [{"x": "'text'"}]


def test_the_function_that_the_test_names(module: Module) -> None:
    coverage = {"test_other": lines(4, 6, 10)}
    found = suspects({"m.py": module}, coverage, [case("test_other")], {})
    assert max(found.weights, key=lambda stmt: found.weights[stmt]).lineno == 10


def test_data_read_by_suspicious_code_is_suspicious(module: Module) -> None:
    found = suspects({"m.py": module}, {"bad": lines(4, 6)}, [case("bad")], {})
    assert 0 < found.weights[module.by_line[1]] < found.weights[module.by_line[6]]


def test_waited_for_in_vain(module: Module) -> None:
    found = suspects({"m.py": module}, {"bad": lines(4)}, [case("bad", message="DID NOT RAISE <class 'KeyError'>")], {})
    assert "KeyError" in found.raised


def test_a_signature_that_refuses_a_call_although_no_line_of_it_ran(module: Module) -> None:
    said = "TypeError: other() takes 1 positional argument but 2 were given"
    found = suspects({"m.py": module}, {"bad": lines(4)}, [case("bad", message=said, exception="TypeError")], {})
    assert 8 in [stmt.lineno for stmt in found.weights]
