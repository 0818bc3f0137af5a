"""Decisions that are written in a shorter way: a table of before and after, each run on some inputs, and refusals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from coderefine.proposers.refactorings.decisions import MISSING, STOPPED, UNHASHED, shorter
from coderefine.proposers.refactorings.files import placed
from coderefine.proposers.refactorings.measures import COMPLEXITY
from coderefine.proposers.refactorings.trees import Unit

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
    "keys of two kinds": (
        "def f(x):\n    if x == 1:\n        return 1\n    elif x == '2':\n        return 2\n"
        "    elif x == 3:\n        return 3\n    return 4\n"
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
