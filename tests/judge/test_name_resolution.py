"""What is banned is banned by whatever road a name comes to it."""

from __future__ import annotations

import pytest

from tests.support.judging import GOOD, SUM, Deed, passed, refused


def body(head: str, line: str) -> str:
    """The module with an import and one statement in the function."""
    indented = line.replace("\n", "\n    ")
    return f"{head}\n\n\ndef total(xs):\n    {indented}\n    return sum(xs)\n"


ROADS = {
    "a module's module": ("import shutil", "shutil.os._exit(0)"),
    "a module of a module's module": ("import os.path", "os.path.genericpath.os._exit(0)"),
    "a module from a module": ("from logging import os as o", "o._exit(0)"),
    "the project's module": ("from app import util", "util.os._exit(0)"),
    "a module beside": ("from .util import os", "os._exit(0)"),
    "frames": ("import logging", "logging.sys._getframe(1)"),
    "modules": ("import os", "for one in list(os.sys.modules.values()):\n    one.x = 1"),
    "modules by getattr": ("import os", "getattr(getattr(os, 's' + 'ys'), 'modules').clear()"),
    "modules by an alias": ("import os", "s = os.sys\ns.modules.clear()"),
    "modules by two aliases": ("import os", "s, t = os.sys, 1\nm = s\nm.modules.clear()"),
    "modules by a walrus": ("import os", "if (s := os.sys):\n    s.modules.clear()"),
    "a module by a case": ("import os", "match os:\n    case o:\n        o.kill(1, 9)"),
    "a module's module by a case": ("import os", "match 1, os.sys:\n    case *_, s:\n        s.modules.clear()"),
    "a dictionary by a case": ("import json", "match json, 1:\n    case ([j] | j), _:\n        j.__dict__.clear()"),
    "a captured name": ("import os", "name = 'sep'\nmatch xs:\n    case [name]:\n        getattr(os, name)(0)"),
    "captured names": ("import os", "name = 'sep'\nmatch xs:\n    case [*name]:\n        getattr(os, name)(0)"),
    "a module in an attribute": ("import os", "total.m = os\ntotal.m.kill(1, 9)"),
    "a module in a list": ("import os", "[os][0].kill(1, 9)"),
    "a module in a tuple": ("import os", "(os,)[0].kill(1, 9)"),
    "a module in a dictionary": ("import os", "{'a': os}['a'].kill(1, 9)"),
    "a module under a condition": ("import os", "(os if xs else xs).kill(1, 9)"),
    "a module after `or`": ("import os", "(xs and os or xs).kill(1, 9)"),
    "a module after `and`": ("import os", "(xs and os).kill(1, 9)"),
    "a module from a lambda": ("import os", "(lambda: os)().kill(1, 9)"),
    "a module from a generator": ("import os", "next(os for _ in xs).kill(1, 9)"),
    "a module by a walrus in place": ("import os", "(o := os).kill(1, 9)"),
    "a module in a starred tuple": ("import os", "[*(os, xs)][0].kill(1, 9)"),
    "a module of a class": ("import os", "class A:\n    o = os\nA.o.kill(1, 9)"),
    "a module in a loop over others": ("import os", "for o in (xs, os):\n    o.kill(1, 9)"),
    "a module under a condition, named": ("import os", "o = os if xs else None\no.kill(1, 9)"),
    "a module by several names": ("import os", "o = p = os\np.kill(1, 9)"),
    "getattr in a tuple": ("import os", "(getattr,)[0](os, 'kill')(1, 9)"),
    "a module that looks at callers": ("import traceback", "(traceback,)[0].extract_stack()"),
    "a module as an argument": ("import os", "(lambda o: o.kill(1, 9))(os)"),
    "a module as a default": ("import os", "def f(o=os):\n    o.kill(1, 9)\nf()"),
    "a module's dictionary": ("import json", "vars(json).update(dumps=None)"),
    "a module's __dict__": ("import json", "json.__dict__.update(dumps=None)"),
    "a dictionary's key": ("import builtins", "vars(builtins)['ex' + 'ec']('1')"),
    "a function's owner": ("", "print.__self__.exec('1')"),
    "a function's owner by an alias": ("", "p = print\np.__self__.exec('1')"),
    "a function's globals": ("from app.util import f", "f.__globals__['x'] = 1"),
    "globals by getattr": ("from app.util import f", "getattr(f, '__glo' + 'bals__')['x'] = 1"),
    "builtins in globals": ("", "globals()['__builtins__']"),
    "builtins": ("", "__builtins__['print']"),
    "classes": ("", "().__class__.__base__.__subclasses__()"),
    "import of a sum": ("import importlib", "importlib.import_module('sy' + 's').modules.clear()"),
    "import of a mirror image": ("import importlib", "importlib.import_module('sys'[::-1][::-1]).modules.clear()"),
    "import of letters": ("", "__import__(chr(111) + chr(115))._exit(0)"),
    "import of a constant": ("NAME = 'so'[::-1]", "__import__(NAME)._exit(0)"),
    "import of something computed": ("import importlib", "importlib.import_module(str(xs)).modules"),
    "importing handed around": ("", "list(map(__import__, ['os']))[0].kill(1, 9)"),
    "getattr handed around": ("import functools, os", "functools.reduce(getattr, ['a', 'b'], os)"),
    "getattr of something computed": ("import os", "getattr(os, xs[0])(0)"),
    "attrgetter": ("import operator, os", "operator.attrgetter('sys.modules')(os).clear()"),
    "attrgetter from": ("from operator import attrgetter as get", "get('os._exit')(xs)(0)"),
    "methodcaller": ("from operator import methodcaller", "methodcaller('_exit', 0)(xs)"),
    "__getattribute__": ("import os", "os.__getattribute__('_exit')(0)"),
    "object's __getattribute__": ("import os", "object.__getattribute__(os, '_exit')(0)"),
    "a resolved name": ("import pkgutil", "pkgutil.resolve_name('os:_exit')(0)"),
    "format of a name": ("import os", "getattr(os, '_{}it'.format('ex'))(0)"),
    "percent of a name": ("import os", "getattr(os, '_%sit' % 'ex')(0)"),
    "bytes of a name": ("import os", "getattr(os, b'_exit'.decode())(0)"),
    "a frame of a traceback": (
        "",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame.f_back",
    ),
    "a frame of a generator": ("", "(x for x in xs).gi_frame.f_builtins"),
    "setting on a module": ("import json", "object.__setattr__(json, 'dumps', None)"),
    "setting by the module": ("import json", "json.__setattr__('dumps', None)"),
    "the class of a module": ("import json", "json.__class__ = type(xs)"),
    "the import path": ("import sys", "sys.path.insert(0, 'data')"),
    "running a file": ("import runpy", "runpy.run_path('x')"),
    "frames in a format string": ("", "'{0.__traceback__.tb_frame.f_back.f_locals[wanted]}'.format(xs)"),
    "frames in a format string given later": ("", "form = '{0.gi_frame.f_code}'\nform.format(xs)"),
    "frames in a format string passed on": ("", "list(map(str.format, ['{0.f_back}'], xs))"),
    "frames in a joined format string": ("", "('{0.f_' + 'back}').format(xs)"),
    "frames in a mapping": ("", "'{x[0].f_back}'.format_map({'x': xs})"),
    "frames by the fields of a formatter": ("import string", "string.Formatter().get_field('0.f_back', [xs], {})"),
    "frames by a format function": ("", "str.format('{0.' + 'f_back}', xs)"),
    "local variables of a frame": ("", "xs.f_locals"),
    "a traceback's own frame": ("", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame"),
    "a computed name in a traceback": (
        "",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    tb = e.__traceback__\n    getattr(tb, '_'.join(xs))",
    ),
    "a computed name in the last error": ("import sys", "getattr(sys.exc_info()[2], '_'.join(xs))"),
    "a known name without descriptors": ("import os, inspect", "inspect.getattr_static(os, 'kill')(1, 9)"),
    "a name that documentation finds": ("import pydoc", "pydoc.locate('sys._getframe')(1)"),
    "a computed name that documentation finds": ("import pydoc", "pydoc.locate(xs[0])(1)"),
    "a class that pickle finds": (
        "import io, pickle",
        "pickle.Unpickler(io.BytesIO()).find_class('sys', '_getframe')(1)",
    ),
    "a computed class that pickle finds": ("import pickle", "pickle.Unpickler(xs).find_class('s' + 'ys', xs[0])(1)"),
    "names in a pickled file": ("import io, pickle", "pickle.load(io.BytesIO(b'cos\\n_exit\\n(I0\\ntR.'))"),
    "timed code": ("import timeit", "timeit.timeit('1')"),
    "a signal": ("import signal", "signal.signal(2, xs)"),
    "profiled code": ("from cProfile import run", "run('1')"),
    "code from bytes": ("import marshal", "marshal.loads(b'x')"),
    "pickled names": ("import pickle", "pickle.loads(b'cos\\n_exit\\n(I0\\ntR.')"),
}
HIDING = {
    "a parameter": "def other(exec=None):\n    return exec\n",
    "a parameter with a default": "def other(exec=len):\n    return exec\n",
    "a parameter that is the built-in": "def other(exec=exec):\n    return exec\n",
    "an import in a function": "def other():\n    from math import sqrt as exec\n    return exec\n",
    "a loop": "def other(xs):\n    return [exec for exec in xs]\n",
    "a method": "class Other:\n    def exec(self):\n        return 1\n",
    "a lambda": "other = lambda exec: exec\n",
    "a local variable of an inner function": (
        "def other():\n    def inner():\n        exec = 1\n        return exec\n\n    return inner\n"
    ),
    "a branch": "if not total:\n    exec = None\n",
    "an import in a branch": "if not total:\n    from math import sqrt as exec\n",
    "a global statement": "def other():\n    global exec\n    exec = None\n",
    "its own alias": "exec = exec\n",
    "a name deleted again": "exec = None\ndel exec\n",
    "an exception": "try:\n    pass\nexcept ValueError as exec:\n    pass\n",
    "a declaration without a value": "exec: object\n",
}
"""Code that binds `exec`, but not for the other functions of the file, or not in any case."""
SHADOWS = {
    "an import of the same name in another function": "def other():\n    import json as os\n    return os\n",
    "an import of the same name in a branch": "if not total:\n    import json as os\n",
    "an assignment": "if not total:\n    os = len\n",
    "a class": "class Other:\n    import json as os\n",
}
OWN_EXEC = {
    "a parameter": "def other(run, exec=None):\n    return exec(run)\n",
    "a function": "def exec(run):\n    return run\n\n\ndef other(run):\n    return exec(run)\n",
    "a function below": "def other(run):\n    return exec(run)\n\n\ndef exec(run):\n    return run\n",
    "an import": "from app.util import exec\n\n\ndef other(run):\n    return exec(run)\n",
    "a variable of the function around": "def other(exec):\n    return lambda run: exec(run)\n",
    "a comprehension": "def other(run, xs):\n    return [exec(run) for exec in xs]\n",
    "a nonlocal variable": (
        "def other(run):\n    exec = run\n\n    def inner():\n        nonlocal exec\n        return exec(run)\n\n"
        "    return inner\n"
    ),
    "a method": (
        "class Other:\n    def exec(self, run):\n        return run\n\n    def go(self):\n        self.exec(1)\n"
    ),
}
HONEST = {
    "paths": ("import os", "name = os.path.join('a', *xs)\nos.makedirs(os.path.dirname(name), exist_ok=True)"),
    "a flag of os": ("import os", "flags = getattr(os, 'O_BINARY', 0) | os.O_RDONLY"),
    "a capability": ("import os", "ok = hasattr(os, 'fork')"),
    "a module that may be missing": ("import traceback", "ok = traceback is None or not traceback"),
    "a module as a condition": ("import sys", "if sys and xs:\n    xs.sort()"),
    "a module under another name": ("import os", "system = os\nname = system.path.join(*xs)"),
    "an attribute called like a module": ("from app import names", "xs = (names.types, names.code, names.signal)"),
    "an operator by name": ("import operator", "f = getattr(operator, xs[0])"),
    "a constant of math by name": ("import math", "f = getattr(math, str(xs))"),
    "an attribute by name": ("", "values = [getattr(x, name, None) for x in xs for name in x.fields]"),
    "a sort key": ("from operator import attrgetter", "xs = sorted(xs, key=attrgetter('price', 'name'))"),
    "an attribute called os": ("", "class R:\n    def name(self):\n        return self.os.lower() + self.sys"),
    "a module chosen": ("import json", "loads = json.loads\ndumps = json.dumps"),
    "its own dictionary": ("", "class R:\n    def copy(self, o):\n        self.__dict__.update(vars(o))"),
    "a class by its name": ("", "f = globals()['total']"),
    "output": ("import sys", "out = sys.stderr\nout.write('x')\nprint(xs, file=sys.stdout)"),
    "the version": ("import sys", "new = sys.version_info >= (3, 12) and sys.platform != 'win32'"),
    "a known module": ("import importlib", "tomllib = importlib.import_module('tomllib')"),
    "an attribute called modules": (
        "",
        "class R:\n    def all(self):\n        return [m for m in self.modules.values()]",
    ),
    "a signal of its own": ("", "class R:\n    def go(self):\n        self.signal.connect(self.quit)"),
    "the owner of a method": ("", "def owner(method):\n    return method.__self__.name"),
    "an exception called exit": ("", "try:\n    xs.run()\nexcept SystemExit as exit:\n    xs.code = exit.code"),
    "a captured item called os": ("", "match xs:\n    case [os, _]:\n        return os"),
    "captured items called os": ("", "match xs:\n    case [_, *os]:\n        return os"),
    "captured values called os": ("", "match xs:\n    case {'a': _, **os}:\n        return os"),
    "a format string": ("", "text = '{0.name} {x[key]} {{0.f_back}}'.format(xs, x=xs)"),
    "a traceback passed on": (
        "import traceback",
        "try:\n    xs.run()\nexcept ValueError as e:\n    traceback.format_exception(type(e), e, e.__traceback__)",
    ),
    "classes that may be unpickled": (
        "import pickle",
        "class U(pickle.Unpickler):\n    def find_class(self, module, name):\n"
        "        return super().find_class(module, name)",
    ),
    "a clock": ("import timeit", "start = timeit.default_timer()"),
    "pickling to a file": ("import pickle", "pickle.dump(xs, open(xs[0], 'wb'))\npickle.load(open(xs[0], 'rb'))"),
    "pickling": ("import pickle", "xs = pickle.loads(pickle.dumps(xs))"),
}


@pytest.mark.parametrize("road", ROADS)
def test_no_indirect_name_is_accepted(road: str) -> None:
    refused(Deed(road, SUM, body(*ROADS[road])))


@pytest.mark.parametrize("road", ROADS)
def test_old_violations_may_stay_and_be_edited_around(road: str) -> None:
    before = body(*ROADS[road]).replace("sum(xs)", "sum(xs) - 1")
    passed(Deed(road, before, body(*ROADS[road])))


@pytest.mark.parametrize("binder", HIDING)
def test_a_built_in_function_is_not_hidden_by_a_binding_elsewhere(binder: str) -> None:
    refused(Deed(binder, SUM, f'def total(xs):\n    exec("1")\n    return sum(xs)\n\n\n{HIDING[binder]}', "exec"))


@pytest.mark.parametrize("binder", SHADOWS)
def test_a_module_is_not_hidden_by_a_binding_elsewhere(binder: str) -> None:
    before = f"import os\n\n\n{SUM}\n\n{SHADOWS[binder]}"
    refused(Deed(binder, before, before.replace("    return sum", "    os.kill(1, 9)\n    return sum", 1), "os.kill"))


@pytest.mark.parametrize("binder", OWN_EXEC)
def test_a_name_of_the_file_is_not_taken_for_the_built_in_function(binder: str) -> None:
    passed(Deed(binder, SUM, f"{GOOD}\n\n{OWN_EXEC[binder]}"))


@pytest.mark.parametrize("use", HONEST)
def test_honest_uses_of_the_same_names_are_free(use: str) -> None:
    passed(Deed(use, SUM, body(*HONEST[use])))


def test_a_road_that_was_walked_before_in_another_function_is_the_files_habit() -> None:
    before = "import os\n\n\ndef f(x):\n    return getattr(os, x)\n\n\n" + SUM
    passed(Deed("habit", before, before.replace("sum(xs) - 1", "sum(getattr(os, x) for x in xs)")))
    assert GOOD
