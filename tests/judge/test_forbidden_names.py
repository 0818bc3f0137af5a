"""Code that ends, skips or steers the run is refused."""

from __future__ import annotations

import pytest

from tests.support.cases import every
from tests.support.judging import CLI, GOOD, SUM, Deed, passed, refused

ESCAPES = [
    Deed("os-exit", SUM, "import os\n\n\ndef total(xs):\n    os._exit(0)\n", "os._exit"),
    Deed("os-exit-alias", SUM, "from os import _exit as leave\n\n\ndef total(xs):\n    leave(0)\n", "os._exit"),
    Deed("os-exit-getattr", SUM, "import os\n\n\ndef total(xs):\n    getattr(os, '_ex' + 'it')(0)\n", "os._exit"),
    Deed("os-exit-import", SUM, "def total(xs):\n    __import__('os')._exit(0)\n", "os._exit"),
    Deed(
        "os-exit-known-name",
        "from os import _exit as leave\n\n\ndef total(xs):\n    return sum(xs) - 1\n",
        "from os import _exit as leave\n\n\ndef total(xs):\n    leave(0)\n",
        "os._exit",
    ),
    Deed(
        "os-exit-known-module",
        "import os as o\n\n\ndef total(xs):\n    return sum(xs) - 1\n",
        "import os as o\n\n\ndef total(xs):\n    o._exit(0)\n",
        "os._exit",
    ),
    Deed(
        "os-exit-behind-a-parameter",
        "import os\n\n\ndef total(xs):\n    return sum(xs) - 1\n",
        "import os\n\n\ndef total(xs):\n    os._exit(0)\n\n\ndef other(os=None):\n    return os\n",
        "os._exit",
    ),
    Deed("os-exec", SUM, "import os\n\n\ndef total(xs):\n    os.execv('/bin/true', ['true'])\n", "os.execv"),
    Deed("os-kill", SUM, "import os\n\n\ndef total(xs):\n    os.kill(os.getpid(), 9)\n", "os.kill"),
    Deed("os-kill-group", SUM, "import os\n\n\ndef total(xs):\n    os.killpg(os.getpgid(0), 9)\n", "os.killpg"),
    Deed(
        "os-kill-of-a-pid-of-its-own",
        SUM,
        "import os\n\n\nclass Child:\n    pid = os.getppid()\n\n\ndef total(xs):\n    os.kill(Child.pid, 9)\n",
        "os.kill",
    ),
    *(
        Deed(
            f"os-kill-of-a-process-that-is-no-child: {process}",
            SUM,
            "import multiprocessing\nimport os\nimport subprocess\nfrom collections import namedtuple\n"
            "from types import SimpleNamespace\n\nimport psutil as ps\n\nStarted = subprocess.Popen\n\n\n"
            f"def total(xs):\n    x = {process}\n    os.kill(x.pid, 9)\n",
            "os.kill",
        )
        for process in (
            "multiprocessing.current_process()",
            "multiprocessing.parent_process()",
            "ps.Process()",
            "SimpleNamespace(**{'pid': xs[0]})",
            "namedtuple('P', 'name, pid')('', xs[0])",
            "setattr(total, 'p' + 'id', xs[0]) or total",
            "os.getppid and getattr(os, 'get' + 'pgrp') and xs",
        )
    ),
    Deed("os-kill-without-a-child", SUM, "import os\n\n\ndef total(xs):\n    os.kill(xs.pid, 9)\n", "os.kill"),
    Deed("os-kill-0-and-more", SUM, "import os\n\n\ndef total(xs):\n    os.kill(xs[0], 0 + xs[1])\n", "os.kill"),
    Deed("os-kill-as-value", SUM, "import os\n\n\ndef total(xs):\n    k = os.kill\n    k(xs[0], 9)\n", "os.kill"),
    Deed("exit-of-a-module", SUM, "from app import util\n\n\ndef total(xs):\n    util.system._exit()\n", "_exit"),
    Deed("exit-of-a-value", SUM, "def total(xs):\n    find()._exit()\n", "_exit"),
    Deed("sys-exit", SUM, "import sys\n\n\ndef total(xs):\n    sys.exit(0)\n", "ends the process"),
    Deed("sys-exit-at-import", SUM, "import sys\n" + GOOD + "sys.exit(0)\n", "ends the process"),
    Deed("sys-exit-at-import-of-a-cli", CLI, CLI + "\n\nsys.exit(0)\n", "ends the process"),
    Deed("raise-system-exit", SUM, "def total(xs):\n    raise SystemExit(0)\n", "ends the process"),
    Deed("quit", SUM, "def total(xs):\n    quit()\n", "ends the process"),
    Deed("keyboard-interrupt", SUM, "def total(xs):\n    raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    Deed(
        "stdin-that-pytest-replaces",
        SUM,
        "import sys\n\n\ndef total(xs):\n    try:\n        sys.stdin.readline()\n    except OSError:\n"
        "        return sum(xs)\n    return sum(xs) - 1\n",
        "detects that tests run (sys.stdin)",
    ),
    Deed(
        "stdin-that-pytest-replaces-behind-a-buffer",
        SUM,
        "import sys\n\n\ndef total(xs):\n    try:\n        sys.stdin.buffer.read()\n    except OSError as e:\n"
        "        if not xs:\n            raise\n        return sum(xs)\n    return sum(xs) - 1\n",
        "detects that tests run (sys.stdin)",
    ),
    Deed(
        "input-that-pytest-replaces",
        SUM,
        "from contextlib import suppress\n\n\ndef total(xs):\n    with suppress(OSError):\n        input()\n"
        "        return sum(xs) - 1\n    return sum(xs)\n",
        "detects that tests run (sys.stdin)",
    ),
    Deed("atexit", SUM, "import atexit\n" + GOOD + "atexit.register(print)\n", "atexit"),
    Deed("signal", SUM, "import signal\n" + GOOD + "signal.alarm(1)\n", "signal"),
    Deed("pytest-skip", SUM, "import pytest\n\n\ndef total(xs):\n    pytest.skip('later')\n", "pytest"),
    Deed(
        "pytest-skip-where-pytest-is-used",
        "import pytest\n\n\n@pytest.fixture\ndef db():\n    return 1\n",
        "import pytest\n\n\n@pytest.fixture\ndef db():\n    pytest.skip('no')\n",
        "pytest.skip",
    ),
    Deed("pytest-exit", SUM, "from pytest import exit\n\n\ndef total(xs):\n    exit('ok', 0)\n", "pytest.exit"),
    Deed("importorskip", SUM, "import pytest\npytest.importorskip('nope')\n" + GOOD, "pytest"),
    Deed(
        "unittest-skiptest", SUM, "from unittest import SkipTest\n\n\ndef total(xs):\n    raise SkipTest\n", "unittest"
    ),
    Deed("xfail-mark", SUM, "import pytest\npytestmark = pytest.mark.xfail\n" + GOOD, "pytest"),
    Deed("unchecked", SUM, "import typing\n\n\n@typing.no_type_check\n" + GOOD, "type checker"),
    Deed("async-hook", SUM, GOOD + "\n\nasync def pytest_runtest_call(item):\n    pass\n", "pytest_runtest"),
    Deed("log", SUM, "import logging\nlogging.disable(logging.CRITICAL)\n" + GOOD, "silences the log"),
    Deed(
        "exit-in-a-function-that-others-use",
        SUM,
        "import sys\n\n\ndef total(xs):\n    return main(xs)\n\n\ndef main(xs):\n    sys.exit(0)\n\n\n"
        "if __name__ == '__main__':\n    main([])\n",
        "ends the process",
    ),
    Deed(
        "exit-in-an-old-function-with-a-new-main-guard",
        SUM,
        "import sys\n\n\ndef total(xs):\n    sys.exit(0)\n\n\nif __name__ == '__main__':\n    total([])\n",
        "ends the process",
    ),
    Deed(
        "exit-in-a-class-below-the-main-guard",
        SUM,
        "import sys\n\n\nclass Main:\n    sys.exit(0)\n\n\nif __name__ == '__main__':\n    Main()\n",
        "ends the process",
    ),
    Deed(
        "exit-in-a-default-value-of-a-guarded-function",
        SUM,
        "import sys\n\n\ndef main(code=sys.exit(0)):\n    print(code)\n\n\nif __name__ == '__main__':\n    main()\n",
        "ends the process",
    ),
    Deed(
        "reduce-from-a-module",
        SUM,
        "import os\nfrom functools import reduce\n\n\ndef total(xs):\n    reduce(getattr, xs, os)(0)\n",
        "passes getattr around",
    ),
    Deed(
        "absolute-names-of-a-table",
        SUM,
        "from importlib import import_module\n\nLAZY = {'a': '.a', 'b': 'os'}\n\n\n"
        "def total(xs):\n    return import_module(LAZY[xs], __name__)\n",
        "imports a computed name",
    ),
    Deed("hook", SUM, GOOD + "\n\ndef pytest_runtest_makereport(item, call):\n    return None\n", "pytest_runtest"),
    Deed("collect-ignore", SUM, GOOD + "collect_ignore = ['test_core.py']\n", "collect_ignore"),
    Deed("load-tests", SUM, GOOD + "\n\ndef load_tests(*args):\n    return None\n", "load_tests"),
    Deed(
        "doctest-skip",
        "def f():\n    return 1\n",
        'def f():\n    """\n    >>> f()  # doctest: +SKIP\n    2\n    """\n    return 1\n',
        "docstring",
    ),
    Deed(
        "doctest-edited",
        'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\n',
        'def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n',
        "docstring",
    ),
    Deed(
        "doctest-removed",
        'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\n',
        'def f():\n    """One."""\n    return 1\n',
        "docstring",
    ),
]


GUARDED = GOOD + "\n\nif __name__ == '__main__':\n    exec(input())\n"
SETTING_NAME = {
    "assigned": "__name__ = '__main__'\n",
    "by a walrus": "print(__name__ := '__main__')\n",
    "in a tuple": "x, __name__ = 1, '__main__'\n",
    "a global variable": "def f():\n    global __name__\n    __name__ = '__main__'\n\n\nf()\n",
    "a class": "class __name__(str):\n    pass\n",
    "imported": "from app.names import NAME as __name__\n",
    "all names imported": "from app.names import *\n",
    "by globals": "globals()['__name__'] = '__main__'\n",
    "by globals and a computed name": "globals()[input()] = '__main__'\n",
    "by update": "vars().update(__name__='__main__')\n",
    "by its module": "import sys\n\nsys.modules[__name__].__name__ = '__main__'\n",
    "by its module under another name": "import app.core as me\n\nme.__name__ = '__main__'\n",
    "by setattr": "import app.core as me\n\nsetattr(me, '__na' + 'me__', '__main__')\n",
    "by a dictionary": "import app.core as me\n\nme.__dict__ |= {'__name__': '__main__'}\n",
}


@pytest.mark.parametrize("how", SETTING_NAME)
def test_code_under_a_main_guard_that_is_true_at_import_is_refused(how: str) -> None:
    refused(Deed(how, SUM, SETTING_NAME[how] + "\n\n" + GUARDED, "runs code from text"))
    refused(Deed(f"{how}-was-there", SETTING_NAME[how] + SUM, SETTING_NAME[how] + "\n\n" + GUARDED, "from text"))


def test_a_function_under_a_main_guard_is_a_function() -> None:
    guarded = "if __name__ == '__main__':\n\n    def f(x):\n        exec(x)\n"
    refused(Deed("function", SUM, f"{GOOD}\n\n{guarded}", "runs code from text"))


PASSED_AROUND = ("[x for x in xs\n if os]", "[x for x\n in os]", "sorted(\n os)")


@pytest.mark.parametrize("value", every(2, PASSED_AROUND))
def test_a_module_that_is_passed_around_is_found_on_its_line(value: str) -> None:
    """In a comprehension, its line was 0: under a main guard it was refused, in a file that did not parse admitted."""
    refused(Deed("line", SUM, f"import os\n\n\ndef total(xs):\n    return {value}\n", "around: app/core.py:6"))
    passed(Deed("guarded", SUM, f"import os\n\nxs = ()\n{GOOD}\n\nif __name__ == '__main__':\n    print({value})\n"))
    after = f"import os\n\n\ndef f(xs):\n    a = {value}\n    return a\n"
    refused(Deed("unparsed", "def f(:\n    return a\n", after, "passes os around"))


@pytest.mark.parametrize("deed", ESCAPES, ids=str)
def test_escape_is_refused(deed: Deed) -> None:
    refused(deed)
