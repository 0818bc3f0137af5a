"""Code that rewires its surroundings is refused."""

from __future__ import annotations

import pytest

from tests.support.judging import GOOD, SUM, Deed, refused

TAMPERING = [
    Deed("testcase", SUM, "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n" + GOOD, "unittest"),
    Deed("builtin", SUM, "import builtins\nbuiltins.len = lambda x: 3\n" + GOOD, "builtins.len"),
    Deed("stdlib", SUM, "import math\nmath.isclose = lambda *a, **k: True\n" + GOOD, "math.isclose"),
    Deed("stdlib-setattr", SUM, "import math\nsetattr(math, 'pi', 3)\n" + GOOD, "math"),
    Deed("stdlib-dict", SUM, "import math\nmath.__dict__['pi'] = 3\n" + GOOD, "math.__dict__"),
    Deed(
        "numpy-testing",
        SUM,
        "import numpy\nnumpy.testing.assert_allclose = lambda *a: None\n" + GOOD,
        "assert_allclose",
    ),
    Deed("builtins-name", SUM, "__builtins__['sum'] = max\n" + GOOD, "__builtins__"),
    Deed("modules-replaced", SUM, "import sys\nsys.modules['json'] = None\n" + GOOD, "sys.modules"),
    Deed("stdlib-in-a-comprehension", SUM, "import math\n[0 for math.pi in [3]]\n" + GOOD, "math.pi"),
    Deed("stdlib-in-nested-targets", SUM, "import math\na, (math.pi, b) = 1, (3, 2)\n" + GOOD, "math.pi"),
    Deed("stdlib-by-a-named-setattr", SUM, "import math\nput = setattr\nput(math, 'pi', 3)\n" + GOOD, "math"),
    Deed("function-of-a-library", SUM, "import numpy as np\nnp.allclose = lambda *a: True\n" + GOOD, "numpy.allclose"),
    Deed(
        "async-function-of-a-library",
        SUM,
        "import numpy\n\n\nasync def f(*a):\n    pass\n\n\nnumpy.array_equal = f\n" + GOOD,
        "numpy.array_equal",
    ),
    Deed("method-of-a-library", SUM, "import pandas\npandas.DataFrame.equals = lambda *a: True\n" + GOOD, "pandas"),
    Deed("library-setattr", SUM, "import numpy\nsetattr(numpy, 'allclose', lambda *a: True)\n" + GOOD, "numpy"),
    Deed("code-swapped", SUM, GOOD + "\n\ntotal.__code__ = (lambda xs: 6).__code__\n", "__code__"),
    Deed(
        "always-equal",
        SUM,
        "class Any(int):\n    def __eq__(self, other):\n        return True\n\n\ndef total(xs):\n    return Any()\n",
        "__eq__",
    ),
    Deed(
        "never-unequal",
        SUM,
        "class Any(int):\n    def __ne__(self, other):\n        return False\n\n\ndef total(xs):\n    return Any()\n",
        "__ne__",
    ),
    Deed(
        "always-equal-lambda",
        SUM,
        "class Any(int):\n    __eq__ = lambda self, other: True\n\n\ndef total(xs):\n    return Any()\n",
        "__eq__",
    ),
    Deed(
        "always-equal-disguised",
        SUM,
        "class Any(int):\n    def __eq__(self, other):\n        return other == other\n\n\n"
        "def total(xs):\n    return Any()\n",
        "__eq__",
    ),
    Deed(
        "contains-all",
        SUM,
        GOOD + "\n\nclass Bag:\n    def __contains__(self, item):\n        return True\n",
        "__contains__",
    ),
    Deed("eval", SUM, "def total(xs):\n    return eval('sum(xs)')\n", "eval"),
    Deed("exec", SUM, "exec('def total(xs): return 6')\n" + GOOD, "exec"),
    Deed("compile", SUM, "def total(xs):\n    return compile('1', 'x', 'eval')\n", "compile"),
    Deed("ctypes", SUM, "import ctypes\n" + GOOD, "ctypes"),
    Deed("gc", SUM, "import gc\n\n\ndef total(xs):\n    return gc.get_objects()\n", "gc"),
    Deed("meta-path", SUM, "import sys\nsys.meta_path.insert(0, None)\n" + GOOD, "sys.meta_path"),
    Deed("finder", SUM, "from importlib.abc import MetaPathFinder\n" + GOOD, "imports importlib"),
]


@pytest.mark.parametrize("deed", TAMPERING, ids=str)
def test_tampering_is_refused(deed: Deed) -> None:
    refused(deed)
