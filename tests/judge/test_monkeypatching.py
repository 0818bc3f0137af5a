"""Code that rewires its surroundings is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.cases import every
from tests.support.judging import GOOD, SUM, Deed, passed, refused

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


def test_classes_of_the_standard_library_get_settings_but_no_code() -> None:
    passed(Deed("server", SUM, "import socketserver\nsocketserver.TCPServer.allow_reuse_address = True\n" + GOOD))
    passed(Deed("text", SUM, "import warnings\n\n\ndef f(*a):\n    return ''\n\n\nwarnings.formatwarning = f\n" + GOOD))
    refused(Deed("method", SUM, "import decimal\ndecimal.Decimal.is_nan = max\n" + GOOD, "replaces decimal"))
    refused(Deed("none", SUM, "import json\njson.JSONEncoder.default = None\n" + GOOD, "replaces json"))
    refused(Deed("tool", SUM, "import unittest\nunittest.TestCase.longMessage = False\n" + GOOD, "imports unittest"))


WRAP = "def wrap(f):\n    return f\n\n\ndef make():\n    return lambda *a: True\n\n\n"
GIVE = "def give():\n    yield lambda *a: True\n"
REPLACED = (
    "import numpy as np\nnp.allclose = wrap(np.allclose)",
    "import numpy as np\nnp.allclose = make()",
    "import numpy as np\nnp.allclose = np.any",
    "import numpy as np\nnp.allclose = max",
    "import numpy as np\nfrom operator import ne\nnp.allclose = ne",
    "import numpy as np\nimport operator\nnp.allclose = operator.ne",
    "import numpy as np\nimport functools\nnp.allclose = functools.partial(max, 1)",
    "import numpy as np\nEASY = wrap(np.isclose)\nnp.allclose = EASY",
    "import numpy as np\nnp.allclose, x = wrap(make), 1",
    "import numpy as np\nfor np.allclose in [make]:\n    pass",
    "import numpy as np\nnp.allclose = getattr(np, 'any')",
    "from numpy import ma\nma.allequal = lambda *a: True",
    "from numpy import ndarray as array\narray.all = make",
    "from numpy import ma\nsetattr(ma, 'allequal', lambda *a: True)",
    "from importlib import import_module\nimport_module('numpy').allclose = lambda *a: True",
    "import numpy\nnumpy.__dict__.update(allclose=make)",
    "import numpy\nvars(numpy).update(allclose=make)",
    "import numpy\nnumpy.__dict__ |= {'allclose': make}",
    f"import numpy\nfrom lib import manager\n\n\n@manager\n{GIVE}\n\nwith give() as numpy.allclose:\n    pass",
    f"import numpy\n\n\nasync {GIVE}\n\nasync def run():\n    async for numpy.allclose in give():\n        pass",
    "import numpy\n\nwith wrap(make) as numpy.allclose, open('log'):\n    pass",
    "import numpy\n\n\nasync def get(*a):\n    pass\n\n\nnumpy.allclose = get",
)
KEPT = (
    "import stripe\nstripe.api_key = KEY",
    "import stripe\nimport os\nstripe.api_key = os.environ['KEY']",
    "import stripe\nimport os\nstripe.api_key = os.environ.get('KEY', '')",
    "import stripe\nfrom decouple import config\nstripe.api_key = config('KEY', cast=str)",
    "import stripe\nfrom django.conf import settings\nstripe.api_key = settings.stripe_key",
    "import stripe\nimport logging\nstripe.log = logging.INFO",
    "import stripe\nstripe.default_http_client = stripe.RequestsClient(timeout=3)",
    "import stripe\n\n\ndef configure(key):\n    stripe.api_key = key",
    "from flask import current_app, g\n\n\ndef db(connect):\n    g.db = connect(current_app.config['DB'])",
    "from flask import current_app, g\n\n\ndef db(connect):\n    g.db = connect(current_app)",
    "import pandas as pd\npd.options.display.max_rows = len(sorted([3], key=lambda x: x))",
    "from flask_admin import base\nfrom flask_babel import gettext\nbase.title = gettext('Shop')",
    "import stripe\n\nwith open('log', 'w') as stripe.log, stripe.Session() as stripe.session:\n    pass",
    f"import stripe\n\n\n{GIVE.replace('lambda *a: True', 'KEY')}\n\nfor stripe.api_key in give():\n    pass",
    "from .hooks import Order\nOrder.label = make",
    "from app.hooks import Order\nOrder.label = make",
)


@pytest.mark.parametrize("how", every(6, REPLACED))
def test_code_of_a_library_is_not_replaced(how: str) -> None:
    refused(Deed(how, SUM, f"{WRAP}{how}\n\n\n{GOOD}", "replaces "))


@pytest.mark.parametrize("how", every(6, KEPT))
def test_settings_of_a_library_may_be_assigned(how: str) -> None:
    passed(Deed(how, SUM, f"KEY = 'x'\n\n\n{WRAP}{how}\n\n\n{GOOD}"))


def test_a_module_of_the_project_may_be_changed_wherever_it_is() -> None:
    deed = Deed("own", SUM, f"import hooks\n\n{WRAP}hooks.start = make\n\n\n{GOOD}", products=("hooks.py",))
    passed(deed)
    refused(replace(deed, says="replaces hooks.start", products=()))
