"""What is left of a draft when tests are taken out of it."""

from __future__ import annotations

import pytest

from coderefine.critics import drafted

DRAFT = """\
import math

import pytest
from shop import price, total

LEAST = 0


def test_price():
    assert price(2) > LEAST


@pytest.mark.parametrize("n", [1, 2])
def test_total(n):
    assert total([n]) == math.ceil(n)
"""


@pytest.mark.parametrize(
    ("names", "gone", "left"),
    [
        ((), (), ("import math", "import pytest", "test_price", "test_total")),
        (("test_total",), ("math", "pytest", "test_total"), ("from shop import price, total", "LEAST", "test_price")),
        (("test_price",), ("test_price",), ("import math\n\nimport pytest", "LEAST", "def test_total(n):")),
        (("test_price", "test_total"), ("import", "test_"), ("LEAST",)),
    ],
)
def test_removed_tests_take_their_unused_imports_with_them(
    names: tuple[str, ...], gone: tuple[str, ...], left: tuple[str, ...]
) -> None:
    text = drafted.without(DRAFT, names)
    assert not [word for word in gone if word in text]
    assert all(word in text for word in left)
    assert drafted.tests_in(text) == {"test_price", "test_total"} - set(names)


def test_text_that_does_not_parse_is_unchanged() -> None:
    assert drafted.without("def test_a(:\n", ("test_a",)) == "def test_a(:\n"
    assert drafted.tests_in("def test_a(:\n") == frozenset()
