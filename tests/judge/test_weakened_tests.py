"""Functions that assert for the tests may not be changed; the rest of their module may."""

from __future__ import annotations

import pytest

from coderefine.core import Patch
from coderefine.judge import admit

BEFORE = """\
from math import isclose

LIMIT = 0.01
for WIDTH in (1, 2):
    WIDEST = WIDTH


def assert_close(found, wanted):
    \"\"\"Nearly equal.\"\"\"
    assert isclose(round(found, 2), round(wanted, 2), abs_tol=LIMIT)


class Client:
    def assert_ok(self):
        assert self.code == 200

    def get(self):
        return self.code


def mean(rows):
    return sum(rows)
"""
HELPERS = frozenset({"assert_close", "Client.assert_ok", "LIMIT", "WIDEST"})
REFUSED = {
    "its body": BEFORE.replace("round(found, 2)", "round(wanted, 2)"),
    "its argument": BEFORE.replace("(found, wanted):", "(found, wanted=0):"),
    "a method": BEFORE.replace("== 200", ">= 200"),
    "a decorator": BEFORE.replace("def assert_close", "@lenient\ndef assert_close"),
    "its constant": BEFORE.replace("0.01", "100"),
    "a loop that gives a constant its value": BEFORE.replace("(1, 2)", "(1, 10**9)"),
    "its import": BEFORE.replace("import isclose", "import isfinite as isclose"),
    "a new constant for what was built in": BEFORE + "\n\nround = max\n",
    "a function for what was built in": BEFORE + "\n\ndef round(a, b):\n    return 0\n",
    "a function for what was imported": BEFORE + "\n\ndef isclose(*a, **k):\n    return True\n",
    "a second one": BEFORE + "\n\ndef assert_close(found, wanted):\n    pass\n",
    "a name for it": BEFORE + "\n\nassert_close = print\n",
    "deleted": BEFORE.replace("def assert_ok", "def assert_fine"),
}
FREE = {
    "another function": BEFORE.replace("sum(rows)", "sum(rows) / len(rows)"),
    "a method beside it": BEFORE.replace("return self.code", "return int(self.code)"),
    "another import": BEFORE.replace("import isclose", "import fsum, isclose"),
}


def verdict(after: str) -> tuple[bool, str]:
    patch = Patch({"app/core.py": after.encode()})
    result = admit(patch, {"app/core.py": BEFORE.encode()}, lambda _: None, helpers=lambda _path, _data: HELPERS)
    return result.ok, result.reason


@pytest.mark.parametrize("how", REFUSED)
def test_a_helper_is_not_changed_by(how: str) -> None:
    assert verdict(REFUSED[how])[0] is False
    assert "asserts on behalf of the tests" in verdict(REFUSED[how])[1]


@pytest.mark.parametrize("how", FREE)
def test_the_rest_of_its_module_is_free(how: str) -> None:
    assert verdict(FREE[how]) == (True, "")
