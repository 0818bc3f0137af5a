"""Tests called without pytest's protocol: only those that may be, and with the verdict pytest would give."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Patch, Status, Views
from coderefine.project import interpreter, locate
from coderefine.runner.cold import run_tests
from coderefine.runner.pool import Candidate, Judged, Plan, Pool, open_pool
from coderefine.workspace import open_views
from tests.conftest import seal
from tests.support.cases import few
from tests.support.repo import make_repo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")

INI = '[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n'
HEAD = "import bdb, logging, os, sys, threading, unittest, warnings\nimport pytest\n\n\n"

PLUGINS = "-p pytest_asyncio.plugin -p anyio -p _hypothesis_pytestplugin -p xdist.plugin --asyncio-mode=auto"
"""Options that load plugins which most projects have: with them, tests may still be called directly."""

FORMS = {
    "plain": ("def test_f():\n    assert mod.f() == 1\n", True),
    "parametrized": ('@pytest.mark.parametrize("n", [1, 1.0])\ndef test_f(n):\n    assert mod.f() == n\n', True),
    "method": ("class TestF:\n    one = 1\n    def test_f(self):\n        assert mod.f() == self.one\n", True),
    "own mark": ("@pytest.mark.slow\ndef test_f():\n    assert mod.f() == 1\n", True),
    "no fixture of it": ("@pytest.fixture\ndef g():\n    pass\ndef test_f():\n    assert mod.f() == 1\n", True),
    "fixture": ("def test_f(tmp_path):\n    assert mod.f() == 1\n", False),
    "request": ("def test_f(request):\n    assert mod.f() == 1\n", False),
    "autouse": ("@pytest.fixture(autouse=True)\ndef g():\n    pass\ndef test_f():\n    assert mod.f() == 1\n", False),
    "setup_module": ("def setup_module():\n    pass\ndef test_f():\n    assert mod.f() == 1\n", False),
    "teardown_function": ("def teardown_function():\n    pass\ndef test_f():\n    assert mod.f() == 1\n", False),
    "setup_method": (
        "class TestF:\n    def setup_method(self):\n        pass\n    def test_f(self):\n        assert mod.f() == 1\n",
        False,
    ),
    "indirect": (
        "@pytest.fixture\ndef n(request):\n    return request.param\n"
        '@pytest.mark.parametrize("n", [1], indirect=True)\ndef test_f(n):\n    assert mod.f() == n\n',
        False,
    ),
    "overridden fixture": (
        "@pytest.fixture\ndef n():\n    return 2\n"
        '@pytest.mark.parametrize("n", [1])\ndef test_f(n):\n    assert mod.f() == n\n',
        True,
    ),
    "skipif": ('@pytest.mark.skipif(False, reason="")\ndef test_f():\n    assert mod.f() == 1\n', False),
    "xfail": ("@pytest.mark.xfail\ndef test_f():\n    assert mod.f() == 1\n", False),
    "xfail parameter": (
        '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.xfail)])\n'
        "def test_f(n):\n    assert mod.f() == n\n",
        False,
    ),
    "usefixtures": ('@pytest.mark.usefixtures("tmp_path")\ndef test_f():\n    assert mod.f() == 1\n', False),
    "filterwarnings": ('@pytest.mark.filterwarnings("ignore")\ndef test_f():\n    assert mod.f() == 1\n', False),
    "hypothesis": (
        "from hypothesis import given, strategies\n"
        "@given(strategies.just(1))\ndef test_f(n):\n    assert mod.f() == n\n",
        False,
    ),
    "coroutine": ("async def test_f():\n    assert mod.f() == 1\n", False),
    "unittest": (
        "class TestF(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(mod.f(), 1)\n",
        False,
    ),
}
"""A test module and whether its test may be called directly."""


def source(path: Path, body: str) -> str:
    return HEAD + f"LOG = {str(path)!r}\n\n\ndef f():\n    {body}\n\n\ndef g():\n    return 2\n"


TELL = (
    "frame, names = sys._getframe(), set()\n"
    "    while frame:\n        names.add(frame.f_code.co_name)\n        frame = frame.f_back\n"
    "    with open(LOG, 'a') as stream:\n"
    "        stream.write('protocol\\n' if 'pytest_runtest_call' in names else 'direct\\n')\n    return 2"
)
"""Body that fails the test and says how it was called."""


AROUND_IT = {
    "hook of conftest.py": {"conftest.py": "def pytest_runtest_call(item):\n    pass\n"},
    "report of conftest.py": {"conftest.py": "def pytest_runtest_makereport(item, call):\n    pass\n"},
    "call of conftest.py": {"__init__.py": "", "conftest.py": "def pytest_pyfunc_call(pyfuncitem):\n    pass\n"},
    "fixture of conftest.py": {"conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef g():\n    pass\n"},
    "setup of a package": {"__init__.py": "def setup_module():\n    pass\n"},
}
"""What stands in the folder of a test that might be called directly otherwise."""


class Forms:
    """A pool for a project with a folder for each of FORMS and AROUND_IT."""

    def __init__(self, pool: Pool, log: Path) -> None:
        self._pool = pool
        self._log = log

    def reported(self, form: str) -> list[str]:
        """How the tests of `form` were called when a candidate with the body TELL failed them twice."""
        self._log.unlink(missing_ok=True)
        tests = tuple(name for name in self._pool.tests if name.startswith(f"{folder(form)}/"))
        assert tests
        for number in (1, 2):
            candidate = Candidate(number, {"mod.py": source(self._log, TELL).encode()})
            (judged,) = self._pool.judge([candidate], Plan(tests, then=()))
            assert judged.speed == "hot", judged.slow
        return self._log.read_text().split()


def folder(form: str) -> str:
    return form.replace(" ", "_").replace(".", "_")


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forms]:
    home = tmp_path_factory.mktemp("forms")
    files = {
        "pyproject.toml": f'[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "{PLUGINS}"\n',
        "mod.py": source(home / "log", "return 1"),
    }
    for name, (text, _) in FORMS.items():
        files[f"{folder(name)}/test_{folder(name)}.py"] = f"import unittest\nimport pytest\nimport mod\n\n\n{text}"
    for name, around in AROUND_IT.items():
        files[f"{folder(name)}/test_{folder(name)}.py"] = f"import mod\n\n\n{FORMS['plain'][0]}"
        files.update({f"{folder(name)}/{path}": text for path, text in around.items()})
    config = Config(python=sys.executable, sandbox="off")
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        top = make_repo(home / "project", files)
        place = locate([top], top)
        with (
            open_views(place) as views,
            open_pool(views, place, interpreter(place, config, os.environ), config, workers=1) as pool,
        ):
            yield Forms(pool, home / "log")


@pytest.mark.parametrize("form", FORMS)
def test_only_tests_without_any_help_of_pytest_are_called_directly(forms: Forms, form: str) -> None:
    reported = forms.reported(form)
    assert reported == ["direct", "protocol", "direct"] if FORMS[form][1] else set(reported) == {"protocol"}


@pytest.mark.parametrize("form", AROUND_IT)
def test_hooks_fixtures_and_setups_around_a_test_forbid_it(forms: Forms, form: str) -> None:
    assert set(forms.reported(form)) == {"protocol"}


BODIES = {
    "wrong value": "return 3",
    "right value": "return 2 - 1",
    "exception": "raise ValueError",
    "skip": "pytest.skip('no')",
    "SkipTest": "raise unittest.SkipTest",
    "fail": "pytest.fail('no')",
    "xfail": "pytest.xfail('no')",
    "importorskip": "pytest.importorskip('nothing_here')",
    "sys.exit": "sys.exit(1)",
    "BdbQuit": "raise bdb.BdbQuit",
    "recursion": "return f()",
    "memory": "raise MemoryError",
    "warning": "warnings.warn('w')\n    return 1",
    "deprecation": "warnings.warn('w', DeprecationWarning)\n    return 1",
    "warning ignored": "warnings.simplefilter('ignore')\n    warnings.warn('w')\n    return 1",
    "unclosed file": "open(LOG + os.path.dirname(LOG) and __file__)\n    return 1",
    "failing finalizer": "type('X', (), {'__del__': lambda self: 1 / 0})()\n    return 1",
    "failing thread": "t = threading.Thread(target=lambda: 1 / 0)\n    t.start()\n    t.join()\n    return 1",
    "flood": "[print('x' * 100_000) for _ in range(100)]\n    return 1",
    "not ASCII": "print('\\u20ac')\n    return 1",
    "output to": "return 1 if sys.stdout.encoding == 'utf-8' and not sys.stdout.isatty() else 3",
    "input": "try:\n        input()\n    except OSError:\n        return 1",
    "other stdout": "sys.stdout = None\n    return 1",
    "closed stdout": "sys.stdout.close()\n    return 1",
    "log": "logging.getLogger('x').error('e')\n    return 1",
    "log handlers": "return 1 if len(logging.getLogger().handlers) == 2 else 3",
    "no log handlers": "logging.getLogger().handlers.clear()\n    return 1",
    "test of now": "return 1 if '(call)' in os.environ['PYTEST_CURRENT_TEST'] else 3",
    "filters": "return 1 if warnings.filters[0][0] == 'error' else 3",
    "state left": "os.environ['LEFT'] = '1'\n    return 1",
    "profile left": "sys.setrecursionlimit(200)\n    return 1",
}
AROUND = {
    "pyproject.toml": INI,
    "test_mod.py": (
        "import logging\nimport os\nimport sys\nimport warnings\nimport pytest\nimport mod\n\n\n"
        "def test_before():\n    assert mod.g() == 2\n\n\n"
        "def test_f():\n    assert mod.f() == 1\n\n\n"
        "def test_env():\n    assert 'LEFT' not in os.environ\n\n\n"
        "def test_warns():\n    with pytest.raises(UserWarning):\n        warnings.warn('w')\n\n\n"
        "def test_prints():\n    print('x')\n    logging.error('x')\n    assert logging.getLogger().handlers\n\n\n"
        "def test_fixture(tmp_path):\n    assert mod.f() == 1\n\n\n"
        "def test_last():\n    assert mod.f() == 1\n"
    ),
}


class Around:
    """The project AROUND, judged by direct calls and cold."""

    def __init__(self, pool: Pool, views: Views, top: Path) -> None:
        self.pool = pool
        self._views = views
        self._place = locate([top], top)
        self._log = top.parent / "log"

    def judged(self, body: str, fastest: str = "hot") -> Judged:
        plan = Plan(self.pool.tests, keep_going=True, fastest=fastest)
        (judged,) = self.pool.judge([Candidate(1, {"mod.py": self._text(body)})], plan)
        return judged

    def cold(self, body: str) -> Mapping[str, Status]:
        python = interpreter(self._place, Config(python=sys.executable), os.environ)
        with self._views.open(Patch({"mod.py": self._text(body)})) as view:
            check = run_tests(view, self._place, python, Config(), Ask(rich=False), lambda _: None)
        return {name: case.status for name, case in check.cases.items()}

    def _text(self, body: str) -> bytes:
        return source(self._log, body).encode()


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Around]:
    home = tmp_path_factory.mktemp("around")
    config = Config(python=sys.executable)
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        top = make_repo(home / "project", {**AROUND, "mod.py": source(home / "log", "return 1")})
        place = locate([top], top)
        with (
            open_views(place) as views,
            open_pool(views, place, interpreter(place, config, os.environ), config, workers=1) as pool,
        ):
            opened = Around(pool, views, top)
            assert not opened.judged("return 5").plausible  # from here on a direct failure stands
            yield opened


MAIN = ("wrong value", "right value", "exception", "skip", "sys.exit", "warning", "failing finalizer", "failing thread")


@pytest.mark.parametrize("name", few(BODIES, *MAIN, "state left"))
def test_started_pytest_and_direct_calls_have_the_results_of_a_cold_run(around: Around, name: str) -> None:
    cold, hot, warm = around.cold(BODIES[name]), around.judged(BODIES[name]), around.judged(BODIES[name], "warm")
    assert dict(hot.statuses) == dict(cold)
    assert hot.plausible == (not any(status.bad for status in cold.values()))
    assert (warm.speed, dict(warm.statuses)) == ("warm", dict(cold))


def test_a_direct_call_that_disagrees_is_not_believed(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "",
        "mod.py": source(tmp_path / "log", "return 1"),
        "test_mod.py": "import mod\ndef test_f():\n    assert mod.f() == 1\n",
    }
    top = make_repo(tmp_path / "project", files)
    place = locate([top], top)
    config = Config(python=sys.executable, sandbox="off")
    only_there = TELL.replace("return 2", "return 1 if 'pytest_runtest_call' in names else 2")
    candidate = Candidate(1, {"mod.py": source(tmp_path / "log", only_there).encode()})
    with (
        open_views(place) as views,
        open_pool(views, place, interpreter(place, config, os.environ), config, workers=1) as pool,
    ):
        (judged,) = pool.judge([candidate], Plan())
        assert judged.plausible, judged.reason
        assert all(judged.plausible for judged in pool.judge([candidate], Plan()))
    assert (tmp_path / "log").read_text().split().count("direct") == 1
