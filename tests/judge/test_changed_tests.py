"""Additions to test files are told from changes, also from additions that act on old tests."""

from __future__ import annotations

import pytest

from coderefine.judge import changed_tests

CASES = """\
import pytest
from app.core import total

ALLOWED = [1, 2]
ROWS = [([1], 1), ([2], 2)]
BY_NAME = {"one": [([1], 1)]}


def test_one():
    assert total([1]) == 1
    want = [1, 2]
    assert total([1, 1]) in want


def test_allowed():
    assert total([1]) in ALLOWED


@pytest.mark.parametrize("xs, want", [([1], [1]), ([2], [2])])
def test_table(xs, want):
    assert sorted(xs) == want


@pytest.mark.parametrize("xs, want", ROWS)
def test_rows(xs, want):
    assert total(xs) == want


@pytest.mark.parametrize("at", range(len(BY_NAME["one"])))
def test_by_name(at):
    xs, want = BY_NAME["one"][at]
    assert total(xs) == want


def test_app(app):
    for xs in [[1], [2]]:
        assert app(xs) == sum(xs)


class TestTotal(TestCase):
    def test_list(self):
        self.assertEqual(list(total([1])), [1])
"""
HONEST = {
    "a test": CASES + "\n\ndef test_two():\n    assert total([2]) == 2\n",
    "an assertion": CASES.replace("    want =", "    assert total([]) == 0\n    want ="),
    "a local name": CASES.replace("    want =", "    got = total([])\n    assert got == 0\n    want ="),
    "a row": CASES.replace("([2], [2])]", "([2], [2]), ([3], [3])]"),
    "a row of a named table": CASES.replace("([2], 2)]", "([2], 2), ([3], 3)]"),
    "a row of a table in a dictionary": CASES.replace("[([1], 1)]}", "[([1], 1), ([2], 2)]}"),
    "a round of a loop": CASES.replace("[[1], [2]]", "[[1], [2], [3]]"),
    "a fixture": CASES + "\n\n@pytest.fixture\ndef numbers():\n    return [1]\n",
    "an import": CASES.replace("import pytest\n", "import pytest\nimport os\n"),
    "a missing import": CASES + "\n\nfrom unittest import TestCase\n",
    "a function called patch": CASES + "\n\ndef patch(x):\n    return x\n\n\nFIRST = patch(1)\n",
    "an optional import": CASES + "\n\ntry:\n    import numpy\nexcept ImportError:\n    numpy = None\n",
    "a preparation": CASES + "\n    def setUp(self):\n        super().setUp()\n        self.numbers = [1]\n",
    "an environment variable": CASES + "\n\nos.environ['TZ'] = 'UTC'\n",
    "a main guard": CASES + "\n\nif __name__ == '__main__':\n    unittest.main()\n",
    "a loop with a name of its own": CASES + "\n\nfor one in ROWS:\n    assert one\n",
    "a global name of its own": CASES + "\n\nSEEN = 0\n\n\ndef test_two():\n    global SEEN\n    SEEN = 1\n",
    "a mark without effect": CASES + "\n\npytestmark = pytest.mark.slow\n",
    "a named fixture": CASES + "\n\n@pytest.fixture(name='numbers')\ndef other():\n    return [1]\n",
    "a request": CASES.replace("    want =", "    assert client.patch('/one').status == 200\n    want ="),
}
CHANGED = {
    "a longer list of allowed answers": (CASES.replace("ALLOWED = [1, 2]", "ALLOWED = [1, 2, 9]"), "ALLOWED"),
    "a longer local list": (CASES.replace("want = [1, 2]", "want = [1, 2, 9]"), "test_one"),
    "a longer expected list": (CASES.replace("total([1])), [1]", "total([1])), [1, 9]"), "TestTotal::test_list"),
    "a longer list in a row": (CASES.replace("([2], [2])", "([2], [2, 9])"), "test_table"),
    "another binding under if": (CASES + "\n\nif True:\n    def test_one():\n        pass\n", "test_one"),
    "another binding in a tuple": (CASES + "\n\ntest_one, x = print, 1\n", "test_one"),
    "another binding by a loop": (CASES + "\n\nfor test_one in [print]:\n    pass\n", "test_one"),
    "another binding by with": (CASES + "\n\nwith fake() as test_one:\n    pass\n", "test_one"),
    "another binding by :=": (CASES + "\n\n(test_one := print)\n", "test_one"),
    "another binding by := in an assignment": (CASES + "\n\nx = (test_one := print)\n", "test_one"),
    "another binding by match": (CASES + "\n\nmatch print:\n    case test_one:\n        pass\n", "test_one"),
    "another binding by except": (
        CASES + "\n\ntry:\n    x = fake()\nexcept OSError as test_one:\n    pass\n",
        "test_one",
    ),
    "no binding": (CASES + "\n\ndel test_one\n", "test_one"),
    "another binding by global": (CASES + "\n\ndef test_two():\n    global total\n    total = sum\n", "total"),
    "a replaced function": (
        CASES.replace("    want =", "    with pytest.raises(KeyError):\n        app.total = sum\n    want ="),
        "test_one",
    ),
    "a replaced name": (CASES.replace("    want =", "    x = setattr(app, 'total', sum)\n    want ="), "test_one"),
}
ACTING = {
    "a replaced function": "\nimport app\napp.total = sum\n",
    "setattr": "\nimport app\nsetattr(app, 'total', sum)\n",
    "a mock": "\nfrom unittest.mock import patch\npatch('app.core.total', sum).start()\n",
    "a replaced method": "\nTestTotal.test_list = print\n",
    "globals": "\nglobals()['test_one'] = print\n",
    "an automatic fixture": "\n@pytest.fixture(autouse=True)\ndef fix():\n    app.total = sum\n",
    "a preparation": "\ndef setup_module():\n    patch('app.core.total', sum).start()\n",
    "a preparation of a class": "\n    def setUp(self):\n        app.total = sum\n",
    "an assertion method": "\n    def assertEqual(self, *_):\n        pass\n",
    "a built-in function": "\ndef sorted(xs):\n    return xs\n",
    "a fixture of the same name": "\n@pytest.fixture\ndef app():\n    return sum\n",
    "a fixture with the same name": "\n@pytest.fixture(name='app')\ndef other():\n    return sum\n",
    "a fixture of the same name, by a call": "\napp = pytest.fixture(lambda: sum)\n",
    "ignored warnings": "\npytestmark = pytest.mark.filterwarnings('ignore')\n",
    "tests that run again": "\npytestmark = [pytest.mark.flaky(reruns=9)]\n",
    "all names of a module": "\nfrom app.fake import *\n",
    "a hook": "\ndef pytest_generate_tests(metafunc):\n    pass\n",
    "a fixture for all": "\npytestmark = pytest.mark.usefixtures('fix')\n",
}


def found(after: str, path: str = "tests/test_core.py", before: str = CASES) -> list[str]:
    return list(changed_tests(path, before.encode(), after.encode()))


@pytest.mark.parametrize("how", HONEST)
def test_addition_is_no_change(how: str) -> None:
    assert not found(HONEST[how])


@pytest.mark.parametrize("how", CHANGED)
def test_change_is_found(how: str) -> None:
    after, name = CHANGED[how]
    assert found(after) == [f"tests/test_core.py::{name} is changed, not only added to"]


@pytest.mark.parametrize("how", ACTING)
def test_addition_that_acts_on_old_tests_is_found(how: str) -> None:
    (text,) = found(CASES + ACTING[how])
    assert text.endswith("which acts on old tests")


NEW_FILES = {
    "an assigned function": "import helpers\n\nhelpers.check = print\n",
    "an assigned function in a class": "import helpers\n\n\nclass TestA:\n    helpers.check = print\n",
    "a function that is called": "import helpers\n\n\ndef go():\n    helpers.check = print\n\n\ngo()\n",
    "a decorator": "import helpers\n\n\ndef go(f):\n    helpers.check = f\n\n\n@go(1)\ndef test_a():\n    pass\n",
    "a mock by another name": (
        "from unittest.mock import patch as _replace\n\n_replace('helpers.check', print).__enter__()\n"
    ),
    "a mock by another name, kept": (
        "from unittest.mock import patch as _replace\n\nkept = _replace('helpers.check', print).start()\n"
    ),
    "a mock of another module": "import unittest.mock as m\n\nkept = m.patch('helpers.check', print).start()\n",
    "the names of a module": "import helpers\n\nhelpers.__dict__.update(check=print)\n",
    "the names of a module, kept": "import helpers\n\nkept = vars(helpers).update(check=print)\n",
    "a call of any effect": "import helpers\n\nhelpers.switch_off()\n",
    "a call of any effect, named like a method of the file": (
        "import helpers\n\n\nclass A:\n    def switch_off(self):\n        pass\n\n\nhelpers.switch_off()\n"
    ),
    "a function that calls another": (
        "import helpers\n\n\ndef put(m):\n    m.check = print\n\n\ndef go():\n    put(helpers)\n\n\ngo()\n"
    ),
    "a parameter called self": "import helpers\n\n\ndef put(self):\n    self.check = print\n\n\nX = put(helpers)\n",
    "a name called self": "import helpers as self\n\nself.check = print\n",
    "a function that is defined twice": (
        "import helpers\n\n\ndef go():\n    helpers.check = print\n\n\ngo()\n\n\ndef go():\n    pass\n"
    ),
    "a class": (
        "import helpers\n\n\nclass Setup:\n    def __init__(self, m):\n        m.check = print\n\n\n"
        "S = Setup(helpers)\n"
    ),
    "a class that inherits": (
        "import helpers\n\n\nclass Base:\n    def __enter__(self):\n        helpers.check = print\n\n\n"
        "class Setup(Base):\n    pass\n\n\nwith Setup() as s:\n    pass\n"
    ),
    "a method": (
        "import helpers\n\n\nclass Setup:\n    def go(self):\n        helpers.check = print\n\n\nx = Setup().go()\n"
    ),
    "a name with two values": (
        "import helpers\n\n\ndef go():\n    m = {}\n    m = helpers\n    m.check = print\n\n\nX = go()\n"
    ),
    "an item of its own object": (
        "import helpers\n\n\ndef go():\n    m = {'a': helpers}\n    m['a'].check = print\n\n\nX = go()\n"
    ),
    "a keyword argument": ("import helpers\n\n\ndef go(**of):\n    of['m'].check = print\n\n\nX = go(m=helpers)\n"),
    "an attribute of an instance": (
        "import helpers\n\n\nclass Setup:\n    def __init__(self):\n        self.m = []\n        self.m = helpers\n"
        "        self.m.check = print\n\n\nS = Setup()\n"
    ),
}
HARMLESS = {
    "a test": "from app import total\n\n\ndef test_a():\n    assert total([1]) == 1\n",
    "its own table": "ROWS = {}\nROWS['a'] = 1\nROWS.update(b=2)\n",
    "its own object": "from flask import Flask\n\napp = Flask('a')\napp.config['TESTING'] = True\n",
    "its own function": "def go():\n    return 1\n\n\ngo()\nX = go()\n",
    "its own case, filled": (
        "import pytest\n\n\ndef case(**kw):\n    base = {'a': 1, 'c': {'d': 2}}\n    base['b'] = 2\n"
        "    base['c']['d'] = kw\n    kw['e'] = 3\n    return base\n\n\n@pytest.mark.parametrize('c', [case(a=1)])\n"
        "def test_a(c):\n    assert c\n"
    ),
    "its own list, filled": "def add(a):\n    out = [0] * 3\n    out[1] = a\n    return out\n\n\nEXPECTED = add(3)\n",
    "its own array": (
        "import numpy as np\n\n\ndef grid():\n    g = np.zeros((2, 2))\n    g[0, 0] = 1\n    return g\n\n\n"
        "GRID = grid()\n"
    ),
    "its own instance": (
        "from app import User\n\n\ndef user():\n    u = User()\n    u.name = 'x'\n    return u\n\n\nUSER = user()\n"
    ),
    "its own copy": (
        "import copy\n\nBASE = {}\n\n\ndef case():\n    one = copy.deepcopy(BASE)\n    one['a'] = 1\n    return one\n"
        "\n\nONE = case()\n"
    ),
    "its own class": (
        "from app import Session\n\n\nclass Fake:\n    def __init__(self):\n        self.calls = []\n"
        "        self.session = Session()\n        self.session.verify = False\n\n\nFAKE = Fake()\n"
    ),
    "a class inside a function": (
        "def fake():\n    class Fake:\n        def __init__(self):\n            self.calls = 0\n\n"
        "    return Fake()\n\n\nFAKE = fake()\n"
    ),
    "its own table, filled by a function": (
        "TABLE = {}\n\n\ndef known(name):\n    TABLE[name] = 1\n    return name\n\n\nONE = known('a')\n"
    ),
    "a helper that changes what a test gives it": (
        "def rename(user):\n    user.name = 'x'\n\n\ndef test_a(user):\n    rename(user)\n"
    ),
    "assigned results": "from app import make\n\nclient = make()\n",
    "usual calls": "import pytest\nimport sys\n\nsys.path.insert(0, '.')\npytest.importorskip('numpy')\n",
    "settings of tools": (
        "import faulthandler, locale, os, random, sys, time\nfrom hypothesis import settings\n\n"
        "settings.register_profile('ci', deadline=None)\nfaulthandler.enable()\nos.environ['TZ'] = 'UTC'\n"
        "time.tzset()\nlocale.setlocale(locale.LC_ALL, 'C')\nsys.dont_write_bytecode = True\nCASES = [1, 2]\n"
        "random.Random(3).shuffle(CASES)\n"
    ),
    "settings of the program": (
        "from app import app, fake, get_db\n\napp.config['TESTING'] = True\napp.dependency_overrides[get_db] = fake\n"
    ),
    "a mock for decorators": "from unittest.mock import patch\n\nclock = patch('time.time', return_value=1)\n",
    "replaced inside a test": (
        "import app\nfrom unittest.mock import patch\n\n\ndef test_a():\n    with patch('app.total'):\n"
        "        app.limit = 3\n"
    ),
    "a main guard": "import unittest\n\nif __name__ == '__main__':\n    unittest.main()\n",
}
DATA = {
    "cases.json": ("[[1, 2], [2, 4]]", "[[1, 2], [2, 4], [3, 6]]", "[[2, 4]]"),
    "named.json": ('{"double": [1, 2]}', '{"half": [], "double": [1, 2, 3]}', '{"double": []}'),
    "deep.json": ('[{"in": [1], "out": [2]}]', '[{"in": [1], "out": [2]}, 3]', '[{"in": [1], "out": [2, 3]}]'),
    "rows.csv": ("a,b\n1,2\n", "a,b\n1,2\n3,4\n", "a,b\n"),
    "tables.md": ("one\ntwo\n", "one\ntwo\nthree\n", "one\n"),
    "README.md": (">>> 1\n1\n", "Examples, in other words:\n\n>>> 1\n1\n\n>>> 2\n2\n", ">>> 1\n2\n"),
    "authors.json": ('["a", "b"]', '["a", "b", "c"]', '["a"]'),
    "deepest.json": ("[" * 9999 + "]" * 9999, "[" * 9999 + "]" * 9999 + "\n[]", "[]"),
    "broken.json": ("[1,\n2", "[1,\n2,\n3\n2", "[]"),
}


@pytest.mark.parametrize("path", ["tests/test_new.py", "tests/conftest.py"])
@pytest.mark.parametrize("how", NEW_FILES)
def test_statements_of_a_new_file_that_act_on_other_tests_are_found(how: str, path: str) -> None:
    """A helper was neutered by a new test file or a conftest.py, beside a right repair."""
    assert found(NEW_FILES[how], path, "")[0].endswith(
        "which acts on every test" if "conftest" in path else "which acts on other tests"
    )


@pytest.mark.parametrize("how", HARMLESS)
def test_a_new_file_of_tests_acts_on_no_other_test(how: str) -> None:
    assert not found(HARMLESS[how], "tests/test_new.py", "")


def test_cases_that_are_emptied_by_a_call_are_found() -> None:
    assert found(CASES + "\nROWS.clear()\n") == ["tests/test_core.py adds 'ROWS.clear()', which acts on old tests"]


@pytest.mark.parametrize("name", DATA)
def test_data_of_tests_may_grow_but_not_change(name: str) -> None:
    """Cases were removed from a data file, and nothing was said."""
    path = f"tests/{name}"
    before, more, other = DATA[name]
    assert not found(more, path, before)
    assert found(other, path, before) == [f"{path} is changed, not only added to"]
    assert list(changed_tests(path, before.encode(), None)) == [f"{path} is deleted"]


def test_a_readme_among_the_tests_may_change() -> None:
    assert not found("Tests, and how to run them.\n", "tests/README.md", "Tests.\n")
