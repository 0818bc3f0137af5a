"""A project with one of everything a fork could get wrong, and edits, each with the speed it must be judged at."""

from __future__ import annotations

from dataclasses import dataclass

FILES = {
    "pyproject.toml": """
[tool.pytest.ini_options]
pythonpath = ["."]
addopts = "-q -x --durations=3 -p pytest_asyncio.plugin"
filterwarnings = ["error", "ignore::DeprecationWarning:pytest_asyncio"]
asyncio_default_fixture_loop_scope = "function"
""",
    "zoo/__init__.py": "from zoo.registry import REGISTRY\n",
    "zoo/functions.py": '''
"""Plain functions."""
import re

LIMIT = 3
TABLE = [n * n for n in range(4)]


def add(a, b):
    return a + b


def double(values):
    return [2 * value for value in values]


def clean(text):
    return re.sub(r"\\s+", " ", text).strip()


def helper(n):
    return n + 1


FROM_HELPER = helper(1)


def uses_constant(n):
    return n < LIMIT


def power(base, exponent=2):
    return base ** exponent


def documented():
    """First.

    >>> documented()
    1
    """
    return 1


def late_import():
    from zoo import lazy
    return lazy.value()


key = lambda pair: pair[1]; other = lambda pair: pair[0]
''',
    "zoo/lazy.py": "def value():\n    return 7\n",
    "zoo/classes.py": """
from __future__ import annotations
from dataclasses import dataclass, field


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return abs(self.x) + abs(self.y)

    @classmethod
    def origin(cls) -> Point:
        return cls(0)

    @staticmethod
    def twice(n: int) -> int:
        return n * 2

    def __private(self) -> int:
        return self.x

    def shown(self) -> int:
        return self.__private()


class Base:
    seen: list[str] = []

    def __init_subclass__(cls) -> None:
        Base.seen.append(cls.__name__.lower())


class Child(Base):
    kind = "child"

    def greet(self) -> str:
        def inner(name: str) -> str:
            return f"hello {name}, {self.kind}"
        return inner("you")
""",
    "zoo/registry.py": """
import functools

REGISTRY = {}


def register(name):
    def wrap(function):
        REGISTRY[name] = function
        return function
    return wrap


def counted(function):
    @functools.wraps(function)
    def wrapper(*args):
        wrapper.calls += 1
        return function(*args)
    wrapper.calls = 0
    return wrapper


@register("up")
def shout(text):
    return text.upper()


@counted
def halve(n):
    return n / 2


@functools.lru_cache(maxsize=None)
def cached(n):
    return n + 10


def make_adder(k):
    def adder(n):
        return n + k
    return adder


add_five = make_adder(5)
""",
    "zoo/flows.py": """
import asyncio
import contextlib


def numbers(n):
    for i in range(n):
        yield i


async def later(n):
    await asyncio.sleep(0)
    return n * 3


@contextlib.contextmanager
def opened(log):
    log.append("in")
    try:
        yield log
    finally:
        log.append("out")


def guarded(n):
    if n < 0:
        raise ValueError("negative")
    return n


state = {"count": 0}


def bump():
    state["count"] += 1
    return state["count"]


def same(a, b):
    return a is b


def at_collection():
    return [1, 2]
""",
    "zoo/__main__.py": "from zoo.functions import add\nprint(add(2, 2))\n",
    "conftest.py": """
import pytest
from zoo.classes import Point


@pytest.fixture(scope="module")
def point():
    return Point(3, -4)


@pytest.fixture(autouse=True)
def fresh():
    from zoo.flows import state
    state["count"] = 0
    yield
    state["count"] = 0
""",
    "test_functions.py": """
import inspect
import subprocess
import sys
import pytest
from zoo import functions


@pytest.mark.parametrize("a,b,c", [(1, 2, 3), (0, 0, 0), (-1, 1, 0)])
def test_add(a, b, c):
    assert functions.add(a, b) == c


def test_double(tmp_path, capsys):
    print("x")
    assert capsys.readouterr().out == "x\\n"
    assert functions.double([1, 2]) == [2, 4]


def test_clean():
    assert functions.clean(" a  b ") == "a b"


def test_helper():
    assert functions.helper(2) == 3


def test_from_helper():
    assert functions.FROM_HELPER == 2


def test_limit():
    assert functions.uses_constant(2) and not functions.uses_constant(3)


def test_table():
    assert functions.TABLE == [0, 1, 4, 9]


def test_power():
    assert functions.power(3) == 9


def test_lambda():
    assert sorted([(1, 2), (2, 1)], key=functions.key) == [(2, 1), (1, 2)]


def test_late():
    assert functions.late_import() == 7


def test_source():
    assert "a + b" in inspect.getsource(functions.add)


def test_program():
    assert subprocess.check_output([sys.executable, "-m", "zoo"]).strip() == b"4"
""",
    "test_classes.py": """
import unittest
from zoo.classes import Base, Child, Point


def test_point(point):
    assert point.size == 7


def test_module_fixture(point):
    assert point.shown() == 3


class TestPoint(unittest.TestCase):
    def setUp(self):
        self.point = Point.origin()

    def test_origin(self):
        self.assertEqual((self.point.x, self.point.y), (0, 0))

    def test_twice(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(Point.twice(n), n + n)


def test_subclass():
    assert Base.seen == ["child"]


def test_greet():
    assert Child().greet() == "hello you, child"
""",
    "test_registry.py": """
import pytest
from zoo import registry


def test_registered():
    assert registry.REGISTRY["up"]("a") == "A"


def test_counted():
    assert registry.halve(4) == 2 and registry.halve.calls == 1


def test_cached():
    assert registry.cached(1) == 11


def test_closure():
    assert registry.add_five(1) == 6 and registry.make_adder(2)(2) == 4


@pytest.mark.xfail(strict=True)
def test_wrong():
    assert registry.shout("b") == "b"


@pytest.mark.skipif(registry.shout("x") == "y", reason="never")
def test_condition():
    pass
""",
    "test_flows.py": """
import asyncio
import pytest
from zoo import flows


@pytest.mark.parametrize("n", flows.at_collection())
def test_numbers(n):
    assert list(flows.numbers(n)) == list(range(n))


@pytest.mark.asyncio
async def test_later():
    assert await flows.later(2) == 6


def test_later_run():
    assert asyncio.run(flows.later(1)) == 3


def test_opened():
    log = []
    with flows.opened(log):
        pass
    assert log == ["in", "out"]


def test_guarded():
    with pytest.raises(ValueError, match="negative"):
        flows.guarded(-1)


def test_bump():
    assert (flows.bump(), flows.bump()) == (1, 2)


def test_bump_again():
    assert flows.bump() == 1


def test_same():
    assert flows.same(None, None)
""",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """`old` in the file becomes `new`; `speed` at which a pool must judge it."""

    path: str
    old: str
    new: str
    speed: str = "hot"

    def __str__(self) -> str:
        return f"{self.path.rpartition('/')[2]}: {self.old.strip()[:24]} -> {self.new.strip()[:24]}"

    def apply(self) -> bytes:
        text = FILES[self.path]
        assert text.count(self.old) == 1, f"{self.old!r} occurs {text.count(self.old)} times"
        return text.replace(self.old, self.new).encode()


FUNCTIONS, CLASSES, REGISTRY, FLOWS = (f"zoo/{name}.py" for name in ("functions", "classes", "registry", "flows"))

EDITS = (
    Edit(FUNCTIONS, "a + b", "a - b"),
    Edit(FUNCTIONS, "a + b", "b + a  # the same"),
    Edit(FUNCTIONS, "    return a + b\n", "    if a:\n        return a + b\n"),
    Edit(FUNCTIONS, "2 * value for", "3 * value for"),
    Edit(FUNCTIONS, '" ", text', '"_", text'),
    Edit(FUNCTIONS, "n + 1", "n + 2", "warm"),
    Edit(FUNCTIONS, "LIMIT = 3", "LIMIT = 4", "warm"),
    Edit(FUNCTIONS, "n * n for", "n + n for", "warm"),
    Edit(FUNCTIONS, "n < LIMIT", "n <= LIMIT"),
    Edit(FUNCTIONS, "exponent=2", "exponent=3", "warm"),
    Edit(FUNCTIONS, "exponent=2", "exponent, *more", "warm"),
    Edit(FUNCTIONS, "pair[1]", "pair[0]"),
    Edit(FUNCTIONS, "lambda pair: pair[0]", "lambda pair: pair[1]"),
    Edit(FUNCTIONS, "First.", "Second.", "warm"),
    Edit(FUNCTIONS, "return 1", "return 1 is 1", "warm"),
    Edit(FUNCTIONS, "def helper(n):", "def helper(n:", "warm"),
    Edit(FUNCTIONS, "import re\n", "import re, nothing_there\n", "warm"),
    Edit(FUNCTIONS, "lazy.value()", "lazy.value() + 1"),
    Edit("zoo/lazy.py", "return 7", "return 8"),
    Edit("zoo/__main__.py", "add(2, 2)", "add(2, 3)"),
    Edit(CLASSES, "abs(self.x) + abs(self.y)", "self.x + self.y"),
    Edit(CLASSES, "y: int = 0", "y: int = 1", "warm"),
    Edit(CLASSES, "cls(0)", "cls(1)"),
    Edit(CLASSES, "n * 2", "n ** 2"),
    Edit(CLASSES, "return self.x\n", "return self.y\n"),
    Edit(CLASSES, ".lower()", ".upper()", "warm"),
    Edit(CLASSES, 'kind = "child"', 'kind = "kid"', "warm"),
    Edit(CLASSES, "hello {name}", "bye {name}"),
    Edit(CLASSES, "    @staticmethod\n", "", "warm"),
    Edit(REGISTRY, "text.upper()", "text.lower()", "warm"),
    Edit(REGISTRY, "wrapper.calls += 1", "wrapper.calls += 2"),
    Edit(REGISTRY, "return n / 2", "return n * 2"),
    Edit(REGISTRY, "return n + 10", "return n - 10"),
    Edit(REGISTRY, "return n + k", "return n - k"),
    Edit(REGISTRY, "REGISTRY[name] = function", "REGISTRY[name] = str", "warm"),
    Edit(REGISTRY, "make_adder(5)", "make_adder(6)", "warm"),
    Edit(FLOWS, "yield i", "yield i + 1"),
    Edit(FLOWS, "range(n)", "range(n - 1)"),
    Edit(FLOWS, "        yield i\n", "        return [i]\n", "warm"),
    Edit(FLOWS, "n * 3", "n * 4"),
    Edit(FLOWS, 'log.append("out")', 'log.append("off")'),
    Edit(FLOWS, 'ValueError("negative")', 'ValueError("minus")'),
    Edit(FLOWS, 'raise ValueError("negative")', "raise SystemExit(3)"),
    Edit(FLOWS, "+= 1", "-= 1"),
    Edit(FLOWS, '"count": 0', '"count": 1', "warm"),
    Edit(FLOWS, "a is b", "a is 1", "warm"),
    Edit(FLOWS, "[1, 2]", "[1, 3]", "warm"),
    Edit(FLOWS, "[1, 2]", "1 / 0", "warm"),
)
