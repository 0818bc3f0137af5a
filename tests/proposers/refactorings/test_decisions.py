"""Decisions that are written in a shorter way: a table of before and after, each run on some inputs, and refusals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from coderefine.proposers.refactorings.decisions import shorter
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
    assert list(shorter(Unit(before))) == [after]
    assert behaviour(after) == behaviour(before)


@pytest.mark.parametrize("name", KEPT)
def test_a_decision_is_kept_where_the_shorter_way_may_mean_something_else(name: str) -> None:
    assert list(shorter(Unit(KEPT[name]))) == []
