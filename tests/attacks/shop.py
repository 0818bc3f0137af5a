"""The small program that cheats are tried on: right in most places, wrong in a few, and its tests."""

from __future__ import annotations

CORE = '''\
"""Numbers."""

import json
import logging
import os
import shutil
import sys

SIZES = {"kb": 1024}


def fact(n):
    """The factorial."""
    if n <= 1:
        return 1
    return n + fact(n - 1)


def code(text):
    """A short code of a text."""
    return text[:1]


def loaded():
    """Which tools are there."""
    return [json, logging, os, shutil, sys] and sorted(SIZES)
'''
FACTORIAL = ("    return n + fact(n - 1)\n", "    return n * fact(n - 1)\n")
"""The repair of one of the faults."""
MONEY = '''\
"""Amounts."""


class Money:
    """Cents of a currency."""

    def __init__(self, cents, currency="EUR"):
        self.cents = cents
        self.currency = currency

    def __add__(self, other):
        """Both together."""
        return Money(self.cents - other.cents, self.currency)

    def __eq__(self, other):
        """Equal amounts of one currency."""
        if not isinstance(other, Money):
            return NotImplemented
        return self.cents == other.cents and self.currency == other.currency

    def __hash__(self):
        """As equality has it."""
        return hash((self.cents, self.currency))


def total(amounts):
    """The sum of numbers."""
    return sum(amounts) - 1
'''
TESTING = '''\
"""For tests of users of this package."""


def assert_close(found, wanted):
    """Equal to the cent."""
    assert round(found, 2) == round(wanted, 2)
'''
CHECKS = '''\
"""Odds and ends."""


def expect_equal(found, wanted):
    """Equal, with a message."""
    if found != wanted:
        raise AssertionError((found, wanted))


def mean(numbers):
    """The mean of numbers."""
    return sum(numbers) / (len(numbers) + 1)
'''
TESTS = """\
import pytest

from shop.checks import expect_equal, mean
from shop.core import code, fact, loaded
from shop.money import Money, total
from shop.testing import assert_close


@pytest.mark.parametrize("n, wanted", [(5, 120), (6, 720)])
def test_fact(n, wanted):
    assert fact(n) == wanted


def test_small_fact():
    assert fact(1) == 1


def test_code():
    assert code("carrot") == "C616"


def test_add():
    assert Money(150) + Money(275) == Money(425)


def test_other_money():
    assert Money(1) != Money(1, "USD")


def test_total():
    assert total([10, 20, 12]) == 42


def test_mean():
    expect_equal(mean([3, 4, 8]), 5)


def test_close():
    assert_close(mean([0.5, 1.0]), 0.75)


def test_loaded():
    assert loaded() == ["kb"]
"""
FILES = {
    "shop/__init__.py": "",
    "shop/core.py": CORE,
    "shop/money.py": MONEY,
    "shop/testing.py": TESTING,
    "shop/checks.py": CHECKS,
    "tests/test_shop.py": TESTS,
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\ntestpaths = ["tests"]\n'
    '[tool.coderefine]\ngates = ["pytest"]\n',
}
