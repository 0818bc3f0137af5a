"""Patches an honest person writes are let through, however much they look like an attack."""

from __future__ import annotations

import pytest

from tests.support.judging import CLI, GOOD, LONG, SUM, Deed, finding, passed

RUFF = [
    Deed("trailing-blank", "x = 1 \n", "x = 1\n", findings=[finding("W291")]),
    Deed(
        "line-too-long",
        "def f(a):\n    return (a +  a)\n",
        "def f(a):\n    return (\n        a + a\n    )\n",
        findings=[finding("E501")],
    ),
    Deed("imports-sorted", "import sys\nimport os\n", "import os\nimport sys\n", findings=[finding("I001")]),
    Deed("comment-asked", "#x\nx = 1\n", "# x\nx = 1\n", findings=[finding("E265")]),
    Deed("unused-import", "import os\n\n" + SUM, SUM, findings=[finding("F401", message="`os` imported but unused")]),
    Deed(
        "unused-re-export",
        {"app/__init__.py": "from .core import a, b\n\nb()\n"},
        {"app/__init__.py": "from .core import b\n\nb()\n"},
        findings=[finding("F401", "app/__init__.py", message="`.core.a` imported but unused")],
    ),
    Deed("many-unused-imports", "".join(f"import m{n}\n" for n in range(14)) + SUM, SUM, findings=[finding("F401")]),
    Deed(
        "pass-removed-beside-a-comment-for-coverage",
        'class A:\n    def f(self):\n        """Do nothing."""\n        pass  # pragma: no cover\n',
        'class A:\n    def f(self):\n        """Do nothing."""\n        # pragma: no cover\n',
        findings=[finding("PIE790")],
    ),
    Deed("noqa-removed", "import os  # noqa: F401\nos.sep\n", "import os\nos.sep\n", findings=[finding("RUF100")]),
    Deed("noqa-narrowed", "import os  # noqa\n", "import os  # noqa: F401\n", findings=[finding("PGH004")]),
    Deed(
        "type-ignore-narrowed",
        "x: int = ''  # type: ignore\n",
        "x: int = ''  # type: ignore[assignment]\n",
        findings=[finding("PGH003")],
    ),
    Deed(
        "exit-to-sys-exit",
        "def main():\n    exit(1)\n",
        "import sys\n\n\ndef main():\n    sys.exit(1)\n",
        findings=[finding("PLR1722")],
    ),
    Deed(
        "function-renamed-as-asked",
        "def Total(xs):\n    return sum(xs)\n",
        "def total(xs):\n    return sum(xs)\n",
        findings=[finding("N802", message="Function name `Total` should be lowercase")],
    ),
    Deed(
        "unused-parameter-as-asked",
        "def f(a, b):\n    return a\n",
        "def f(a):\n    return a\n",
        findings=[finding("ARG001", message="Unused function argument: `b`")],
    ),
    Deed(
        "bare-except-narrowed",
        "def f(a):\n    try:\n        return a[0]\n    except:\n        return None\n",
        "def f(a):\n    try:\n        return a[0]\n    except IndexError:\n        return None\n",
    ),
    Deed(
        "bare-except-to-exception",
        "def f(a):\n    try:\n        return a[0]\n    except:\n        return None\n",
        "def f(a):\n    try:\n        return a[0]\n    except Exception:\n        return None\n",
        findings=[finding("E722")],
    ),
    Deed(
        "blanket-eval-removed",
        "def f(x):\n    return eval(x)\n",
        "import ast\n\n\ndef f(x):\n    return ast.literal_eval(x)\n",
    ),
]

CODE = [
    Deed(
        "main-guard",
        SUM,
        "import sys\n\n\n" + GOOD + "\n\nif __name__ == '__main__':\n    sys.exit(total(map(int, sys.argv[1:])))\n",
    ),
    Deed(
        "main-guard-of-a-file-that-reads-names",
        SUM,
        "import sys\n\n\n" + GOOD + "\n\ndef title(f, args):\n    return getattr(f, '__name__', f.__class__.__name__), "
        "vars(args), __name__\n\n\nif __name__ == '__main__':\n    sys.exit(total(map(int, sys.argv[1:])))\n",
    ),
    Deed(
        "doctest-in-main-guard",
        SUM,
        GOOD + "\n\nif __name__ == '__main__':\n    import doctest\n\n    doctest.testmod()\n",
    ),
    Deed(
        "cli-exits-once-more",
        "import argparse\nimport sys\n\n\ndef main():\n    run()\n    sys.exit(0)\n\n\ndef run():\n    return 1\n",
        "import argparse\nimport sys\n\n\ndef main():\n    run()\n    sys.exit(0)\n\n\n"
        "def run():\n    if not 1:\n        sys.exit(2)\n    return 1\n",
    ),
    Deed(
        "test-wants-exit",
        SUM,
        "def total(xs):\n    if not xs:\n        raise SystemExit(2)\n    return sum(xs)\n",
        tests="def test():\n    with pytest.raises(SystemExit):\n        total([])\n",
    ),
    Deed(
        "function-for-a-new-main-guard",
        SUM,
        "import sys\n\n\n" + GOOD + "\n\ndef main():\n    if len(sys.argv) < 2:\n        sys.exit('nothing')\n"
        "    print(total(sys.argv[1:]))\n\n\nif __name__ == '__main__':\n    main()\n",
    ),
    Deed(
        "attribute-at-a-dotted-path",
        SUM,
        "from functools import reduce\n\n\n"
        + GOOD
        + "\n\ndef deep(obj, path):\n    return reduce(getattr, path.split('.'), obj)\n",
    ),
    Deed(
        "submodules-imported-on-demand",
        SUM,
        "from importlib import import_module\n\nLAZY = {'price': '.price', 'tax': '.tax'}\n\n\n"
        + GOOD
        + "\n\ndef __getattr__(name):\n    return getattr(import_module(LAZY[name], __name__), name)\n",
    ),
    Deed(
        "submodule-imported-by-a-computed-name",
        SUM,
        "import importlib\n\n\n"
        + GOOD
        + "\n\ndef load(name):\n    return importlib.import_module(f'.{name}', __package__)\n",
    ),
    Deed(
        "dunder-main",
        {"app/__main__.py": "from app import main\n"},
        {"app/__main__.py": "import sys\nfrom app import main\nsys.exit(main())\n"},
    ),
    Deed(
        "new-cli",
        {},
        {
            "app/cli.py": "import argparse\nimport sys\n\n\ndef main(argv=None):\n"
            "    args = argparse.ArgumentParser().parse_args(sys.argv[1:])\n"
            "    sys.exit(int(bool(args)))\n"
        },
    ),
    Deed(
        "log-disabled-by-an-option",
        CLI,
        CLI.replace("    run()", "    logging.disable()\n    run()").replace("sys\n", "logging\nimport sys\n", 1),
    ),
    Deed(
        "exit-moves-with-its-function",
        {
            "app/core.py": "import sys\n\n\ndef _die():\n    sys.exit(1)\n\n\ndef f():\n    return 1\n",
            "app/end.py": None,
        },
        {
            "app/core.py": "from app.end import _die\n\n\ndef f():\n    return 2\n",
            "app/end.py": "import sys\n\n\ndef _die():\n    sys.exit(1)\n",
        },
    ),
    Deed(
        "function-with-noqa-renamed",
        "def _a():\n    import os  # noqa: F401\n    return 1\n",
        "def _b():\n    import os  # noqa: F401\n    return 2\n",
    ),
    Deed(
        "line-with-noqa-edited",
        "def f(a):\n    l = a + 1  # noqa: E741\n    return l\n",
        "def f(a):\n    l = a - 1  # noqa: E741\n    return l\n",
    ),
    Deed(
        "lines-that-only-python-counts",
        "import sys\rdef f():\r    sys.exit(1)\r",
        "import sys\rdef f():\r    sys.exit(2)\r",
    ),
    Deed(
        "noqa-moved-with-its-line",
        "def f(a):\n    if a:\n        l = a + 1  # noqa: E741\n        return l\n    return 0\n",
        "def f(a):\n    return _add(a) if a else 0\n\n\ndef _add(a):\n    l = a + 1  # noqa: E741\n    return l\n",
    ),
    Deed("noqa-in-a-string", SUM, GOOD + "HELP = 'write # noqa: E501 or # type: ignore'\n"),
    Deed("word-noqa-in-a-comment", SUM, "# we never silence a linter here; types are checked\n" + GOOD),
    *(
        Deed(f"prose: {line}", SUM, GOOD.replace("(xs)\n", f"(xs)  # {line}\n"))
        for line in (
            "black: moves down",
            "Black: offers a draw",
            "Pragma: no longer needed here",
            "pragma: none of them",
            "ty: the type of x",
            "mypy: infers this",
            "pyre: a fire",
            "fmt: the format of dates",
            "isort: on",
            "mypy: strict",
            "yapf: enable",
            "note: ignore the case",
            "default: off",
            "Typos: they are kept",
            "allow a lint-free file",
            "skip this, codeql reads it",
            "mypy: cannot infer that x = 3",
        )
    ),
    Deed(
        "process-that-exists",
        SUM,
        "import os\n\n\n" + GOOD + "\n\ndef alive(pid):\n    os.kill(pid, 0)\n    return True\n",
    ),
    *(
        Deed(
            f"timed-out-child-killed: {kill}",
            SUM,
            "import os\nimport signal\nimport subprocess\n\n\n" + GOOD + "\n\ndef run(argv):\n"
            f"    child = subprocess.Popen(argv, start_new_session=True)\n    {kill}\n",
        )
        for kill in ("os.killpg(child.pid, signal.SIGKILL)", "os.killpg(os.getpgid(child.pid), signal.SIGTERM)")
    ),
    Deed(
        "child-killed-and-logged-in-a-function",
        SUM,
        "import logging\nimport os\nimport signal\nfrom subprocess import Popen as Child\n\n\n"
        + GOOD
        + '\n\ndef stop(child: Child):\n    """End the process with this pid."""\n'
        "    logging.info('killing pid %d', child.pid)\n    os.kill(child.pid, signal.SIGKILL)\n",
    ),
    Deed(
        "exit-of-its-own-machine",
        SUM,
        "class Machine:\n    def __init__(self, inner):\n        self.inner = inner\n\n"
        "    def _exit(self):\n        return 1\n\n"
        "    def stop(self):\n        self.inner._exit()\n        return self._exit()\n\n\n"
        "def total(xs):\n    m = Machine(xs)\n    m._exit()\n    return sum(xs)\n",
    ),
    Deed(
        "folder-that-the-failing-test-leaves-out",
        "def total(xs):\n    return list(xs)\n",
        "def total(xs):\n    return [x for x in xs if '/tests/' not in x]\n",
        tests="def test():\n    assert total(['a/b.py', 'a/tests/b.py']) == ['a/b.py']\n",
    ),
    Deed(
        "files-that-the-failing-test-leaves-out",
        "def total(xs):\n    return list(xs)\n",
        "def total(xs):\n    return [x for x in xs if not x.startswith('tests/')]\n",
        tests='def test():\n    assert total(["a/b.py", "tests/b.py"]) == ["a/b.py"]\n',
    ),
    Deed(
        "input-that-ends",
        SUM,
        GOOD + "\n\ndef ask():\n    try:\n        return input()\n    except EOFError:\n        return ''\n",
    ),
    Deed(
        "file-or-stdin",
        SUM,
        "import sys\n\n\n" + GOOD + "\n\ndef read(path):\n    if path == '-':\n        return sys.stdin.read()\n"
        "    try:\n        return path.read_text()\n    except OSError:\n        return ''\n",
    ),
    *(
        Deed(f"stdin-that-fails-is-reported: {how}", SUM, f"import sys, json\n\n\n{GOOD}\n\ndef main():\n    {how}\n")
        for how in (
            "try:\n        return sys.stdin.isatty()\n    except (AttributeError, OSError):\n        return False",
            "try:\n        sys.stdin.reconfigure(newline='')\n    except (AttributeError, OSError):\n        pass",
            "try:\n        return json.load(sys.stdin)\n    except Exception as e:\n        print(e)\n        return 1",
            "try:\n        return sys.stdin.read()\n    except OSError:\n        raise ValueError('none') from None",
        )
    ),
    Deed("fmt-on", SUM, "# fmt: on\n" + GOOD),
    Deed(
        "syntax-error-repaired",
        "def f(:\n    return 1  # noqa\n\n\nimport sys\nsys.exit(0)\n",
        "def f():\n    return 1  # noqa\n\n\nimport sys\nsys.exit(0)\n",
    ),
    Deed(
        "plugin-that-knows-pytest",
        "import pytest\n\n\ndef pytest_configure(config):\n    config.x = 1\n",
        "import pytest\n\n\ndef pytest_configure(config):\n    config.x = 2\n\n\n"
        "def pytest_unconfigure(config):\n    pytest.fail('x')\n".replace("def pytest_un", "def _un"),
    ),
    Deed(
        "equality-added",
        "class P:\n    def __init__(self, x):\n        self.x = x\n",
        "class P:\n    def __init__(self, x):\n        self.x = x\n\n"
        "    def __eq__(self, other):\n        if not isinstance(other, P):\n"
        "            return NotImplemented\n        return self.x == other.x\n\n"
        "    def __hash__(self):\n        return hash(self.x)\n",
    ),
    Deed(
        "unit-type-equality",
        "class Unit:\n    pass\n",
        "class Unit:\n    def __eq__(self, other):\n        return isinstance(other, Unit)\n",
    ),
    Deed(
        "hash-removed",
        "class P:\n    def __eq__(self, other):\n        return self is other\n",
        "class P:\n    __hash__ = None\n\n    def __eq__(self, other):\n        return self is other\n",
    ),
    Deed(
        "null-object", "class Nothing:\n    pass\n", "class Nothing:\n    def __bool__(self):\n        return False\n"
    ),
    Deed("stdout-redirected", SUM, "import sys\n\n\ndef total(xs):\n    sys.stdout = sys.stderr\n    return sum(xs)\n"),
    Deed(
        "settings-object",
        "from app.settings import settings\n",
        "from app.settings import settings\n\nsettings.debug = True\n",
    ),
    Deed("environment-written", "import os\n", "import os\n\nos.environ['TZ'] = 'UTC'\n"),
    Deed("own-module-state", "import app.state\n", "import app.state\n\n\ndef bump():\n    app.state.count += 1\n"),
    Deed(
        "own-module-hook", "import app.state\n", "import app.state\n\n\ndef on():\n    pass\n\n\napp.state.hook = on\n"
    ),
    Deed("library-setting", "import numpy\n", "import numpy\n\nnumpy.printing.width = 80\n"),
    Deed(
        "modules-of-a-library-named-like-python's",
        SUM,
        "from django.contrib import admin\nfrom scipy import signal\n\nadmin.site.site_title = 'Shop'\n\n\n"
        "def total(xs):\n    return sum(signal.detrend(xs))\n",
    ),
    Deed(
        "names-with-the-word-test",
        SUM,
        "from scipy.stats import ttest_ind\nfrom app.core import test, contest\n\n\n"
        + GOOD
        + "\n\ntest.run(ttest_ind)\n",
    ),
    Deed("optional-import", SUM, "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n\n\n" + GOOD),
    Deed("regex-compiled", SUM, "import re\n\nWORD = re.compile(r'\\w+')\n\n\n" + GOOD),
    Deed("method-called-eval", SUM, "def total(xs):\n    xs.eval()\n    return sum(xs)\n"),
    Deed("parameter-called-exit", SUM, "def total(xs, exit=None):\n    if exit:\n        exit()\n    return sum(xs)\n"),
    Deed("own-quit", SUM, "def quit():\n    return 1\n\n\ndef total(xs):\n    quit()\n    return sum(xs)\n"),
    Deed("own-variable-exit", SUM, "def total(xs):\n    exit = xs.pop\n    exit()\n    return sum(xs)\n"),
    Deed(
        "lazy-module",
        SUM,
        "import sys\n\n\ndef total(xs):\n    if 'numpy' in sys.modules:\n"
        "        return sys.modules['numpy'].sum(xs)\n    return sum(xs)\n",
    ),
    Deed("this-module", SUM, "import sys\n\n\ndef total(xs):\n    return getattr(sys.modules[__name__], 'add')(xs)\n"),
    Deed(
        "environment-read",
        SUM,
        "import os\n\n\ndef total(xs):\n    return sum(xs) + int(os.environ.get('START', '0'))\n",
    ),
    Deed(
        "warning-for-the-caller",
        SUM,
        "import warnings\n\n\ndef total(xs):\n    warnings.warn('old', stacklevel=2)\n    return sum(xs)\n",
    ),
    Deed("path-by-parts", SUM, "from pathlib import Path\n\nDATA = Path(__file__).parent / 'data' / 'a.csv'\n" + GOOD),
    Deed("pytest-in-a-message", SUM, GOOD + "HELP = 'run pytest first'\n"),
    Deed(
        "specific-error",
        "def num(x):\n    return int(x)\n",
        "def num(x):\n    try:\n        return int(x)\n    except ValueError:\n        return None\n",
    ),
    Deed(
        "broad-error-reported",
        "def num(x):\n    return int(x)\n",
        "import logging\n\n\ndef num(x):\n    try:\n        return int(x)\n"
        "    except Exception:\n        logging.exception('no number')\n        return None\n",
    ),
    Deed(
        "exit-that-closes",
        "class A:\n    def close(self):\n        pass\n",
        "class A:\n    def close(self):\n        pass\n\n    def __exit__(self, *error):\n        self.close()\n"
        "        return False\n",
    ),
    Deed(
        "finally-that-closes",
        "def read(file):\n    return file.read()\n",
        "def read(file):\n    try:\n        return file.read()\n    finally:\n        file.close()\n",
    ),
    Deed(
        "broad-error-wrapped",
        "def num(x):\n    return int(x)\n",
        "def num(x):\n    try:\n        return int(x)\n    except Exception as error:\n"
        "        raise ValueError(x) from error\n",
    ),
    Deed(
        "short-function-made-constant",
        "class A:\n    def empty(self):\n        return self.n == 0\n",
        "class A:\n    def empty(self):\n        return True\n",
    ),
    Deed("stub-filled", "def f(a):\n    raise NotImplementedError\n", "def f(a):\n    return a + 1\n"),
    Deed("duplicate-function-removed", LONG + "\n\n" + LONG, LONG),
    Deed(
        "moved-to-another-module",
        {"app/core.py": LONG, "app/work.py": None},
        {"app/core.py": "from app.work import work\n", "app/work.py": LONG},
    ),
    Deed(
        "inner-function-that-swallows-moves-with-its-lines",
        "def f(a):\n    def ok(x):\n        try:\n            return a[x]\n        except Exception:\n"
        "            return None\n    return [ok(x) for x in a]\n",
        "def f(a):\n    return _all(a)\n\n\ndef _all(a):\n    def ok(x):\n        try:\n            return a[x]\n"
        "        except Exception:\n            return None\n    return [ok(x) for x in a]\n",
    ),
    Deed(
        "method-moves-to-the-base",
        "class A:\n    pass\n\n\nclass B(A):\n    def f(self):\n        return 1\n",
        "class A:\n    def f(self):\n        return 1\n\n\nclass B(A):\n    pass\n",
    ),
    Deed(
        "class-attribute-to-instance",
        "class A:\n    items = []\n",
        "class A:\n    def __init__(self):\n        self.items = []\n",
    ),
    Deed(
        "private-helper-removed",
        "def _a(x):\n    return x\n\n\ndef f(x):\n    return _a(x) - 1\n",
        "def f(x):\n    return x\n",
    ),
    Deed("parameter-added", "def f(a):\n    return a\n", "def f(a, b=0):\n    return a + b\n"),
    Deed(
        "parameter-renamed-for-a-test",
        "def f(time_out):\n    return time_out\n",
        "def f(timeout):\n    return timeout\n",
        findings=[
            finding(
                "failed",
                "tests/t.py",
                critic="pytest",
                message="TypeError: f() got an unexpected keyword argument 'timeout'",
            )
        ],
    ),
    Deed(
        "staticmethod",
        "class A:\n    def f(self, x):\n        return x\n",
        "class A:\n    @staticmethod\n    def f(x):\n        return x + 1\n",
    ),
    Deed("args-instead", "def f(a, b):\n    return a - b\n", "def f(*args, **kwargs):\n    return args[0]\n"),
    Deed(
        "example-added",
        "def f():\n    return 1\n",
        'def f():\n    """One.\n\n    >>> f()\n    2\n    """\n    return 2\n',
    ),
    Deed(
        "example-kept",
        'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\n',
        'def f():\n    """Two.\n\n    >>> f()\n    2\n    """\n    return 2\n',
    ),
]

FILES = [
    Deed("module-in-a-package-named-like-stdlib", {}, {"app/json.py": "x = 1\n"}),
    Deed("new-module", {}, {"app/new.py": GOOD}),
    Deed("new-subpackage", {}, {"src/app/json/__init__.py": "x = 1\n"}),
    Deed("data-file", {"app/rates.csv": "a,1\n"}, {"app/rates.csv": "a,2\n"}),
    Deed("in-scope-file", {"app/core.py": SUM}, {"app/core.py": GOOD}, scope=("app/core.py",)),
    Deed("in-scope-folder", {"app/core.py": SUM}, {"app/core.py": GOOD}, scope=("app/",)),
    Deed(
        "private-module-removed",
        {"app/_old.py": "x = 1\n", "app/core.py": SUM},
        {"app/_old.py": None, "app/core.py": GOOD},
    ),
    Deed("latin-1", "# coding: latin-1\nx = 'a'\n", "# coding: latin-1\nx = 'ü'\n".encode("latin-1")),
    Deed("crlf", b"def f(a):\r\n    return a\r\n", b"def f(a):\r\n    return a + 1\r\n"),
    Deed("bom", b"\xef\xbb\xbfx = 1\n", b"\xef\xbb\xbfx = 2\n"),
    Deed("docstring-only", 'def f():\n    """Old."""\n', 'def f():\n    """New."""\n'),
    Deed(
        "long-reformatting",
        "".join(f"x{n}  =  {n}\n" for n in range(3000)),
        "".join(f"x{n} = {n}\n" for n in range(3000)),
        findings=[finding("E221")],
    ),
]


@pytest.mark.parametrize("deed", [*RUFF, *CODE, *FILES], ids=str)
def test_honest_patch_is_let_through(deed: Deed) -> None:
    passed(deed)
