# ruff: noqa: E501 - sources as they lie in their files
"""30 scripted pull requests: ten small modules, each once with one fault, once with two, once with odd surroundings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Module:
    """Correct `source`; `faults` are replacements (correct, faulty) the offline engine may undo."""

    name: str
    source: str
    tests: str
    faults: tuple[tuple[str, str], tuple[str, str]]


def _module(name: str, body: str, tests: str, *faults: tuple[str, str]) -> Module:
    for right, _ in faults:
        assert body.count(right) == 1, (name, right)
    return Module(name, body, f"import {name}\n\n\n{tests}", (faults[0], faults[1]))


MODULES = (
    _module(
        "price",
        "def discount(total):\n    return total * 0.1 if total >= 100 else 0\n\n\ndef price(total):\n    return total - discount(total)\n",
        "def test_at():\n    assert price.discount(100) == 10\n\n\ndef test_below():\n    assert price.discount(99) == 0\n\n\n"
        "def test_price():\n    assert price.price(200) == 180\n\n\ndef test_small():\n    assert price.price(50) == 50\n",
        ("total >= 100", "total > 100"),
        ("total - discount", "total + discount"),
    ),
    _module(
        "clamp",
        "def clamp(x, low, high):\n    return max(low, min(x, high))\n\n\ndef inside(x, low, high):\n    return low <= x <= high\n",
        "def test_clamp():\n    assert [clamp.clamp(x, 0, 5) for x in (-1, 3, 9)] == [0, 3, 5]\n\n\n"
        "def test_edges():\n    assert clamp.inside(0, 0, 5)\n    assert clamp.inside(5, 0, 5)\n    assert not clamp.inside(6, 0, 5)\n",
        ("max(low, min(x, high))", "min(low, min(x, high))"),
        ("low <= x <= high", "low < x <= high"),
    ),
    _module(
        "words",
        "def count(text):\n    return len(text.split())\n\n\ndef initials(text):\n    return ''.join(word[0] for word in text.split())\n",
        "def test_count():\n    assert words.count('a b  c') == 3\n\n\ndef test_initials():\n    assert words.initials('one two') == 'ot'\n",
        ("len(text.split())", "len(text)"),
        ("word[0]", "word[1]"),
    ),
    _module(
        "stack",
        "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items.append(item)\n\n"
        "    def top(self):\n        return self.items[-1]\n\n    def empty(self):\n        return len(self.items) == 0\n",
        "def test_top():\n    s = stack.Stack()\n    s.push(1)\n    s.push(2)\n    assert s.top() == 2\n\n\n"
        "def test_empty():\n    s = stack.Stack()\n    assert s.empty()\n    s.push(1)\n    assert not s.empty()\n",
        ("self.items[-1]", "self.items[0]"),
        ("len(self.items) == 0", "len(self.items) != 0"),
    ),
    _module(
        "mean",
        "def mean(values):\n    return sum(values) / len(values)\n\n\ndef spread(values):\n    return max(values) - min(values)\n",
        "def test_mean():\n    assert mean.mean([1, 2, 6]) == 3\n\n\ndef test_spread():\n    assert mean.spread([1, 5, 2]) == 4\n",
        ("sum(values) / len(values)", "sum(values) * len(values)"),
        ("max(values) - min(values)", "max(values) + min(values)"),
    ),
    _module(
        "dates",
        "def leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n\n\ndef days(year):\n    return 366 if leap(year) else 365\n",
        "def test_leap():\n    assert [dates.leap(y) for y in (1900, 2000, 2023, 2024)] == [False, True, False, True]\n\n\n"
        "def test_days():\n    assert dates.days(2024) == 366\n    assert dates.days(2023) == 365\n",
        ("year % 100 != 0", "year % 100 == 0"),
        ("if leap(year)", "if not leap(year)"),
    ),
    _module(
        "queue_",
        "def take(items, n):\n    return items[:n]\n\n\ndef rest(items, n):\n    return items[n:]\n",
        "def test_take():\n    assert queue_.take([1, 2, 3], 2) == [1, 2]\n\n\ndef test_rest():\n    assert queue_.rest([1, 2, 3], 2) == [3]\n",
        ("items[:n]", "items[: n - 1]"),
        ("items[n:]", "items[n + 1 :]"),
    ),
    _module(
        "search_",
        "def find(items, wanted):\n    for index, item in enumerate(items):\n        if item == wanted:\n            return index\n    return -1\n\n\n"
        "def has(items, wanted):\n    return find(items, wanted) >= 0\n",
        "def test_find():\n    assert search_.find('abc', 'b') == 1\n    assert search_.find('abc', 'x') == -1\n\n\n"
        "def test_has():\n    assert search_.has('abc', 'a')\n    assert not search_.has('abc', 'z')\n",
        ("item == wanted", "item != wanted"),
        (">= 0", "> 0"),
    ),
    _module(
        "money",
        "def cents(euros):\n    return round(euros * 100)\n\n\ndef tip(total, rate=10):\n    return total * rate // 100\n",
        "def test_cents():\n    assert money.cents(1.25) == 125\n\n\ndef test_tip():\n    assert money.tip(200) == 20\n    assert money.tip(200, 5) == 10\n",
        ("euros * 100", "euros / 100"),
        ("total * rate", "total + rate"),
    ),
    _module(
        "grade",
        "def grade(points):\n    if points >= 90:\n        return 'A'\n    if points >= 50:\n        return 'B'\n    return 'F'\n",
        "def test_grade():\n    assert [grade.grade(p) for p in (90, 89, 50, 49)] == ['A', 'B', 'B', 'F']\n",
        ("points >= 90", "points > 90"),
        ("points >= 50", "points > 50"),
    ),
)
FILLER = "".join(f"\n\ndef filler_{n}():\n    return {n}\n" for n in range(60))
PROJECT = '[project]\nname = "scripted"\nversion = "0"\n'


@dataclass(frozen=True)
class Script:
    """One pull request: files before it, and what it changes (None deletes)."""

    name: str
    base: dict[str, bytes]
    change: dict[str, bytes | None]


def scripts() -> Iterator[Script]:
    """All thirty."""
    for module in MODULES:
        one, two = module.faults
        yield _script(f"{module.name}-one", module, module.source.replace(*one))
        yield _script(f"{module.name}-two", module, module.source.replace(*one).replace(*two))
        yield _odd(module, module.source.replace(*two))


def _script(name: str, module: Module, faulty: str) -> Script:
    base = {"pyproject.toml": PROJECT, f"{module.name}.py": module.source, f"test_{module.name}.py": module.tests}
    return Script(name, {path: text.encode() for path, text in base.items()}, {f"{module.name}.py": faulty.encode()})


def _odd(module: Module, faulty: str) -> Script:
    """An unused import; a binary, a deleted and a renamed file; a long module around it, CRLF in another file."""
    plain = _script(f"{module.name}-odd", module, faulty)
    name = f"{module.name}.py"
    base = {**plain.base, name: plain.base[name] + FILLER.encode(), "gone.py": b"x = 1\n", "win.py": b"y = 1\r\n"}
    base["old.py"] = FILLER.encode()
    change: dict[str, bytes | None] = {name: b"import os\n\n\n" + faulty.encode() + FILLER.encode(), "gone.py": None}
    change |= {"old.py": None, "renamed.py": FILLER.replace("return 3\n", "return 33\n").encode()}
    return Script(plain.name, base, {**change, "logo.bin": b"\0\1", "win.py": b"y = 2\r\n"})
