"""Which functions outside the tests assert on their behalf, and which only look like it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.project import Place, Protection
from tests.support.repo import write

CLOSE = """\
import math

import pytest

LIMIT = 0.5


def _near(a, b):
    return math.isclose(a, b, abs_tol=LIMIT)


def assert_close(found, wanted):
    assert _near(found, wanted), (found, wanted)


def expect_sorted(rows):
    if rows != sorted(rows):
        raise AssertionError(rows)


def same_keys(one, other):
    if one.keys() != other.keys():
        pytest.fail("other keys")


def mean(rows):
    return sum(rows) / len(rows)
"""
CLOSE_TESTS = """\
from app.numbers import assert_close, expect_sorted, mean, same_keys


def test_mean():
    assert_close(mean([1, 2]), 1.5)
    expect_sorted([1, 2])
    same_keys({}, {})
"""
BASE = """\
import unittest

import pytest


class BaseTestCase(unittest.TestCase):
    def same(self, a, b):
        return a == b


class Client:
    def assert_ok(self):
        assert self.code == 200

    def get(self):
        self.code = 200


@pytest.fixture
def client():
    return Client()


def pytest_assertrepr_compare(left, right):
    return []


def make():
    return 1
"""
BASE_TESTS = """\
from app.base import BaseTestCase


class TestX(BaseTestCase):
    def test_x(self, client):
        client.assert_ok()
        client.get()
"""


def helpers(top: Path, files: Mapping[str, str], path: str) -> frozenset[str]:
    write(top, files)
    return Protection.of(Place(top, top), Config()).helpers(path, files[path].encode())


def test_helpers_assert_for_tests_and_include_code_that_only_they_use(tmp_path: Path) -> None:
    found = helpers(tmp_path, {"app/numbers.py": CLOSE, "tests/test_a.py": CLOSE_TESTS}, "app/numbers.py")
    assert found == {"assert_close", "_near", "LIMIT", "expect_sorted", "same_keys"}


def test_methods_fixtures_hooks_and_test_cases_are_helpers(tmp_path: Path) -> None:
    found = helpers(tmp_path, {"app/base.py": BASE, "tests/test_a.py": BASE_TESTS}, "app/base.py")
    assert found == {"BaseTestCase.same", "Client.assert_ok", "client", "pytest_assertrepr_compare"}


MANAGER = """\
import contextlib

@contextlib.contextmanager
def raises(kind, text=""):
    try:
        yield
    except kind as error:
        assert text in str(error)
    else:
        raise AssertionError(kind)
"""
IN_WITH = "from app.core import raises\n\n\ndef test_it():\n    with raises(ValueError):\n        int('x')\n"


def test_a_context_manager_with_which_tests_assert_is_a_helper(tmp_path: Path) -> None:
    """voluptuous: a patch could have made `raises` accept what the failing tests raise."""
    found = helpers(tmp_path, {"app/core.py": MANAGER, "tests/test_a.py": IN_WITH}, "app/core.py")
    assert found == {"raises"}


CHECK = "def validate(n):\n    if n < 0:\n        raise AssertionError(n)\n"
ASSERT = "def assert_positive(n):\n    assert n > 0\n"
USE = "from app.core import validate\n\n\ndef test_it():\n    validate(1)\n"
EXPECTING = "def test_no():\n    validate(1)\n    with pytest.raises(AssertionError):\n        validate(-1)\n"
HANDING = "def test_no():\n    assert_positive(1)\n    pytest.raises(AssertionError, assert_positive, 0)\n"
OURS: dict[str, tuple[str, dict[str, str]]] = {
    "a test expects it to fail": (
        CHECK,
        {"tests/test_a.py": EXPECTING},
    ),
    "a test hands it over to fail": (
        ASSERT,
        {"tests/test_a.py": HANDING},
    ),
    "the program calls it": (CHECK, {"tests/test_a.py": USE, "app/main.py": "def run(n):\n    validate(n)\n"}),
    "its own module calls it": (
        CHECK + "\n\ndef root(n):\n    validate(n)\n    return n ** 0.5\n",
        {"tests/test_a.py": USE},
    ),
    "it returns something": (CHECK + "    return n\n", {"tests/test_a.py": USE}),
    "it stores something": (CHECK + "    SEEN[n] = 1\n", {"tests/test_a.py": USE}),
    "it raises other errors": (CHECK + "    raise ValueError(n)\n", {"tests/test_a.py": USE}),
    "it yields something": (MANAGER.replace("yield", "yield kind"), {"tests/test_a.py": IN_WITH}),
    "it is no context manager": (MANAGER.replace("@contextlib.contextmanager", ""), {"tests/test_a.py": IN_WITH}),
    "no test calls it": (ASSERT, {"tests/test_a.py": "def test_it():\n    assert 1\n"}),
    "tests look at what it returns": (CHECK, {"tests/test_a.py": "def test_it():\n    assert validate(1) is None\n"}),
    "it asserts nothing": ("def validate(n):\n    print(n)\n", {"tests/test_a.py": USE}),
}


@pytest.mark.parametrize("why", OURS)
def test_a_function_of_the_program_is_no_helper_although_it_asserts_because(tmp_path: Path, why: str) -> None:
    text, others = OURS[why]
    assert helpers(tmp_path, {"app/core.py": text, **others}, "app/core.py") == frozenset()
