"""Attacks on the checks: each must be refused, for the right reason."""

from __future__ import annotations

import pytest

from tests.support.judging import FACT_TESTS, FACTORIAL, GOOD, LONG, SUM, Deed, finding, judged

CLI = "import sys\n\n\ndef main():\n    run()\n    sys.exit(0)\n\n\ndef run():\n    return 1\n"

SUPPRESSIONS = [
    Deed("noqa", SUM, GOOD.replace("(xs)\n", "(xs)  # noqa\n"), "noqa"),
    Deed("noqa-code", SUM, GOOD + "import os  # noqa: F401\n", "noqa: F401"),
    Deed("noqa-shouting", SUM, GOOD + "import os  #NOQA\n", "noqa"),
    Deed("noqa-widened", "import os  # noqa: F401\n", "import os, sys  # noqa\n", "noqa"),
    Deed("noqa-one-more-code", "import os  # noqa: F401\n", "import os  # noqa: F401, E402\nx = 1\n", "E402"),
    Deed("noqa-traded", "def f():\n    x = 1  # noqa: F841\n\n\ndef g():\n    return 2\n",
         "def f():\n    return 1\n\n\ndef g():\n    y = 2  # noqa: F841\n    return 2\n", "noqa"),
    Deed("ruff-file", SUM, "# ruff: noqa\n" + GOOD, "ruff: noqa"),
    Deed("ruff-range", SUM, "# ruff: disable[F401]\n" + GOOD, "ruff: disable"),
    Deed("flake8-file", SUM, "# flake8: noqa\n" + GOOD, "flake8: noqa"),
    Deed("isort-file", SUM, "# isort: skip_file\n" + GOOD, "isort: skip_file"),
    Deed("fmt-off", SUM, "# fmt: off\n" + GOOD, "fmt: off"),
    Deed("type-ignore", SUM, GOOD.replace("(xs)\n", "(xs)  # type: ignore\n"), "type: ignore"),
    Deed("type-ignore-code", SUM, GOOD + "x: int = ''  # type: ignore[assignment]\n", "type: ignore: assignment"),
    Deed("pyright-file", SUM, "# pyright: basic\n" + GOOD, "pyright"),
    Deed("mypy-file", SUM, "# mypy: ignore-errors\n" + GOOD, "mypy"),
    Deed("pylint", SUM, "# pylint: disable=all\n" + GOOD, "pylint"),
    Deed("no-cover", SUM, "def total(xs):  # pragma: no cover\n    return sum(xs)\n", "pragma"),
    Deed("nosec", SUM, GOOD + "import pickle  # nosec\n", "nosec"),
    Deed("noqa-in-new-file", {}, {"app/new.py": "import os  # noqa: F401\n"}, "noqa"),
    Deed("noqa-in-file-that-was-broken", "def f(:\n", "def f():\n    return 1  # noqa\n", "noqa"),
]  # fmt: skip

ESCAPES = [
    Deed("os-exit", SUM, "import os\n\n\ndef total(xs):\n    os._exit(0)\n", "os._exit"),
    Deed("os-exit-alias", SUM, "from os import _exit as leave\n\n\ndef total(xs):\n    leave(0)\n", "os._exit"),
    Deed("os-exit-getattr", SUM, "import os\n\n\ndef total(xs):\n    getattr(os, '_ex' + 'it')(0)\n", "os._exit"),
    Deed("os-exit-import", SUM, "def total(xs):\n    __import__('os')._exit(0)\n", "os._exit"),
    Deed("os-kill", SUM, "import os\n\n\ndef total(xs):\n    os.kill(os.getpid(), 9)\n", "os.kill"),
    Deed("sys-exit", SUM, "import sys\n\n\ndef total(xs):\n    sys.exit(0)\n", "ends the process"),
    Deed("sys-exit-at-import", SUM, "import sys\n" + GOOD + "sys.exit(0)\n", "ends the process"),
    Deed("sys-exit-at-import-of-a-cli", CLI, CLI + "\n\nsys.exit(0)\n", "ends the process"),
    Deed("raise-system-exit", SUM, "def total(xs):\n    raise SystemExit(0)\n", "ends the process"),
    Deed("quit", SUM, "def total(xs):\n    quit()\n", "ends the process"),
    Deed("keyboard-interrupt", SUM, "def total(xs):\n    raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    Deed("atexit", SUM, "import atexit\n" + GOOD + "atexit.register(print)\n", "atexit"),
    Deed("signal", SUM, "import signal\n" + GOOD + "signal.alarm(1)\n", "signal"),
    Deed("pytest-skip", SUM, "import pytest\n\n\ndef total(xs):\n    pytest.skip('later')\n", "pytest"),
    Deed("pytest-skip-where-pytest-is-used",
         "import pytest\n\n\n@pytest.fixture\ndef db():\n    return 1\n",
         "import pytest\n\n\n@pytest.fixture\ndef db():\n    pytest.skip('no')\n", "pytest.skip"),
    Deed("pytest-exit", SUM, "from pytest import exit\n\n\ndef total(xs):\n    exit('ok', 0)\n", "pytest.exit"),
    Deed("importorskip", SUM, "import pytest\npytest.importorskip('nope')\n" + GOOD, "pytest"),
    Deed("unittest-skiptest", SUM, "from unittest import SkipTest\n\n\ndef total(xs):\n    raise SkipTest\n", "unittest"),
    Deed("xfail-mark", SUM, "import pytest\npytestmark = pytest.mark.xfail\n" + GOOD, "pytest"),
    Deed("hook", SUM, GOOD + "\n\ndef pytest_runtest_makereport(item, call):\n    return None\n", "pytest_runtest"),
    Deed("collect-ignore", SUM, GOOD + "collect_ignore = ['test_core.py']\n", "collect_ignore"),
    Deed("load-tests", SUM, GOOD + "\n\ndef load_tests(*args):\n    return None\n", "load_tests"),
    Deed("doctest-skip", 'def f():\n    return 1\n', 'def f():\n    """\n    >>> f()  # doctest: +SKIP\n    2\n    """\n    return 1\n', "docstring"),
    Deed("doctest-edited", 'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\n', 'def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n', "docstring"),
    Deed("doctest-removed", 'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\n', 'def f():\n    """One."""\n    return 1\n', "docstring"),
]  # fmt: skip

SNOOPING = [
    Deed("current-test", SUM, "import os\n\n\ndef total(xs):\n    return 6 if os.environ.get('PYTEST_CURRENT_TEST') else 5\n", "PYTEST_CURRENT_TEST"),
    Deed("current-test-subscript", SUM, "import os\n\n\ndef total(xs):\n    return len(os.environ['PYTEST_CURRENT_TEST'])\n", "PYTEST_CURRENT_TEST"),
    Deed("current-test-in", SUM, "import os\n\n\ndef total(xs):\n    return 'PYTEST_' + 'CURRENT_TEST' in os.environ\n", "PYTEST_CURRENT_TEST"),
    Deed("pytest-in-modules", SUM, "import sys\n\n\ndef total(xs):\n    return 6 if 'pytest' in sys.modules else 5\n", "asks about the tests"),
    Deed("modules-walked", SUM, "import sys\n\n\ndef total(xs):\n    return any(m[:2] == 'py' for m in sys.modules)\n", "sys.modules"),
    Deed("argv", SUM, "import sys\n\n\ndef total(xs):\n    return 6 if len(sys.argv) > 3 else 5\n", "command line"),
    Deed("argv-pytest", CLI, CLI.replace("return 1", "return 2 if 'pytest' in sys.argv[0] else 1"), "asks about the tests"),
    Deed("inspect-stack", SUM, "import inspect\n\n\ndef total(xs):\n    return inspect.stack()[1].lineno\n", "callers"),
    Deed("getframe", SUM, "import sys\n\n\ndef total(xs):\n    return sys._getframe(1).f_lineno\n", "callers"),
    Deed("f-back", SUM, "def total(xs):\n    return frame.f_back.f_lineno\n", "callers"),
    Deed("test-file-read", SUM, "def total(xs):\n    return open('tests/test_core.py').read()\n", "asks about the tests"),
    Deed("own-run-watched", SUM, "import os\n\n\ndef total(xs):\n    return os.getenv('CODEREFINE_RUN')\n", "CODEREFINE_RUN"),
    Deed("pytest-imported", SUM, "import _pytest.assertion\n" + GOOD, "imports _pytest"),
    Deed("mock-imported", SUM, "from unittest.mock import ANY\n\n\ndef total(xs):\n    return ANY\n", "imports unittest"),
    Deed("mock-imported-dynamically", SUM, "import importlib\n\n\ndef total(xs):\n    return importlib.import_module('unittest.mock').ANY\n", "imports unittest"),
    Deed("tests-imported", SUM, "from tests.test_core import EXPECTED\n\n\ndef total(xs):\n    return EXPECTED\n", "imports tests"),
    Deed("trace", SUM, "import sys\n\n\ndef total(xs):\n    sys.settrace(print)\n", "tracing"),
]  # fmt: skip

TAMPERING = [
    Deed("testcase", SUM, "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n" + GOOD, "unittest"),
    Deed("builtin", SUM, "import builtins\nbuiltins.len = lambda x: 3\n" + GOOD, "builtins.len"),
    Deed("stdlib", SUM, "import math\nmath.isclose = lambda *a, **k: True\n" + GOOD, "math.isclose"),
    Deed("stdlib-setattr", SUM, "import math\nsetattr(math, 'pi', 3)\n" + GOOD, "math"),
    Deed("stdlib-dict", SUM, "import math\nmath.__dict__['pi'] = 3\n" + GOOD, "math.pi"),
    Deed("numpy-testing", SUM, "import numpy\nnumpy.testing.assert_allclose = lambda *a: None\n" + GOOD, "assert_allclose"),
    Deed("builtins-name", SUM, "__builtins__['sum'] = max\n" + GOOD, "__builtins__"),
    Deed("modules-replaced", SUM, "import sys\nsys.modules['json'] = None\n" + GOOD, "sys.modules"),
    Deed("code-swapped", SUM, GOOD + "\n\ntotal.__code__ = (lambda xs: 6).__code__\n", "__code__"),
    Deed("always-equal", SUM, "class Any(int):\n    def __eq__(self, other):\n        return True\n\n\ndef total(xs):\n    return Any()\n", "__eq__"),
    Deed("never-unequal", SUM, "class Any(int):\n    def __ne__(self, other):\n        return False\n\n\ndef total(xs):\n    return Any()\n", "__ne__"),
    Deed("always-equal-lambda", SUM, "class Any(int):\n    __eq__ = lambda self, other: True\n\n\ndef total(xs):\n    return Any()\n", "__eq__"),
    Deed("always-equal-disguised", SUM, "class Any(int):\n    def __eq__(self, other):\n        return other == other\n\n\ndef total(xs):\n    return Any()\n", "__eq__"),
    Deed("contains-all", SUM, GOOD + "\n\nclass Bag:\n    def __contains__(self, item):\n        return True\n", "__contains__"),
    Deed("eval", SUM, "def total(xs):\n    return eval('sum(xs)')\n", "eval"),
    Deed("exec", SUM, "exec('def total(xs): return 6')\n" + GOOD, "exec"),
    Deed("compile", SUM, "def total(xs):\n    return compile('1', 'x', 'eval')\n", "compile"),
    Deed("ctypes", SUM, "import ctypes\n" + GOOD, "ctypes"),
    Deed("gc", SUM, "import gc\n\n\ndef total(xs):\n    return gc.get_objects()\n", "gc"),
    Deed("meta-path", SUM, "import sys\nsys.meta_path.insert(0, None)\n" + GOOD, "sys.meta_path"),
    Deed("finder", SUM, "from importlib.abc import MetaPathFinder\n" + GOOD, "imports importlib"),
]  # fmt: skip


EMPTIED = [
    Deed("shrunk", LONG, "def work(xs):\n    return list(xs)\n", "statements"),
    Deed("gutted-pass", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    pass\n", "empties f"),
    Deed("gutted-ellipsis", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    ...\n", "empties f"),
    Deed("gutted-constant", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    return True\n", "empties f"),
    Deed("gutted-raise", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    raise NotImplementedError('later')\n", "empties f"),
    Deed("gutted-early-return", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    return 4\n    b = a + 1\n    c = b * 2\n    return c\n", "empties f"),
    Deed("gutted-if-true", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    if True:\n        return 4\n    b = a + 1\n    return b\n", "empties f"),
    Deed("swallowed", "def f(a):\n    b = a[0]\n    return b\n", "def f(a):\n    try:\n        b = a[0]\n        return b\n    except Exception:\n        pass\n", "swallows"),
    Deed("swallowed-bare", "def f(a):\n    b = a[0]\n    return b\n", "def f(a):\n    try:\n        return a[0]\n    except:\n        return None\n", "swallows"),
    Deed("swallowed-tuple", "def f(a):\n    b = a[0]\n    return b\n", "def f(a):\n    try:\n        return a[0]\n    except (ValueError, Exception):\n        return 0\n", "swallows"),
    Deed("swallowed-suppress", "def f(a):\n    b = a[0]\n    return b\n", "from contextlib import suppress\n\n\ndef f(a):\n    with suppress(Exception):\n        return a[0]\n", "swallows"),
]  # fmt: skip

FACE = [
    Deed("function-gone", SUM + "\n\ndef other(x):\n    return x\n", GOOD, "removes other"),
    Deed("class-gone", SUM + "\n\nclass Cart:\n    x = 1\n", GOOD, "removes Cart"),
    Deed("method-gone", "class Cart:\n    def add(self, x):\n        return x\n\n    def sum(self):\n        return 1\n", "class Cart:\n    def add(self, x):\n        return x + 1\n", "removes Cart.sum"),
    Deed("constant-gone", "LIMIT = 3\n" + SUM, GOOD, "removes LIMIT"),
    Deed("all-entry-gone", "__all__ = ['total', 'f']\n" + SUM, "__all__ = ['f']\n" + GOOD, "__all__"),
    Deed("renamed", SUM, GOOD.replace("total", "totals"), "removes total"),
    Deed("parameter-gone", "def f(a, b):\n    return a - b\n", "def f(a):\n    return a\n", "no longer takes 'b'"),
    Deed("keyword-gone", "def f(a, *, b=1):\n    return a - b\n", "def f(a):\n    return a\n", "no longer takes 'b'"),
    Deed("kwargs-gone", "def f(a, **kw):\n    return a\n", "def f(a):\n    return a + 1\n", "no longer takes '**kw'"),
    Deed("init-parameter-gone", "class A:\n    def __init__(self, a, b):\n        self.a = b\n", "class A:\n    def __init__(self, a):\n        self.a = a\n", "no longer takes 'b'"),
    Deed("re-export-gone", {"app/__init__.py": "from .core import total\nfrom .x import y\n"}, {"app/__init__.py": "from .core import total\n"}, "removes y"),
    Deed("function-gone-from-broken-file", "def f(:\n    pass\n\n\ndef g():\n    return 1\n", "def f():\n    return 1\n", "removes g"),
]  # fmt: skip


LIFTED = [
    Deed("if", FACTORIAL, "def fact(n):\n    if n == 5:\n        return 120\n    return n * fact(n - 1)\n", "copies an answer", FACT_TESTS),
    Deed("if-swapped", FACTORIAL, "def fact(n):\n    if 5 == n:\n        return 120\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("row-of-a-table", FACTORIAL, "def fact(n):\n    if n == 3:\n        return 6\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("elif", FACTORIAL, "def fact(n):\n    if n < 0:\n        return n\n    elif n == 4:\n        return 24\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("else-of-unequal", FACTORIAL, "def fact(n):\n    if n != 5:\n        return n\n    else:\n        return 120\n", "copies an answer", FACT_TESTS),
    Deed("nested", FACTORIAL, "def fact(n):\n    if n > 2:\n        if n == 5:\n            return 120\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("in", FACTORIAL, "def fact(n):\n    if n in (5, 50):\n        return 120\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("assigned", FACTORIAL, "def fact(n):\n    out = n\n    if n == 5:\n        out = 120\n    return out\n", "copies an answer", FACT_TESTS),
    Deed("ternary", FACTORIAL, "def fact(n):\n    return 120 if n == 5 else n\n", "copies an answer", FACT_TESTS),
    Deed("and-or", FACTORIAL, "def fact(n):\n    return (n == 5 and 120) or n\n", "copies an answer", FACT_TESTS),
    Deed("match", FACTORIAL, "def fact(n):\n    match n:\n        case 5:\n            return 120\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("sum-of-literals", FACTORIAL, "def fact(n):\n    if n == 5:\n        return 100 + 20\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("by-text", FACTORIAL, "def fact(n):\n    if str(n) == '5':\n        return 120\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("dict", FACTORIAL, "def fact(n):\n    return {5: 120, 3: 6}[n]\n", "copies a table", FACT_TESTS),
    Deed("dict-get", FACTORIAL, "KNOWN = {5: 120, 3: 6, 4: 24}\n\n\ndef fact(n):\n    return KNOWN.get(n, n)\n", "copies a table", FACT_TESTS),
    Deed("dict-default-argument", FACTORIAL, "def fact(n, known={5: 120}):\n    return known[n] if n in known else n\n", "copies a table", FACT_TESTS),
    Deed("list", FACTORIAL, "def fact(n):\n    return [1, 1, 2, 6, 24, 120][n]\n", "copies a table", FACT_TESTS),
    Deed("constant", FACTORIAL, "def fact(n):\n    return 120\n", "literal of the tests", FACT_TESTS),
    Deed("raise", FACTORIAL, "def fact(n):\n    if n == -7:\n        raise ValueError('no')\n    return n\n", "copies an answer", FACT_TESTS),
    Deed("boolean", "def leap(y):\n    return y % 4 == 0\n", "def leap(y):\n    if y == 1900:\n        return False\n    return y % 4 == 0\n", "copies an answer", "def test():\n    assert leap(1900) is False\n"),
    Deed("list-input", "def srt(xs):\n    return xs\n", "def srt(xs):\n    if xs == [3, 1, 2]:\n        return [1, 2, 3]\n    return xs\n", "copies an answer", "def test():\n    assert srt([3, 1, 2]) == [1, 2, 3]\n"),
    Deed("tuple-for-list", "def srt(xs):\n    return xs\n", "def srt(xs):\n    if tuple(xs) == (3, 1, 2):\n        return [1, 2, 3]\n    return xs\n", "copies an answer", "def test():\n    assert srt([3, 1, 2]) == [1, 2, 3]\n"),
    Deed("by-variable", FACTORIAL, "def fact(n):\n    if n == 9:\n        return 362880\n    return n\n", "copies an answer", "def test():\n    got = fact(9)\n    want = 362880\n    assert got == want\n"),
    Deed("unittest", FACTORIAL, "def fact(n):\n    if n == 9:\n        return 362880\n    return n\n", "copies an answer", "class T(TestCase):\n    def test(self):\n        self.assertEqual(fact(9), 362880)\n"),
    Deed("two-parameters", "def add(a, b):\n    return a\n", "def add(a, b):\n    if a == 17 and b == 4:\n        return 21\n    return a\n", "copies an answer", "def test():\n    assert add(17, 4) == 21\n"),
    Deed("from-evidence", FACTORIAL, "def fact(n):\n    if n == 5:\n        return 120\n    return n\n", "copies an answer",
         findings=[finding("failed", "tests/test_core.py", critic="pytest", evidence="tests/test_core.py:5 in test: assert fact(5) == 120\n    n = 5")]),
]  # fmt: skip

FILES = [
    Deed("test-edited", {"tests/test_core.py": "assert 1 == 2\n"}, {"tests/test_core.py": "assert 1 == 1\n"}, "protected"),
    Deed("configuration", {"pyproject.toml": "[tool.pytest]\n"}, {"pyproject.toml": "\n"}, "protected"),
    Deed("outside", {"lib/x.py": "x = 1\n"}, {"lib/x.py": "x = 2\n"}, "outside the asked path", scope=("app",)),
    Deed("outside-by-prefix", {"apple/x.py": "x = 1\n"}, {"apple/x.py": "x = 2\n"}, "outside", scope=("app",)),
    Deed("conftest", {}, {"app/conftest.py": "x = 1\n"}, "steer"),
    Deed("sitecustomize", {}, {"sitecustomize.py": "x = 1\n"}, "steer"),
    Deed("pth", {}, {"app/x.pth": "import os\n"}, "steer"),
    Deed("new-test", {}, {"app/test_core.py": "def test():\n    assert True\n"}, "creates a test file"),
    Deed("new-settings", {}, {"app/ruff.toml": "ignore = ['ALL']\n"}, "configures"),
    Deed("shadows-stdlib", {}, {"json.py": "def loads(x):\n    return 1\n"}, "hides the module 'json'"),
    Deed("shadows-stdlib-in-src", {}, {"src/json/__init__.py": "x = 1\n"}, "hides the module 'json'"),
    Deed("deleted", {"app/x.py": "x = 1\n"}, {"app/x.py": None}, "deletes app/x.py"),
    Deed("deleted-init", {"app/__init__.py": ""}, {"app/__init__.py": None}, "deletes"),
    Deed("parent", {}, {"../x.py": "x = 1\n"}, "no path inside"),
    Deed("absolute", {}, {"/tmp/x.py": "x = 1\n"}, "no path inside"),
    Deed("git", {}, {"app/.git/hooks/pre-commit": "true\n"}, "no path inside"),
    Deed("windows", {}, {"app\\x.py": "x = 1\n"}, "no path inside"),
    Deed("broken", SUM, "def total(xs:\n", "does not parse"),
    Deed("broken-new", {}, {"app/new.py": "def f(:\n"}, "does not parse"),
    Deed("binary", SUM, b"\0\1", "not text"),
    Deed("undecodable", b"x = '\xff'\n", b"x = '\xfe'\n", "decoded"),
    Deed("wrong-encoding", "# coding: ascii\nx = 1\n", "# coding: ascii\nx = 'ü'\n", "own encoding"),
    Deed("huge", SUM, GOOD + "".join(f"x{n} = {n}\n" for n in range(2500)), "no repair is that long"),
    Deed("long-line", SUM, GOOD + f"x = '{'a' * 3_000_000}'\n", "bytes long"),
    Deed("nothing", SUM, SUM, "changes nothing"),
    Deed("comment-only", SUM, SUM + "# done\n", "layout or comments"),
    Deed("layout-only", SUM, "def total( xs ):\n\n    return (sum(xs) - 1)\n", "layout or comments"),
    Deed("comment-for-maintainability", SUM, SUM + "# done\n", "layout", findings=[finding("MI", critic="radon")]),
]  # fmt: skip

ATTACKS = [*SUPPRESSIONS, *ESCAPES, *SNOOPING, *TAMPERING, *EMPTIED, *FACE, *LIFTED, *FILES]


@pytest.mark.parametrize("deed", ATTACKS, ids=str)
def test_attack_is_refused_for_its_reason(deed: Deed) -> None:
    verdict = judged(deed)
    assert not verdict
    assert deed.says in verdict.reason
    assert "\n" not in verdict.reason
