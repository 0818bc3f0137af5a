"""Decisions that are written in a shorter way: a table of before and after, each run on some inputs, and refusals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from coderefine.proposers.refactorings.decisions import MISSING, REWRITINGS, STOPPED, UNHASHED, shorter
from coderefine.proposers.refactorings.files import placed
from coderefine.proposers.refactorings.measures import COMPLEXITY, COUNTED
from coderefine.proposers.refactorings.trees import Unit
from tests.proposers.refactorings import test_extraction

REWRITTEN = {
    "equal": (
        """
        def f(x):
            if x == 1 or x == 2 or not x:
                return 1
            return 0
        """,
        """
        def f(x):
            if x in (1, 2) or not x:
                return 1
            return 0
        """,
    ),
    "unequal": ("def f(x):\n    return x != 1 and x != 'a'\n", "def f(x):\n    return x not in (1, 'a')\n"),
    "kinds": (
        "def f(x):\n    return not x or isinstance(x, int) or isinstance(x, (str, list))\n",
        "def f(x):\n    return not x or isinstance(x, (int, str, list))\n",
    ),
    "any": (
        """
        def f(x):
            for item in [x, 3]:
                if item == 1:
                    return True
            return False
        """,
        """
        def f(x):
            return any(item == 1 for item in [x, 3])
        """,
    ),
    "all": (
        """
        def f(x):
            for item in [x, 3]:
                for other in (item, 2):
                    if not isinstance(other, int):
                        return False
            return True
        """,
        """
        def f(x):
            return all(
                isinstance(other, int)
                for item in [x, 3]
                for other in (item, 2)
            )
        """,
    ),
    "flag": (
        """
        def f(x):
            found = False
            for item in [x, 3]:
                if item == 1:
                    found = True
                    break
            return [found]
        """,
        """
        def f(x):
            found = any(item == 1 for item in [x, 3])
            return [found]
        """,
    ),
    "truth": (
        """
        def f(x):
            if x is None or x in (1, 2):
                return False
            return True
        """,
        """
        def f(x):
            return not (x is None or x in (1, 2))
        """,
    ),
    "table": (
        """
        def f(x):
            if x == 1:
                size = 'one'
            elif x == 2:
                size = 'two'
            elif x == 3:
                size = 'few'
            else:
                size = 'many'
            return size
        """,
        """
        def f(x):
            size = {
                1: 'one',
                2: 'two',
                3: 'few',
            }.get(x, 'many')
            return size
        """,
    ),
    "table of branches that return": (
        """
        def f(x):
            if x == 'a':
                return 1
            if x == '':
                return 2
            elif x == 'b':
                return 3
            return None
        """,
        """
        def f(x):
            return {
                'a': 1,
                '': 2,
                'b': 3,
            }.get(x)
        """,
    ),
    "handlers": (
        """
        def f(x):
            try:
                return 1 / x
            except TypeError:
                return 0
            except (ZeroDivisionError, OSError):
                return 0
        """,
        """
        def f(x):
            try:
                return 1 / x
            except (TypeError, ZeroDivisionError, OSError):
                return 0
        """,
    ),
}
KEPT = {
    "another name between": "def f(x, y):\n    return x == 1 or y or x == 2\n",
    "a call is compared": "def f(x):\n    return x() == 1 or x() == 2\n",
    "a comment": "def f(x):\n    return (x == 1 or  # one\n        x == 2)\n",
    "the loop's name is read later": (
        "def f(x):\n    for i in x:\n        if i:\n            return True\n    return False\n    i\n"
    ),
    "next in a generator": (
        "def f(x, y):\n    for i in x:\n        if next(y):\n            return True\n    return False\n"
    ),
    "an await": "async def f(x):\n    for i in x:\n        if await i:\n            return True\n    return False\n",
    "what is equal is no truth value": "def f(x):\n    if x == 1:\n        return True\n    return False\n",
    "the flag is read in the loop": (
        "def f(x):\n    ok = False\n    for i in x:\n        if i or ok:\n"
        "            ok = True\n            break\n    return ok\n"
    ),
    "the flag is read after an exception": (
        "def f(x):\n    try:\n        ok = False\n        for i in [x]:\n            if int(i) > 2:\n"
        "                ok = True\n                break\n    except TypeError:\n        pass\n    return ok\n"
    ),
    "a nested function reads the flag": (
        "def f(x):\n    def done(i):\n        return i or ok\n    ok = False\n    for i in [x]:\n        if done(i):\n"
        "            ok = True\n            break\n    return ok\n"
    ),
    "keys of two kinds": (
        "def f(x):\n    if x == 1:\n        return 1\n    elif x == '2':\n        return 2\n"
        "    elif x == 3:\n        return 3\n    return 4\n"
    ),
    "a table whose result is set in any case": (
        "def f(x):\n    for one in (x, 1):\n        if one == 1:\n            y = 1\n        elif one == 2:\n"
        "            y = 2\n        elif one == 3:\n            y = 3\n        y = 4\n    return y\n"
    ),
    "branches that do not return": (
        "def f(x):\n    y = 0\n    if x == 1:\n        y = 1\n    if x == 2:\n        y = 2\n    if x == 3:\n"
        "        y = 3\n    return y\n"
    ),
    "handlers that differ": (
        "def f(x):\n    try:\n        x()\n    except A:\n        return 1\n    except B:\n        return 2\n"
    ),
}
LIMITS = {COMPLEXITY: 0}
INPUTS = (None, 0, 1, 2, 3, 4, True, "a", "", 1.0)


def behaviour(text: str) -> list[Any]:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return [outcome(scope["f"], value) for value in INPUTS]


def outcome(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_decision_is_written_in_a_shorter_way(name: str) -> None:
    before, after = (textwrap.dedent(text).lstrip("\n") for text in REWRITTEN[name])
    assert [text for text, _ in shorter(Unit(before), LIMITS)] == [after]
    assert behaviour(after) == behaviour(before)


FEWER = {
    "branches that return the same": (
        """
        def f(x):
            if x is None or x == 1:
                return [x]
            if x == 2 and x is not True:
                return [x]
            if not x:
                return [x]  # nothing
            return 0
        """,
        """
        def f(x):
            if x is None or x == 1 or (x == 2 and x is not True):
                return [x]
            if not x:
                return [x]  # nothing
            return 0
        """,
    ),
    "branches of a chain": (
        """
        def f(x):
            if x is None:
                y = 1
            elif (y := x) == 2:
                return x
            elif x == 'a':
                return x
            else:
                y = 4
            return y
        """,
        """
        def f(x):
            if x is None:
                y = 1
            elif (y := x) == 2 or x == 'a':
                return x
            else:
                y = 4
            return y
        """,
    ),
    "several statements, and else": (
        """
        def f(x):
            for one in (x, 1):
                if one == 2:
                    x = 3
                    continue
                if one is None:
                    x = 3
                    continue
                else:
                    return one
            return x
        """,
        """
        def f(x):
            for one in (x, 1):
                if one == 2 or one is None:
                    x = 3
                    continue
                else:
                    return one
            return x
        """,
    ),
    "a list that a loop fills": (
        """
        def f(x):
            found = []
            for one in [x, 3]:
                if one == 1:
                    found.append([one])
            return found
        """,
        """
        def f(x):
            found = [[one] for one in [x, 3] if one == 1]
            return found
        """,
    ),
    "a list with the items of another": (
        """
        def f(x):
            found: list[int] = []
            for one in [x, 3]:
                found.append(one)
            return found
        """,
        """
        def f(x):
            found: list[int] = list([x, 3])
            return found
        """,
    ),
    "a long condition": (
        """
        def f(x):
            if x is None or x == 'a text that needs room':
                return 1
            if x == 'another text that needs room':
                return 1
            return 2
        """,
        """
        def f(x):
            if (
                x is None
                or x == 'a text that needs room'
                or x == 'another text that needs room'
            ):
                return 1
            return 2
        """,
    ),
}
UNMERGED = {
    "the second condition is evaluated in any case": (
        "def f(x, y):\n    if x:\n        y.append(1)\n    if y.pop():\n        y.append(1)\n"
    ),
    "another value": "def f(x):\n    if x:\n        return 1\n    if x is None:\n        return 2\n",
    "one leaves a loop": (
        "def f(x):\n    for y in x:\n        if y:\n            break\n        if y is None:\n            continue\n"
    ),
    "a statement between": ("def f(x):\n    if x:\n        return 1\n    x = 2\n    if x is None:\n        return 1\n"),
    "a comment between": ("def f(x):\n    if x:\n        return 1\n    # none\n    if x is None:\n        return 1\n"),
    "a list that may be another object": (
        "def f(x, found):\n    for y in x:\n        if y:\n            found.append(y)\n    return found\n"
    ),
    "a list that is not empty": (
        "def f(x):\n    found = [1]\n    for y in x:\n        if y:\n            found.append(y)\n    return found\n"
    ),
    "the list is read in the loop": (
        "def f(x):\n    z = []\n    for y in x:\n        if y not in z:\n            z.append(y)\n    return z\n"
    ),
    "the list is read after an exception": (
        "def f(x):\n    z = []\n    try:\n        z = []\n        for y in x:\n            if y:\n"
        "                z.append(int(y))\n    except ValueError:\n        pass\n    return z\n"
    ),
    "a comment in the loop": (
        "def f(x):\n    z = []\n    for y in x:\n        if y:  # why\n            z.append(y)\n    return z\n"
    ),
    "super in a scope of its own": (
        "def f(self, x):\n    z = []\n    for y in x:\n        if y:\n            z.append(super().f())\n    return z\n"
    ),
    "an inner if of else": (
        "def f(x):\n    if x:\n        y = 1\n    else:\n        if x is None:\n            y = 1\n    return y\n"
    ),
}


@pytest.mark.parametrize("name", FEWER)
def test_branches_are_merged_or_become_a_comprehension(name: str) -> None:
    """Each `return` counts (PLR0911) and each branch (PLR0912), also where radon's complexity stays."""
    before, after = (textwrap.dedent(text).lstrip("\n") for text in FEWER[name])
    assert [text for text, _ in shorter(Unit(before), {"PLR0912": 0})][:1] == [after]
    assert behaviour(after) == behaviour(before)


@pytest.mark.parametrize("name", UNMERGED)
def test_branches_are_kept_where_fewer_may_mean_something_else(name: str) -> None:
    assert list(shorter(Unit(UNMERGED[name]), dict.fromkeys(COUNTED, 0))) == []


TABLE = "def f(x{}):\n    if x == 'a':\n        return 1\n    elif x == 'b':\n        return 2\n"
TABLE += "    elif x == 'c':\n        return 3\n    return 4\n"
LOOP = "def f(x, check):\n    for one in x:\n        if {}:\n            return True\n    return False\n"
HANDLERS = (
    "def f(x):\n    try:\n        return x()\n    except OSError:\n        return 1\n    except {}:\n        return 1\n"
)
KINDS = "def f(x):\n    return isinstance(x, list) or isinstance(x, {})\n"
MODULE = "from pathlib import Path\ntry:\n    import array\nexcept ImportError:\n    array = None\nclass Row: pass\n"
THOROUGH = pytest.mark.thorough


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        pytest.param(TABLE.format(""), UNHASHED, id="a-list-is-no-key"),
        pytest.param(TABLE.format(": str | None"), "", id="a-text-is-a-key", marks=THOROUGH),
        pytest.param(TABLE.format(": list[str] | str"), UNHASHED, id="a-list-or-a-text", marks=THOROUGH),
        pytest.param(KINDS.format("np.ndarray"), MISSING, id="a-class-of-a-missing-package"),
        pytest.param(KINDS.format("array"), MISSING, id="a-class-imported-in-a-try", marks=THOROUGH),
        pytest.param(KINDS.format("Row"), "", id="a-class-of-the-module", marks=THOROUGH),
        pytest.param(KINDS.format("Path"), "", id="an-imported-class", marks=THOROUGH),
        pytest.param(HANDLERS.format("yaml.YAMLError"), MISSING, id="an-exception-of-a-missing-package"),
        pytest.param(HANDLERS.format("KeyError"), "", id="a-built-in-exception", marks=THOROUGH),
        pytest.param(LOOP.format("check(one)"), STOPPED, id="a-function-may-raise-stop-iteration"),
        pytest.param(LOOP.format("one.startswith('a')"), "", id="a-method-of-texts", marks=THOROUGH),
    ],
)
def test_a_shorter_way_that_unusual_values_tell_apart_is_doubtful(text: str, doubt: str) -> None:
    """No test passed a list, ran without the optional package, or let a check raise StopIteration: it was written."""
    place = placed(MODULE + text, "f", frozenset())
    assert not isinstance(place, str), place
    assert [found for _, found in shorter(place.unit, LIMITS)] == [doubt]
    assert len(list(shorter(place.unit, LIMITS, doubtful=False))) == (not doubt)


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(Unit(LOOP.format("one"), rebound=frozenset({"any"})), id="of-the-module"),
        pytest.param(Unit(LOOP.format("one").replace("check", "any")), id="parameter", marks=THOROUGH),
    ],
)
def test_a_loop_is_kept_where_any_is_not_the_built_in_function(unit: Unit) -> None:
    assert list(shorter(unit, LIMITS)) == []


@pytest.mark.parametrize("name", KEPT)
def test_a_decision_is_kept_where_the_shorter_way_may_mean_something_else(name: str) -> None:
    assert list(shorter(Unit(KEPT[name]), LIMITS)) == []


class Decisions(test_extraction.Program):
    """Writes, in half of all places, what a rewriting looks for: equal branches, chains, and loops with one result."""

    def statement(self, depth: int, *, loop: bool) -> None:
        if self.random.random() < 0.5:
            super().statement(depth, loop=loop)
        else:
            getattr(self, self.random.choice(("same_", "fill_", "table_", "flag_")))(depth, loop)

    def same_(self, depth: int, loop: bool) -> None:
        exits = ["return 0", "return [a, log]", "raise ValueError", "log.append(a)", *["break", "continue"] * loop]
        one, two = self.random.choices(exits, k=2)
        for keyword in ("if", self.random.choice(("if", "elif")), self.random.choice(("if", "elif"))):
            self.add(depth, f"{keyword} {self.test()}:")
            self.add(depth + 1, self.random.choice((one, one, one, two)))

    def fill_(self, depth: int, _loop: bool) -> None:
        name, item = self.random.choice("acd"), self.random.choice("qbd")
        self.add(depth, f"{name} = []")
        self.add(depth, f"for {item} in (0, 1, {self.value()}):")
        if self.random.random() < 0.6:
            self.add(depth := depth + 1, f"if {self.test()}:")
        self.add(depth + 1, f"{name}.append({self.random.choice((item, self.value()))})")

    def flag_(self, depth: int, _loop: bool) -> None:
        self.add(depth, "c = False")
        self.add(depth, "for q in (0, 1, a):")
        self.add(depth + 1, f"if {self.random.choice(('q == a', 'q > b', self.test()))}:")
        self.add(depth + 2, "c = True")
        self.add(depth + 2, "break")

    def table_(self, depth: int, _loop: bool) -> None:
        name, result = self.random.choice("abcd"), self.random.choice(("return", "d ="))
        for key in range(3):
            keyword = self.random.choice(("if", "elif")) if result == "return" and key else "elif" if key else "if"
            self.add(depth, f"{keyword} {name} == {key}:")
            self.add(depth + 1, f"{result} {key * 5}")
        if self.random.random() < 0.5:
            self.add(depth, "else:")
        self.add(depth + (self.lines[-1].strip() == "else:"), f"{result} 7")


def told(text: str) -> list[Any]:
    """Return what a program does; in a comprehension, a variable that is not bound causes a NameError."""
    return [(name.replace("UnboundLocal", "Name"), log) for name, log in test_extraction.behaviour(text)]


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=THOROUGH) for seed in range(12) if seed != 3)])
def test_random_programs_behave_alike_after_each_rewriting(seed: int) -> None:
    count = 0
    for number in range(seed * 25, seed * 25 + 25):
        unit = Unit(Decisions(number).text())
        edits = [edit for rewriting in REWRITINGS for edit in rewriting(unit) if not edit.doubt]
        before = told(unit.text) if edits else []
        for text in filter(None, (edit.applied(unit) for edit in edits)):
            assert told(text) == before, f"{unit.text}\n-> {text}"
            count += 1
    assert count > 5
