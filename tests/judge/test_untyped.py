"""Code may not be hidden from a type checker; types may change."""

from __future__ import annotations

import pytest

from coderefine.core import Finding
from tests.support.judging import Deed, finding, passed, refused

ADD = "def add(a: int, b: int) -> str:\n    return a + b\n"
HELPER = "\n\ndef _f(a: int) -> int:\n    return a\n"
UNTYPED = "def f(a):\n    return a\n"
GETTER = "class A:\n    @property\n    def x(self) -> int:\n        return 1\n"
INNER = ADD.replace("    r", "        r")
EARLY = "def add(a: int, b: int) -> str:\n    if {}:\n        return ''\n    return a + b\n"
CHECKED = "from typing import TYPE_CHECKING\n\n"
ANY = "from typing import Any, cast\n\n"


def mypy(message: str = "Incompatible return value type", rule: str = "return-value") -> list[Finding]:
    return [finding(rule, critic="mypy", message=message)]


HIDDEN = [
    Deed("all-annotations-gone", ADD, "def add(a, b):\n    return a + b\n", "removes the annotation of a in add"),
    Deed("result-gone", ADD, ADD.replace(" -> str", ""), "removes the annotation of its result in add"),
    Deed("renamed-parameter", "def _f(a: int):\n    return a\n", "def _f(x):\n    return x\n", "annotation of a in _f"),
    Deed(
        "stars",
        "def f(*a: int, **k: int) -> int:\n    return 1\n",
        "def f(*a, **k: int) -> int:\n    return 1\n",
        "of a",
    ),
    Deed("any", ANY + ADD, ANY + ADD.replace("-> str", "-> Any"), "makes Any of the annotation of its result in add"),
    Deed("any-in-quotes", ANY + ADD, ANY + ADD.replace("-> str", '-> "Any"'), "makes Any"),
    Deed(
        "any-alias",
        "import typing as t\n" + ADD,
        "import typing as t\n" + ADD.replace("-> str", "-> t.Any"),
        "makes Any",
    ),
    Deed("any-or-none", ANY + ADD, ANY + ADD.replace("-> str", "-> Any | None"), "makes Any"),
    Deed("any-optional", ANY + ADD, ANY + ADD.replace("-> str", "-> Optional[Any]"), "makes Any"),
    Deed("items", ANY + ADD.replace("str", "list[str]"), ANY + ADD.replace("str", "list[Any]"), "makes Any"),
    Deed(
        "method",
        f"class A:\n    {INNER}",
        "class A:\n    def add(a, b):\n        return 1\n",
        "A.add",
    ),
    Deed("lambda", ADD, "add = lambda a, b: a + b\n", "removes the annotation of a in add"),
    Deed(
        "moved",
        {"app/core.py": ADD, "app/more.py": None},
        {"app/core.py": "from .more import add\n\nX = [add]\n", "app/more.py": "def add(a, b):\n    return a + b\n"},
        "removes the annotation of a in add",
    ),
    Deed(
        "new-function",
        ADD,
        f"{ADD.replace('a + b', '_add(a, b)')}\n\ndef _add(a, b):\n    return a + b\n",
        "adds _add without annotations",
        findings=mypy(),
    ),
    Deed("cast", ANY + ADD, ANY + ADD.replace("a + b", "cast(Any, a + b)"), "makes a value Any", findings=mypy()),
    Deed(
        "variable",
        ANY + ADD,
        ANY + ADD.replace("return a + b", "x: Any = a + b\n    return x"),
        "makes a value Any",
        findings=mypy(),
    ),
    Deed(
        "under-not",
        CHECKED + ADD,
        f"{CHECKED}if not TYPE_CHECKING:\n    {INNER}",
        "hides code from the type checker (TYPE_CHECKING)",
    ),
    Deed(
        "else",
        CHECKED + ADD,
        f"{CHECKED}if TYPE_CHECKING:\n    add: object\nelse:\n    {INNER}",
        "hides code from the type checker",
    ),
    Deed("before-the-rest", CHECKED + ADD, f"{CHECKED}{EARLY.format('TYPE_CHECKING')}", "hides code"),
    Deed("before-the-rest-by-a-name", ADD, f"PY3 = False\n\n\n{EARLY.format('PY3')}", "hides code"),
    Deed("by-a-name-of-python-2", ADD, f"PY2 = True\n\n\n{EARLY.format('not PY2')}", "hides code"),
    Deed("or", CHECKED + ADD, CHECKED + ADD.replace("a + b", "'' if TYPE_CHECKING else a + b"), "hides code"),
]
HONEST = [
    Deed("other-type", ADD, ADD.replace("-> str", "-> int"), findings=mypy()),
    Deed("wider-type", ADD, ADD.replace("-> str", "-> int | str | None"), findings=mypy()),
    Deed("quoted-type", ADD, ADD.replace("-> str", '-> "int"'), findings=mypy()),
    Deed("object", ADD, ADD.replace("a: int", "a: object"), findings=mypy()),
    Deed("any-where-there-was-none", ANY + "def f(x):\n    return x\n", ANY + "def f(x: Any) -> int:\n    return x\n"),
    Deed("any-stays", ANY + ADD.replace("str", "Any"), ANY + ADD.replace("str", "Any").replace("a + b", "b + a")),
    Deed("items-where-there-were-none", ANY + ADD.replace("str", "dict"), ANY + ADD.replace("str", "dict[str, Any]")),
    Deed(
        "unused-parameter",
        ADD,
        "def add(a: int) -> str:\n    return a\n",
        findings=[finding("ARG001", message="Unused function argument: `b`")],
    ),
    Deed(
        "parameter-of-a-method",
        "class A:\n    def _f(self, path: str, most: int) -> int:\n        return most\n",
        "class A:\n    def _f(self, most: int) -> int:\n        return most\n",
    ),
    Deed("parameter-beside-a-bare-one", "def _f(a, b: int):\n    return a\n", "def _f(a):\n    return a\n"),
    Deed(
        "types-of-overloads",
        "def f(x: int) -> int:\n    return x\n",
        "from typing import Any, overload\n\n\n@overload\ndef f(x: int) -> int: ...\n@overload\n"
        "def f(x: str) -> str: ...\ndef f(x: Any) -> Any:\n    return x\n",
    ),
    Deed("no-module-typing", ADD, f"TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import os\n\n\n{ADD}"),
    Deed(
        "newer-versions-and-the-checker",
        ADD,
        f"{CHECKED}import sys\nif TYPE_CHECKING or sys.version_info >= (3, 11):\n    import tomllib\nelse:\n"
        f"    import tomli as tomllib\n\n\n{ADD}",
    ),
    Deed("private-function-gone", ADD + HELPER, ADD.replace("a + b", "str(a + b)")),
    Deed(
        "private-function-moved",
        ADD + HELPER,
        f"{ADD}\n\nclass A:\n    @staticmethod\n    def _f(a: int) -> int:\n        return a\n",
    ),
    Deed("new-parameter", ADD, ADD.replace("b: int", "b: int, c=0")),
    Deed(
        "init-without-its-result",
        "class A:\n    def __init__(self, a: int) -> None:\n        self.a = a\n",
        "class A:\n    def __init__(self, a: int):\n        self.a = a + 1\n",
    ),
    Deed("annotated-helper", ADD, ADD + HELPER, findings=mypy()),
    Deed("helper-in-an-untyped-file", UNTYPED, UNTYPED + "\n\ndef g(a):\n    return a\n", findings=mypy()),
    Deed("imports-for-the-checker", ADD, f"{CHECKED}if TYPE_CHECKING:\n    import os\n\n\n{ADD}"),
    Deed(
        "imports-for-the-checker-and-else",
        ADD,
        f"{CHECKED}if TYPE_CHECKING:\n    from os import PathLike\nelse:\n    PathLike = object\n\n\n{ADD}",
    ),
    Deed(
        "undefined-name",
        "def f(x: Missing):\n    return x\n",
        "def f(x):\n    return x\n",
        findings=[finding("F821", message="Undefined name `Missing`")],
    ),
    Deed(
        "setter-added",
        GETTER,
        GETTER + "\n    @x.setter\n    def x(self, value: int) -> None:\n        self.y = value\n",
    ),
]


@pytest.mark.parametrize("deed", HIDDEN, ids=str)
def test_code_hidden_from_the_type_checker_is_refused(deed: Deed) -> None:
    """Findings of mypy were cleared by hiding the code from it."""
    refused(deed)


@pytest.mark.parametrize("deed", HONEST, ids=str)
def test_types_may_change(deed: Deed) -> None:
    passed(deed)
