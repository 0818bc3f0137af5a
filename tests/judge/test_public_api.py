"""What others may use stays."""

from __future__ import annotations

import pytest

from coderefine.core import Finding
from tests.support.cases import every
from tests.support.judging import GOOD, SUM, Deed, finding, passed, refused

FACE = [
    Deed("function-gone", SUM + "\n\ndef other(x):\n    return x\n", GOOD, "removes other"),
    Deed("class-gone", SUM + "\n\nclass Cart:\n    x = 1\n", GOOD, "removes Cart"),
    Deed(
        "method-gone",
        "class Cart:\n    def add(self, x):\n        return x\n\n    def sum(self):\n        return 1\n",
        "class Cart:\n    def add(self, x):\n        return x + 1\n",
        "removes Cart.sum",
    ),
    Deed("constant-gone", "LIMIT = 3\n" + SUM, GOOD, "removes LIMIT"),
    Deed("conditional-constant-gone", "try:\n    LIMIT = 3\nexcept OSError:\n    pass\n" + SUM, GOOD, "removes LIMIT"),
    Deed("all-entry-gone", "__all__ = ['total', 'f']\n" + SUM, "__all__ = ['f']\n" + GOOD, "__all__"),
    Deed("all-emptied", "__all__ = ['total', 'f']\n" + SUM, "__all__ = []\n" + GOOD, "__all__"),
    Deed("renamed", SUM, GOOD.replace("total", "totals"), "removes total"),
    Deed("parameter-gone", "def f(a, b):\n    return a - b\n", "def f(a):\n    return a\n", "no longer takes 'b'"),
    Deed("keyword-gone", "def f(a, *, b=1):\n    return a - b\n", "def f(a):\n    return a\n", "no longer takes 'b'"),
    Deed("kwargs-gone", "def f(a, **kw):\n    return a\n", "def f(a):\n    return a + 1\n", "no longer takes '**kw'"),
    Deed(
        "init-parameter-gone",
        "class A:\n    def __init__(self, a, b):\n        self.a = b\n",
        "class A:\n    def __init__(self, a):\n        self.a = a\n",
        "no longer takes 'b'",
    ),
    Deed(
        "re-export-gone",
        {"app/__init__.py": "from .core import total\nfrom .x import y\n"},
        {"app/__init__.py": "from .core import total\n"},
        "removes y",
    ),
    Deed(
        "function-gone-from-broken-file",
        "def f(:\n    pass\n\n\ndef g():\n    return 1\n",
        "def f():\n    return 1\n",
        "removes g",
    ),
    Deed(
        "long-function-gone",
        SUM + "\n\ndef other(x):\n    return x\n",
        GOOD,
        "removes other",
        findings=[finding("E501", symbol="other"), finding("C901", message="`other` is too complex (12 > 10)")],
    ),
    Deed(
        "deletion-asked-in-another-file",
        SUM + "\n\ndef other(x):\n    return x\n",
        GOOD,
        "removes other",
        findings=[finding("F811", "app/x.py", message="Redefinition of unused `other`")],
    ),
]


@pytest.mark.parametrize("deed", FACE, ids=str)
def test_narrowing_is_refused(deed: Deed) -> None:
    refused(deed)


COMPUTED = ("['f', *sub.__all__]", "['f', sub.NAME]", "['f']\n__all__ += sub.__all__")


@pytest.mark.parametrize("value", every(4, COMPUTED))
def test_an_export_may_move_to_a_module_whose_exports_are_added(value: str) -> None:
    passed(Deed("moved", "__all__ = ['f', 'total']\n" + SUM, f"from . import sub\n\n__all__ = {value}\n{GOOD}"))
    before = f"from . import sub\n\n__all__ = {value}\n{SUM}"
    refused(Deed("gone", before.replace("'f'", "'f', 'g'"), f"__all__ = ['f']\n{GOOD}", "removes 'g' from __all__"))


def failed(message: str) -> list[Finding]:
    return [finding("failed", "tests/test_core.py", critic="pytest", message=f"TypeError: {message}")]


VISIT = (
    "def show(node, depth):\n    return node\n\n\ndef walk(all_, visit=show):\n    return [visit(n, 1) for n in all_]\n"
)
VISITED = "def show(node):\n    return node\n\n\ndef walk(all_, visit=show):\n    return [visit(n) for n in all_]\n"
CLICK = "class Button:\n    def press(self, event, times):\n        return times\n"
CLICKED = "class Button:\n    def press(self, times):\n        return times\n"
ASKED_FOR = [
    Deed(
        "a-callback-of-the-tests-takes-fewer",
        VISIT,
        VISITED,
        tests="def test_walk():\n    assert walk([1], lambda node: node) == [1]\n",
        findings=failed("test_walk.<locals>.<lambda>() takes 1 positional argument but 2 were given"),
    ),
    Deed(
        "the-tests-do-not-pass-it",
        CLICK,
        CLICKED,
        tests="def test_press():\n    assert Button().press(2) == 2\n",
        findings=failed("Button.press() missing 1 required positional argument: 'times'"),
    ),
    Deed(
        "the-message-names-it",
        "def f(a, b):\n    return a - b\n",
        "def f(a):\n    return a\n",
        findings=failed("f() missing 1 required positional argument: 'b'"),
    ),
]


@pytest.mark.parametrize("deed", ASKED_FOR, ids=str)
def test_a_parameter_may_be_removed_if_the_failing_tests_do_not_pass_it(deed: Deed) -> None:
    passed(deed)


@pytest.mark.parametrize("old", ["SIZES = [K * 2 for K in range(3)]\n", "for K in (1, 2):\n    print(K)\n"])
def test_a_variable_of_a_loop_may_be_renamed(old: str) -> None:
    """A lint fix that renames it was refused as the removal of a public name."""
    passed(Deed("renamed", old + SUM, old.replace("K", "k") + GOOD))


def test_a_parameter_that_the_failing_tests_pass_stays() -> None:
    tests = "def test_press():\n    assert Button().press(None, 2) == 2\n"
    refused(Deed("passed", CLICK, CLICKED, "no longer takes 'event'", tests=tests, findings=failed("no")))


def test_a_name_may_be_removed_if_a_failing_test_asserts_that_it_is_absent() -> None:
    before = SUM + "\n\ndef length(x):\n    return len(x)\n"
    for test in ("assert not hasattr(app.core, 'length')", "self.assertFalse(hasattr(app.core, 'length'))"):
        passed(Deed("absent", before, GOOD, tests=f"def test_gone(self=None):\n    {test}\n"))
    for test in (
        "assert hasattr(app.core, 'length')",
        "assert not hasattr(app.core, 'size')",
        "if not hasattr(x, 'length'): f()",
    ):
        refused(Deed("present", before, GOOD, "removes length", tests=f"def test_gone():\n    {test}\n"))


CART = "class Cart:\n    def sum(self):\n        return 1\n\n    def add(self, x):\n        return x"
ABSENT = (
    "import app.core as it\n\ndef test_gone():\n    assert not hasattr(it.Cart, 'sum')\n",
    "from app.core import Cart\n\ndef test_gone():\n    assert not hasattr(Cart(), 'sum')\n",
    "from app.core import Cart as C\n\ndef test_gone():\n    it = C(1)\n    assert not hasattr(it, 'sum')\n",
    "from app import core\n\ndef test_gone():\n    it = core.Cart(1)\n    assert not hasattr(it, 'sum')\n",
)


@pytest.mark.parametrize("tests", every(4, ABSENT))
def test_a_method_may_be_removed_if_a_failing_test_asserts_that_its_class_does_not_have_it(tests: str) -> None:
    passed(Deed("absent", f"{CART}\n", CART.replace("sum", "_sum") + " + 1\n", tests=tests))


def test_a_name_stays_if_a_test_asserts_that_another_object_does_not_have_it() -> None:
    """A test that passes, in a file with a failing one, allowed every module to lose its function of this name."""
    before = SUM + "\n\ndef length(x):\n    return len(x)\n"
    for it in ("X()", "app.other", "core.X", "core.X()", "x"):
        tests = f"from app import core\n\ndef test_gone(x):\n    assert not hasattr({it}, 'length')\n"
        refused(Deed(it, before, GOOD, "removes length", tests=tests))
    tests = "from app import core\n\ndef test_gone():\n    assert not hasattr(core, 'sum')\n"
    refused(Deed("module", f"{CART}\n", CART.replace("sum", "_sum") + " + 1\n", "removes Cart.sum", tests=tests))
    package = {"app/__init__.py": before}, {"app/__init__.py": GOOD}
    passed(
        Deed("package", *package, tests="import app as it\n\ndef test_gone():\n    assert not hasattr(it, 'length')\n")
    )
