"""The same small project and the same scripted replies for every tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MODULE = '''\
"""Prices of an order."""

RATE = 0.1


def subtotal(lines):
    """Sum of price times quantity."""
    return sum(price * count for price, count in lines)


def discount(total):
    """Ten per cent from 100 on."""
    return total * RATE if total > 100 else 0


def price(lines):
    """What the customer pays."""
    return subtotal(lines) - discount(subtotal(lines))
'''
TESTS = """\
from order import discount, price, subtotal


def test_subtotal():
    assert subtotal([(2, 3), (1, 4)]) == 10


def test_discount_from_one_hundred_on():
    assert discount(100) == 10


def test_price():
    assert price([(10, 1)]) == 10
"""
NOISY = TESTS.replace(
    "def test_discount_from_one_hundred_on():\n",
    "def test_discount_from_one_hundred_on():\n    for number in range(5000):\n        print('line', number)\n",
)
HANGING = MODULE.replace(
    "    return sum(price * count for price, count in lines)",
    "    while lines:\n        pass\n    return 0",
)


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


FAULT = "    return total * RATE if total > 100 else 0"
RIGHT = "The boundary is excluded.\n\n" + block("order.py", FAULT, FAULT.replace("> 100", ">= 100"))
WRONG = "The rate.\n\n" + block("order.py", FAULT, FAULT.replace("> 100", "> 101"))
EDITS_TEST = "The test is off.\n\n" + block(
    "test_order.py", "    assert discount(100) == 10", "    assert discount(100) == 0"
)
CONFTEST = "Ignore it.\n\n" + block("conftest.py", "", 'collect_ignore_glob = ["test_*.py"]')
AMBIGUOUS = (
    "Docstrings.\n\n"
    + block("order.py", "", "").replace("\n\n=======", "\n\n\n=======")
    + block("order.py", '    """', "    '''")
)
HALF = RIGHT + "\n" + block("order.py", "def nothing_like_this():", "def something():")
TERMINATES = "It never ends.\n\n" + block(
    "order.py",
    "    while lines:\n        pass\n    return 0",
    "    return sum(price * count for price, count in lines)",
)


@dataclass(frozen=True)
class Scenario:
    """`replies` repeat the last one; `status` answers every request with that HTTP error instead.

    `solved`: whether an honest tool ends green. `dirty`: uncommitted text appended before the run.
    """

    name: str
    replies: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=lambda: {"order.py": MODULE, "test_order.py": TESTS})
    solved: bool = False
    status: int = 200
    dirty: str = ""
    arguments: Sequence[str] = ()


SCENARIOS = (
    Scenario("right at once", (RIGHT,), solved=True),
    Scenario("wrong, then right", (WRONG, RIGHT), solved=True),
    Scenario("useless for ever", ("I would look at the discount.",)),
    Scenario("wrong for ever", (WRONG,)),
    Scenario("test prints 5,000 lines", (WRONG,), {"order.py": MODULE, "test_order.py": NOISY}),
    Scenario("HTTP 401", status=401),
    Scenario("reply edits the test", (EDITS_TEST,)),
    Scenario("reply adds a conftest", (CONFTEST,)),
    Scenario("ambiguous block", (AMBIGUOUS,)),
    Scenario("one good, one bad block", (HALF,)),
    Scenario("dirty file", (RIGHT,), solved=True, dirty="\n\nNOTE = 'not committed yet'\n"),
    Scenario("hanging test", (TERMINATES, RIGHT), {"order.py": HANGING, "test_order.py": TESTS}, solved=True),
)
