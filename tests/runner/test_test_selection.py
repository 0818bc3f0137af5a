"""What is known of a suite before any of it has been watched."""

from __future__ import annotations

import time

from coderefine.runner.test_selection import ENOUGH, files_near, nearest, one_of_each, to_watch

FAILING = ["tests/test_wrap.py::TestWrap::test_long[1]"]


def test_the_nearest_tests_come_first() -> None:
    tests = [
        "tests/test_io.py::test_read",
        "tests/test_text_wrap.py::test_other",
        "tests/test_wrap.py::test_plain",
        "tests/test_wrap.py::TestWrap::test_short",
        "tests/test_wrap.py::TestWrap::test_long[2]",
        *FAILING,
    ]
    assert nearest(FAILING, tests) == tests[-2::-1]


def test_a_small_suite_is_loaded_whole() -> None:
    assert files_near(FAILING, [*FAILING, "tests/test_io.py::test_read"]) is None


def test_of_a_large_suite_the_files_near_the_failing_tests_are_loaded() -> None:
    far = [f"tests/test_far.py::test[{number}]" for number in range(ENOUGH)]
    near = [f"tests/test_text_wrap.py::test[{number}]" for number in range(10)]
    assert files_near(FAILING, [*far, *near, *FAILING]) == ["tests/test_wrap.py", "tests/test_text_wrap.py"]


def test_each_function_has_a_turn_before_the_next_parameter() -> None:
    assert one_of_each(["t::a[1]", "t::a[2]", "t::b"]) == ["t::a[1]", "t::b", "t::a[2]"]


def test_the_order_of_thousands_of_parameters_takes_no_time() -> None:
    """For each test, a set of all was made anew: 8,000 tests took 48 s."""
    began = time.process_time()
    assert len(one_of_each([f"t::a[{number}]" for number in range(2)] + [f"t::t{n}" for n in range(9_000)])) == 9_002
    assert time.process_time() - began < 1.0


def test_a_bracket_in_a_path_begins_no_parameter() -> None:
    failing = ["[1]/test_a.py::test_one[1]"]
    tests = ["[1]/test_a.py::test_two", "[1]/test_a.py::test_one[2]"]
    assert nearest(failing, tests) == tests[::-1]


def test_a_slow_failing_test_is_not_traced_if_others_are_fast() -> None:
    """It would use all the time for tracing, so that no passing test could be traced and compared."""
    seconds = {"t.py::dear": 0.4, "t.py::one": 0.01, "t.py::two[1]": 0.01, "t.py::two[2]": 0.01}
    assert to_watch(list(seconds), seconds) == ["t.py::one", "t.py::two[1]", "t.py::two[2]"]
    assert to_watch(["t.py::dear"], seconds) == ["t.py::dear"]


def test_only_as_many_failing_tests_are_watched_as_are_informative() -> None:
    assert len(to_watch([f"t.py::t{number}" for number in range(90)], dict.fromkeys((), 0.0))) == 10
    assert len(to_watch([f"t.py::t{number}" for number in range(90)], {f"t.py::t{n}": 0.0 for n in range(90)})) == 40
