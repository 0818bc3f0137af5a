"""Code that asks whether it is being tested is refused."""

from __future__ import annotations

import pytest

from tests.support.judging import CLI, GOOD, SUM, Deed, passed, refused

SNOOPING = [
    Deed(
        "current-test",
        SUM,
        "import os\n\n\ndef total(xs):\n    return 6 if os.environ.get('PYTEST_CURRENT_TEST') else 5\n",
        "PYTEST_CURRENT_TEST",
    ),
    Deed(
        "current-test-subscript",
        SUM,
        "import os\n\n\ndef total(xs):\n    return len(os.environ['PYTEST_CURRENT_TEST'])\n",
        "PYTEST_CURRENT_TEST",
    ),
    Deed(
        "current-test-in",
        SUM,
        "import os\n\n\ndef total(xs):\n    return 'PYTEST_' + 'CURRENT_TEST' in os.environ\n",
        "PYTEST_CURRENT_TEST",
    ),
    Deed(
        "pytest-in-modules",
        SUM,
        "import sys\n\n\ndef total(xs):\n    return 6 if 'pytest' in sys.modules else 5\n",
        "depends on the tests",
    ),
    Deed(
        "modules-walked",
        SUM,
        "import sys\n\n\ndef total(xs):\n    return any(m[:2] == 'py' for m in sys.modules)\n",
        "sys.modules",
    ),
    Deed("argv", SUM, "import sys\n\n\ndef total(xs):\n    return 6 if len(sys.argv) > 3 else 5\n", "command line"),
    Deed(
        "argv-pytest",
        CLI,
        CLI.replace("return 1", "return 2 if 'pytest' in sys.argv[0] else 1"),
        "depends on the tests",
    ),
    Deed("inspect-stack", SUM, "import inspect\n\n\ndef total(xs):\n    return inspect.stack()[1].lineno\n", "callers"),
    Deed("getframe", SUM, "import sys\n\n\ndef total(xs):\n    return sys._getframe(1).f_lineno\n", "callers"),
    Deed("f-back", SUM, "def total(xs):\n    return frame.f_back.f_lineno\n", "callers"),
    Deed(
        "folder-of-tests-that-no-failing-test-names",
        SUM,
        "def total(xs):\n    return [x for x in xs if '/tests/' not in x]\n",
        "depends on the tests",
        tests="def test():\n    assert total(['a/b.py', 'tests']) == ['a/b.py']\n",
    ),
    Deed(
        "test-file-read-that-a-failing-test-names",
        SUM,
        "def total(xs):\n    return open('tests/data.txt').read()\n",
        "depends on the tests",
        tests="def test():\n    assert total('tests/data.txt') == 'a'\n",
    ),
    Deed(
        "test-tool-that-a-failing-test-names",
        SUM,
        "import sys\n\n\ndef total(xs):\n    return 6 if 'pytest' in sys.modules else 5\n",
        "depends on the tests",
        tests="def test():\n    assert total('pytest') == 6\n",
    ),
    Deed(
        "test-file-read", SUM, "def total(xs):\n    return open('tests/test_core.py').read()\n", "depends on the tests"
    ),
    Deed(
        "own-run-watched",
        SUM,
        "import os\n\n\ndef total(xs):\n    return os.getenv('CODEREFINE_RUN')\n",
        "CODEREFINE_RUN",
    ),
    Deed("pytest-imported", SUM, "import _pytest.assertion\n" + GOOD, "imports _pytest"),
    Deed(
        "mock-imported", SUM, "from unittest.mock import ANY\n\n\ndef total(xs):\n    return ANY\n", "imports unittest"
    ),
    Deed(
        "mock-imported-dynamically",
        SUM,
        "import importlib\n\n\ndef total(xs):\n    return importlib.import_module('unittest.mock').ANY\n",
        "imports unittest",
    ),
    Deed(
        "mock-imported-from-its-package",
        SUM,
        "import importlib\n\n\ndef total(xs):\n    return importlib.import_module('.mock', 'unittest').ANY\n",
        "imports unittest",
    ),
    *(
        Deed(f"equal-to-all: {line}", SUM, f"{line}\n\n\ndef total(xs):\n    return ALL\n", "imports")
        for line in (
            "from test.support import ALWAYS_EQ as ALL",
            "from test import support as ALL",
            "import test.support as ALL",
            "from dirty_equals import AnyThing as ALL",
            "from lib2to3.tests.support import driver as ALL",
            "import lib2to3.tests as ALL",
            "from idlelib.idle_test.mock_idle import Func as ALL",
            "import sqlite3.test as ALL",
            "import _testcapi as ALL",
            "import shop.tests as ALL",
            "import importlib\n\nALL = importlib.import_module('test.support').ALWAYS_EQ",
            "import importlib\n\nALL = importlib.import_module('shop.tests').ALL",
            "import importlib\n\nALL = importlib.import_module('shop.test_core').ALL",
            "import importlib\n\nALL = importlib.import_module(name='.support', package='test').ALWAYS_EQ",
        )
    ),
    Deed(
        "tests-imported",
        SUM,
        "from tests.test_core import EXPECTED\n\n\ndef total(xs):\n    return EXPECTED\n",
        "imports tests",
    ),
    Deed(
        "test-file-by-parts",
        SUM,
        "from pathlib import Path\n\n\ndef total(xs):\n    return (Path('tests') / 'test_core.py').read_text()\n",
        "depends on the tests",
    ),
    Deed(
        "test-file-joined",
        SUM,
        "import os\n\n\ndef total(xs):\n    return open(os.path.join('tests', 'test_core.py')).read()\n",
        "depends on the tests",
    ),
    Deed(
        "test-file-in-an-f-string",
        SUM,
        "def total(xs):\n    return open(f'tests/test_{xs[0]}.py').read()\n",
        "depends on the tests",
    ),
    Deed(
        "lines-of-a-test-file",
        SUM,
        "import linecache\n\n\ndef total(xs):\n    return linecache.getlines('tests/test_core.py')\n",
        "depends on the tests",
    ),
    Deed(
        "pluggy-in-modules",
        SUM,
        "import sys\n\n\ndef total(xs):\n    return 6 if 'pluggy' in sys.modules else 5\n",
        "depends on the tests",
    ),
    Deed("proc", SUM, "def total(xs):\n    return open('/proc/self/cmdline').read()\n", "depends on the tests"),
    Deed("logger", SUM, "def total(xs):\n    return logging.getLogger().findCaller()[1]\n", "callers"),
    Deed("faults", SUM, "import faulthandler\n\n\ndef total(xs):\n    faulthandler.dump_traceback(xs)\n", "callers"),
    Deed(
        "recorded-warning",
        SUM,
        "import warnings\n\n\ndef total(xs):\n    with warnings.catch_warnings(record=True) as seen:\n"
        "        warnings.warn('', stacklevel=2)\n    return seen[0].lineno\n",
        "callers",
    ),
    *(
        Deed(what, SUM, f"import sys\n\n\ndef total(xs):\n    return sum(xs) - ({what})\n", "detects that tests run")
        for what in (
            "not sys.gettrace()",
            "sys.warnoptions == []",
            "type(sys.stdout).__name__ != 'EncodedFile'",
            "'Enc' not in str(sys.stderr.__class__)",
        )
    ),
    Deed("trace", SUM, "import sys\n\n\ndef total(xs):\n    sys.settrace(print)\n", "tracing"),
]


@pytest.mark.parametrize("deed", SNOOPING, ids=str)
def test_snooping_is_refused(deed: Deed) -> None:
    refused(deed)


IMPORTS = {
    "absolute": "from lab.test_results import load\n",
    "whole": "import lab.test_results\n\nlab.test_results.Loader.make()\n",
    "beside": "from .test_results import load\n",
    "beside, whole": "from . import test_results\n",
    "by name": "import importlib\n\nimportlib.import_module('lab.test_results').load()\n",
}


@pytest.mark.parametrize("how", IMPORTS)
def test_a_module_that_is_named_like_a_test_may_be_product_code(how: str) -> None:
    before, after = {"lab/core.py": SUM}, {"lab/core.py": IMPORTS[how] + GOOD}
    refused(Deed(how, before, after, "imports"))
    refused(Deed(how, before, after, "imports", products=("lab/core.py", "lab/results.py")))
    passed(Deed(how, before, after, products=("lab/test_results.py",)))
    passed(Deed(how, before, after, products=("lab/test_results/__init__.py",)))
