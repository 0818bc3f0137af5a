"""Files that may not be written, and patches that are none."""

from __future__ import annotations

import pytest

from tests.support.judging import GOOD, SUM, Deed, finding, refused

FILES = [
    Deed(
        "test-edited", {"tests/test_core.py": "assert 1 == 2\n"}, {"tests/test_core.py": "assert 1 == 1\n"}, "protected"
    ),
    Deed("configuration", {"pyproject.toml": "[tool.pytest]\n"}, {"pyproject.toml": "\n"}, "protected"),
    Deed("outside", {"lib/x.py": "x = 1\n"}, {"lib/x.py": "x = 2\n"}, "outside the requested path", scope=("app",)),
    Deed("outside-by-prefix", {"apple/x.py": "x = 1\n"}, {"apple/x.py": "x = 2\n"}, "outside", scope=("app",)),
    Deed("conftest", {}, {"app/conftest.py": "x = 1\n"}, "how the tests run"),
    Deed("sitecustomize", {}, {"sitecustomize.py": "x = 1\n"}, "how the tests run"),
    Deed("pth", {}, {"app/x.pth": "import os\n"}, "how the tests run"),
    Deed("new-test", {}, {"app/test_core.py": "def test():\n    assert True\n"}, "creates a test file"),
    Deed("new-settings", {}, {"app/ruff.toml": "ignore = ['ALL']\n"}, "configures"),
    Deed("shadows-stdlib", {}, {"json.py": "def loads(x):\n    return 1\n"}, "hides the module 'json'"),
    Deed("shadows-stdlib-in-src", {}, {"src/json/__init__.py": "x = 1\n"}, "hides the module 'json'"),
    Deed("deleted", {"app/x.py": "x = 1\n"}, {"app/x.py": None}, "deletes app/x.py"),
    Deed("deleted-init", {"app/__init__.py": ""}, {"app/__init__.py": None}, "deletes"),
    Deed("parent", {}, {"../x.py": "x = 1\n"}, "not a path inside"),
    Deed("absolute", {}, {"/tmp/x.py": "x = 1\n"}, "not a path inside"),
    Deed("git", {}, {"app/.git/hooks/pre-commit": "true\n"}, "not a path inside"),
    Deed("windows", {}, {"app\\x.py": "x = 1\n"}, "not a path inside"),
    Deed("broken", SUM, "def total(xs:\n", "does not parse"),
    Deed("as-broken-as-before", "def total(xs:\n", "def total(xs:\n    return 1\n", "does not parse"),
    Deed("broken-new", {}, {"app/new.py": "def f(:\n"}, "does not parse"),
    Deed("binary", SUM, b"\0\1", "not text"),
    Deed("undecodable", b"x = '\xff'\n", b"x = '\xfe'\n", "decoded"),
    Deed("other-encoding", "x = 1\n", "# coding: latin-1\nx = 'ü'\n".encode("latin-1"), "which linters do not read"),
    Deed("wrong-encoding", "# coding: ascii\nx = 1\n", "# coding: ascii\nx = 'ü'\n", "own encoding"),
    Deed("huge", SUM, GOOD + "".join(f"x{n} = {n}\n" for n in range(2500)), "no repair is that long"),
    Deed("long-line", SUM, GOOD + f"x = '{'a' * 3_000_000}'\n", "bytes long"),
    Deed("nothing", SUM, SUM, "changes nothing"),
    Deed("comment-only", SUM, SUM + "# done\n", "layout or comments"),
    Deed("layout-only", SUM, "def total( xs ):\n\n    return (sum(xs) - 1)\n", "layout or comments"),
    Deed("comment-for-maintainability", SUM, SUM + "# done\n", "layout", findings=[finding("MI", critic="radon")]),
]


@pytest.mark.parametrize("deed", FILES, ids=str)
def test_patch_is_refused(deed: Deed) -> None:
    refused(deed)
