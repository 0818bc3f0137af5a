"""What is known of a suite before any of it has been watched."""

from __future__ import annotations

from coderefine.runner.nearness import ENOUGH, files_near, nearest, one_of_each

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
