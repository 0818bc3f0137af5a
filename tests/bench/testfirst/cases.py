"""Small projects whose tests use what does not exist yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TEXT = '''\
"""Helpers for text."""

import re

WORD = re.compile(r"[a-z]+")


def words(text):
    """Lower-case words of a text."""
    return WORD.findall(text.lower())


def shorten(text, most):
    """At most `most` characters, an ellipsis at the end of a longer text."""
    return text if len(text) <= most else text[: most - 1] + "…"
'''
CART = '''\
"""A shopping cart."""


class Cart:
    """Prices by name."""

    def __init__(self):
        self.prices = {}

    def add(self, name, price):
        """Put an article in."""
        self.prices[name] = price

    def total(self):
        """Sum of the prices."""
        return sum(self.prices.values())
'''
CLI = '''\
"""The command line."""

import argparse


def parser():
    """The arguments."""
    made = argparse.ArgumentParser(prog="tool")
    made.add_argument("path")
    made.add_argument("--quiet", action="store_true", help="print nothing")
    return made


def main(argv):
    """Print the path."""
    given = parser().parse_args(argv)
    return given.path
'''
CLICK = '''\
"""The command line, as functions that are registered."""

COMMANDS = {}


def command(name):
    """Register a function as a command."""

    def keep(function):
        COMMANDS[name] = function
        return function

    return keep


@command("add")
def add(left, right):
    return int(left) + int(right)


def run(name, *arguments):
    """Run a command by name."""
    if name not in COMMANDS:
        raise SystemExit(f"No such command '{name}'")
    return COMMANDS[name](*arguments)
'''
LOAD = '''\
"""Tables that come with the package."""

from pathlib import Path

HERE = Path(__file__).parent / "data"


def table(name):
    """Rows of a table, as lists of cells."""
    return [line.split(",") for line in (HERE / f"{name}.csv").read_text().splitlines()]
'''
PLUGIN = '''\
"""Fixtures for programs that use the package."""

import pytest


@pytest.fixture
def empty_cart():
    """A cart with nothing in it."""
    return []
'''
LONG = TEXT + "".join(
    f'\n\ndef rule_{number}(text):\n    """Rule number {number}."""\n    return text.replace("{number}", "")\n'
    for number in range(60)
)
INI = '[tool.pytest.ini_options]\npythonpath = ["src", "."]\n'


@dataclass(frozen=True)
class Case:
    """`name`: what is missing, as the tests write it; `place`: the file where it belongs.

    Lines of the tests that use it without its name end in `# used`.
    """

    kind: str
    name: str
    place: str
    files: Mapping[str, str]


def case(kind: str, name: str, place: str, tests: str, **files: str) -> Case:
    """A project with one test module; `files` by path, `__` for a slash and `_py` for the ending."""
    named = {
        path if "." in path else path.replace("__", "/").replace("_py", ".py").replace("_csv", ".csv"): text
        for path, text in files.items()
    }
    return Case(kind, name, place, {"pyproject.toml": INI, "tests/test_it.py": tests, **named})


DURATION = '''\
import pytest

from text import parse_duration, words


def test_words():
    assert words("A b") == ["a", "b"]


@pytest.mark.parametrize(("said", "seconds"), [("1h", 3600), ("2m", 120), ("5s", 5), ("1h30m", 5400)])
def test_durations(said, seconds):
    """Hours, minutes and seconds, one after the other."""
    assert parse_duration(said) == seconds


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="no duration"):
        parse_duration("soon")
'''
CASES = (
    case("function", "parse_duration", "text.py", DURATION, text_py=TEXT),
    case("function in a long module", "parse_duration", "text.py", DURATION, text_py=LONG),
    case(
        "function in a package",
        "slug",
        "src/pkg/text.py",
        "from pkg.text import slug\n\n\ndef test_slug():\n    assert slug('A b!') == 'a-b'\n",
        **{"src/pkg/__init__.py": "", "src/pkg/text.py": TEXT},
    ),
    case(
        "function in another folder than src",
        "slug",
        "lib/pkg/text.py",
        "from pkg.text import slug\n\n\ndef test_slug():\n    assert slug('A b!') == 'a-b'\n",
        **{"lib/pkg/__init__.py": "", "lib/pkg/text.py": TEXT, "pyproject.toml": INI.replace("src", "lib")},
    ),
    case(
        "name of a package",
        "slug",
        "src/pkg/__init__.py",
        "import pytest\n\nfrom pkg import slug\n\n\ndef test_slug():\n    assert slug('A b!') == 'a-b'\n",
        **{"src/pkg/__init__.py": "from .text import words\n", "src/pkg/text.py": TEXT},
    ),
    case(
        "several names",
        "invert",
        "text.py",
        "from text import capitals, invert, words\n\n\ndef test_capitals():\n    assert capitals('aB') == 1\n\n\n"
        "def test_invert():\n    assert invert('aB') == 'Ab'\n    assert invert('') == ''\n",
        text_py=TEXT,
    ),
    case(
        "class",
        "Basket",
        "cart.py",
        "from cart import Basket\n\n\ndef test_basket():\n    basket = Basket(limit=2)\n    basket.put('a')\n"
        "    assert basket.items == ['a']\n\n\ndef test_full():\n    assert Basket(limit=0).full\n",
        cart_py=CART,
    ),
    case(
        "class of exceptions",
        "EmptyCartError",
        "cart.py",
        "import unittest\n\nfrom cart import Cart, EmptyCartError\n\n\nclass CartTest(unittest.TestCase):\n"
        "    def setUp(self):\n        self.cart = Cart()\n\n    def test_empty(self):\n"
        "        with self.assertRaises(EmptyCartError):\n            self.cart.mean()\n",
        cart_py=CART,
    ),
    case(
        "module",
        "units",
        "units.py",
        "from units import metres\n\n\ndef test_feet():\n    assert metres(10, 'ft') == 3.048\n",
        text_py=TEXT,
    ),
    case(
        "module of a package",
        "to_metres",
        "src/pkg/units.py",
        "from pkg.units import to_metres\n\n\ndef test_feet():\n    assert to_metres(10, 'ft') == 3.048\n\n\n"
        "def test_unknown():\n    assert to_metres(1, 'x') is None\n",
        **{"src/pkg/__init__.py": "", "src/pkg/text.py": TEXT},
    ),
    case(
        "module imported whole",
        "units",
        "src/pkg/units.py",
        "import pkg.units\n\n\ndef test_feet():\n    assert pkg.units.metres(10, 'ft') == 3.048\n",
        **{"src/pkg/__init__.py": "", "src/pkg/text.py": TEXT},
    ),
    case(
        "module imported from its package",
        "units",
        "src/pkg/units.py",
        "from pkg import units\n\n\ndef test_feet():\n    assert units.metres(10, 'ft') == 3.048\n",
        **{"src/pkg/__init__.py": "", "src/pkg/text.py": TEXT},
    ),
    case(
        "package",
        "Money",
        "bank/money.py",
        "from bank.money import Money\n\n\ndef test_sum():\n    assert Money(1) + Money(2) == Money(3)\n",
        cart_py=CART,
    ),
    case(
        "parameter",
        "marker",
        "text.py",
        "from text import shorten\n\n\ndef test_marker():\n    assert shorten('abcdef', 3, marker='.') == 'ab.'\n\n\n"
        "def test_short():\n    assert shorten('ab', 3) == 'ab'\n",
        text_py=TEXT,
    ),
    case(
        "parameter in a long module",
        "marker",
        "text.py",
        "from text import shorten\n\n\ndef test_marker():\n    assert shorten('abcdef', 3, marker='.') == 'ab.'\n",
        text_py=LONG,
    ),
    case(
        "parameter of a constructor",
        "currency",
        "cart.py",
        "from cart import Cart\n\n\ndef test_currency():\n    cart = Cart(currency='EUR')\n"
        "    assert cart.currency == 'EUR'\n",
        cart_py=CART,
    ),
    case(
        "positional argument",
        "add",
        "cart.py",
        "from cart import Cart\n\n\ndef test_count():\n    cart = Cart()\n    cart.add('pen', 2, 3)\n"
        "    assert cart.total() == 6\n",
        cart_py=CART,
    ),
    case(
        "method",
        "remove",
        "cart.py",
        "import pytest\n\nfrom cart import Cart\n\n\n@pytest.fixture\ndef cart():\n    made = Cart()\n"
        "    made.add('pen', 2)\n    return made\n\n\ndef test_remove(cart):\n    cart.remove('pen')\n"
        "    assert cart.total() == 0\n\n\ndef test_unknown(cart):\n    with pytest.raises(KeyError):\n"
        "        cart.remove('cup')\n",
        cart_py=CART,
    ),
    case(
        "class method",
        "of",
        "cart.py",
        "from cart import Cart\n\n\ndef test_of():\n    assert Cart.of(pen=2, cup=3).total() == 5\n",
        cart_py=CART,
    ),
    case(
        "attribute",
        "count",
        "cart.py",
        "from cart import Cart\n\n\ndef test_count():\n    cart = Cart()\n    assert cart.count == 0\n",
        cart_py=CART,
    ),
    case(
        "function of a module object",
        "squeeze",
        "text.py",
        "import text\n\n\ndef test_squeeze():\n    assert text.squeeze('a  b') == 'a b'\n",
        text_py=TEXT,
    ),
    case(
        "constant",
        "LIMIT",
        "text.py",
        "from text import LIMIT, shorten\n\n\ndef test_limit():\n"
        "    assert len(shorten('x' * 999, LIMIT)) == LIMIT == 80\n",
        text_py=TEXT,
    ),
    case(
        "constant of a class",
        "LARGEST",
        "cart.py",
        "from cart import Cart\n\n\ndef test_largest():\n    assert Cart.LARGEST == 10\n",
        cart_py=CART,
    ),
    case(
        "fixture",
        "full_cart",
        "shop_plugin.py",
        "def test_full(full_cart):\n    assert full_cart == ['pen', 'cup']\n\n\n"
        "def test_empty(empty_cart):\n    assert empty_cart == []\n",
        shop_plugin_py=PLUGIN,
        tests__conftest_py='pytest_plugins = ["shop_plugin"]\n',
    ),
    case(
        "option",
        "--json",
        "cli.py",
        "from cli import main, parser\n\n\ndef test_json():\n"
        "    assert parser().parse_args(['a', '--json']).json is True\n\n\n"
        "def test_path():\n    assert main(['a']) == 'a'\n",
        cli_py=CLI,
    ),
    case(
        "command",
        "mul",
        "commands.py",
        "from commands import run\n\n\ndef test_mul():\n    assert run('mul', '2', '3') == 6\n",
        commands_py=CLICK,
    ),
    case(
        "data file",
        "units.csv",
        "tables.py",
        "from tables import table\n\n\ndef test_units():\n    # as data/units.csv has them\n"
        "    assert table('units')[0] == ['metre', 'm']\n",
        tables_py=LOAD,
        data__rates_csv="EUR,1\n",
    ),
    case(
        "function of a helper of the tests",
        "parse_pair",
        "text.py",
        "from helper import pair\n\nfrom text import parse_pair\n\n\ndef test_pair():\n"
        "    assert parse_pair(pair(1, 2)) == (1, 2)\n",
        text_py=TEXT,
        tests__helper_py="def pair(left, right):\n    return f'{left}={right}'\n",
    ),
    case(
        "class behind a fixture",
        "Basket",
        "cart.py",
        "import pytest\n\nfrom cart import Basket\n\n\n@pytest.fixture\ndef basket():\n    return Basket(limit=2)\n\n\n"
        "def test_put(basket):  # used\n    basket.put('a')\n    assert basket.items == ['a']  # used\n\n\n"
        "def test_full():\n    assert Basket(limit=0).full\n",
        cart_py=CART,
    ),
    case(
        "class behind setUp",
        "Basket",
        "cart.py",
        "import unittest\n\nfrom cart import Basket\n\n\nclass Base(unittest.TestCase):\n    def setUp(self):\n"
        "        self.basket = Basket(limit=2)\n\n\nclass BasketTest(Base):\n    def test_put(self):  # used\n"
        "        self.basket.put('a')\n        self.assertEqual(self.basket.items, ['a'])  # used\n",
        cart_py=CART,
    ),
    case(
        "function behind a helper",
        "parse_pair",
        "text.py",
        "from text import parse_pair, words\n\n\ndef check(said, *pair):\n    assert parse_pair(said) == pair\n\n\n"
        "def test_pair():\n    check('1=2', 1, 2)  # used\n\n\ndef test_words():\n    assert words('') == []\n",
        text_py=TEXT,
    ),
    case(
        "functions in a table",
        "swap",
        "text.py",
        "import pytest\n\nfrom text import swap\n\nCASES = [\n    (swap, 'ab', 'ba'),\n    (str, 'a', 'a'),\n]\n\n\n"
        "@pytest.mark.parametrize('function, given, expected', CASES)  # used\n"
        "def test_functions(function, given, expected):\n    assert function(given) == expected  # used\n",
        text_py=TEXT,
    ),
    case(
        "function of the tests' own module",
        "parse_pair",
        "text.py",
        "from helper import pair\n\n\ndef test_pair():\n    assert pair('1=2') == (1, 2)  # used\n",
        text_py=TEXT,
        tests__helper_py="from text import parse_pair\n\n\ndef pair(said):\n    return parse_pair(said)\n",
    ),
)
