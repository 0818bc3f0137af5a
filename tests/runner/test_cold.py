"""The cold runner against real pytest: outcomes, evidence, order, and everything that can go wrong with a process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Event, Failure, Status
from coderefine.errors import CriticError, RunnerError
from tests.runner.conftest import Cold
from tests.support.cases import every

BROAD = """
import unittest
import pytest

def test_passes(): pass
def test_fails(): assert 1 + 1 == 3
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.xfail(strict=True, reason="known")
def test_strict(): pass
@pytest.mark.skip
def test_skips(): pass
@pytest.fixture
def broken(): raise ValueError("set-up")
def test_setup(broken): pass
@pytest.fixture
def leaking():
    yield
    raise ValueError("tear-down")
def test_teardown(leaking): pass
def test_no_fixture(nothing): pass
def test_exits():
    import sys
    sys.exit(0)
@pytest.mark.parametrize("n", ["a/b", "x::y", "[z]"])
def test_ids(n): assert n == "a/b"
class TestClass:
    def test_method(self): pass
class Old(unittest.TestCase):
    def test_equal(self): self.assertEqual(1, 2)
    def test_expected(self):
        with self.subTest(n=1): self.assertEqual(1, 1)
    @unittest.expectedFailure
    def test_known(self): self.fail()
"""

OUTCOMES = {
    "test_passes": Status.PASSED,
    "test_fails": Status.FAILED,
    "test_xfails": Status.XFAILED,
    "test_xpasses": Status.XPASSED,
    "test_strict": Status.FAILED,
    "test_skips": Status.SKIPPED,
    "test_setup": Status.ERROR,
    "test_teardown": Status.ERROR,
    "test_no_fixture": Status.ERROR,
    "test_exits": Status.FAILED,
    "test_ids[a/b]": Status.PASSED,
    "test_ids[x::y]": Status.FAILED,
    "test_ids[[z]]": Status.FAILED,
    "TestClass::test_method": Status.PASSED,
    "Old::test_equal": Status.FAILED,
    "Old::test_expected": Status.PASSED,
    "Old::test_known": Status.XFAILED,
}


def failure(check: Check, name: str) -> Failure:
    found = check.cases[name].failure
    assert found is not None
    return found


def statuses(check: Check) -> dict[str, Status]:
    return {name: case.status for name, case in check.cases.items()}


def test_every_kind_of_outcome(cold: Cold) -> None:
    check = cold({"tests/test_broad.py": BROAD})
    assert statuses(check) == {f"tests/test_broad.py::{name}": status for name, status in OUTCOMES.items()}
    assert all(bool(case.failure) is case.status.bad for case in check.cases.values())
    assert check.complete
    assert check.tool == f"pytest {pytest.__version__}"
    strict = failure(check, "tests/test_broad.py::test_strict")
    assert strict.message == "[XPASS(strict)] known"
    assert failure(check, "tests/test_broad.py::test_no_fixture").message == "fixture 'nothing' not found"
    case = check.cases["tests/test_broad.py::test_fails"]
    assert (case.path, case.line) == ("tests/test_broad.py", 6)


def test_a_failure_shows_values_frames_and_output(cold: Cold) -> None:
    check = cold(
        {
            "cart.py": "def total(prices):\n    print('adding', len(prices))\n    return prices['a'] + prices['b']\n",
            "test_cart.py": "from cart import total\n\ndef test_total():\n    prices = {'a': 2}\n"
            "    assert total(prices) == 5\n\ndef test_sum():\n    assert total({'a': 2, 'b': 2}) == 5, 'sum'\n",
        }
    )
    found = failure(check, "test_cart.py::test_total")
    assert (found.message, found.exception) == ("KeyError: 'b'", "KeyError")
    assert [(frame.path, frame.line, frame.function) for frame in found.frames] == [
        ("test_cart.py", 5, "test_total"),
        ("cart.py", 3, "total"),
    ]
    assert dict(found.frames[1].locals) == {"prices": "{'a': 2}"}
    assert "adding 1" in found.output
    compared = failure(check, "test_cart.py::test_sum")
    assert compared.message == "AssertionError: sum (assert 4 == 5)"
    assert "where 4 = total({'a': 2, 'b': 2})" in compared.assertion


def test_evidence_without_riches_has_frames_but_no_values(cold: Cold) -> None:
    check = cold({"test_a.py": "def test_a():\n    x = 1\n    print('hm')\n    assert x == 2\n"}, Ask(rich=False))
    found = failure(check, "test_a.py::test_a")
    assert (found.message, found.output, found.frames[0].locals) == ("assert 1 == 2", "", {})


HOSTILE = """
import time
class Raises:
    def __repr__(self): raise RuntimeError("no")
class Endless:
    def __repr__(self):
        while True: pass
class Long(list):
    def __repr__(self): return "x" * 10**6
class Lies:
    @property
    def __class__(self): raise ValueError
    def __getattribute__(self, name): raise ValueError(name)
class Bad(Exception):
    def __str__(self): raise ZeroDivisionError
def test_a():
    a, b, c, d = Raises(), Endless(), Long(), Lies()
    e, f, g = 10 ** 100_000, "y" * 10**6, list(range(10**6))
    h = []; h.append(h)
    raise Bad
"""


def test_hostile_values_cost_neither_time_nor_truth(cold: Cold) -> None:
    began = time.monotonic()
    check = cold({"test_a.py": HOSTILE})
    assert time.monotonic() - began < 40
    found = failure(check, "test_a.py::test_a")
    assert found.message == "Bad"
    values = found.frames[-1].locals
    assert set(values) == set("abcdefgh")
    assert all(len(value) < 200 for value in values.values())
    assert values["g"] == "[0, 1, 2, 3, 4, 5, … 999994 more]"
    assert values["e"] == "<int of 332193 bits>"


def test_chained_and_deep_exceptions(cold: Cold) -> None:
    check = cold(
        {
            "deep.py": "def f(n):\n    return f(n + 1)\n\ndef g():\n    try:\n        {}['k']\n"
            "    except KeyError as e:\n        raise ValueError('bad key') from e\n",
            "test_a.py": "import deep\ndef test_deep(): deep.f(0)\ndef test_chain(): deep.g()\n",
        }
    )
    deep = failure(check, "test_a.py::test_deep")
    assert deep.exception == "RecursionError"
    assert len(deep.frames) <= 12
    chain = failure(check, "test_a.py::test_chain")
    assert "after KeyError: 'k' (deep.py:6)" in chain.assertion


def test_subtests_fold_into_their_test(cold: Cold) -> None:
    source = (
        "import unittest\nclass T(unittest.TestCase):\n    def test_s(self):\n        for i in range(4):\n"
        "            with self.subTest(i=i):\n                self.assertEqual(i % 2, 0)\n"
        "def test_f(subtests):\n    for i in range(4):\n        with subtests.test('odd', i=i):\n"
        "            assert i < 3\n"
    )
    check = cold({"test_a.py": source})
    assert set(statuses(check).values()) == {Status.FAILED}
    assert failure(check, "test_a.py::T::test_s").message == "subtest (i=1), and 1 more: AssertionError: 1 != 0"
    assert failure(check, "test_a.py::test_f").message == "subtest (odd i=3): assert 3 < 3"


def test_doctests(cold: Cold) -> None:
    check = cold(
        {
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
            "m.py": "def f():\n    '''\n    >>> f()\n    2\n    '''\n    return 1\n",
        }
    )
    assert statuses(check) == {"m.py::m.f": Status.FAILED}
    assert failure(check, "m.py::m.f").message == "f(): expected '2', got '1'"


def test_async_tests(cold: Cold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    source = "import asyncio\nasync def test_a():\n    await asyncio.sleep(0)\n    assert 1 == 2\n"
    check = cold(
        {
            "test_a.py": source,
            "pytest.ini": "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
            "filterwarnings = error\n",
        }
    )
    assert failure(check, "test_a.py::test_a").message == "assert 1 == 2"
    assert [frame.path for frame in failure(check, "test_a.py::test_a").frames] == ["test_a.py"]


@pytest.mark.parametrize(
    ("addopts", "dropped"),
    every(
        2,
        [
            ("-n auto --dist=loadfile", "-n auto --dist=loadfile"),
            ("--cov=. --cov-report term-missing --cov-fail-under=90 -x", "--cov=. --cov-report term-missing"),
            ("-ra -q --lf --maxfail=1 --durations 5", "--lf --maxfail=1"),
            ("-xvs", "-xv"),
        ],
    ),
)
def test_options_of_speed_and_looks_are_left_out(cold: Cold, addopts: str, dropped: str) -> None:
    files = {
        "pytest.ini": f"[pytest]\naddopts = {addopts} -k 'not slow'\n",
        "test_a.py": "def test_a(): assert 0\ndef test_b(pytestconfig): assert pytestconfig.getini('addopts')\n"
        "def test_slow(): pass\n",
    }
    check = cold(files)
    assert statuses(check) == {"test_a.py::test_a": Status.FAILED, "test_a.py::test_b": Status.PASSED}
    assert any(dropped in note for note in check.notes)


def test_options_of_the_environment_and_of_our_configuration_count(cold: Cold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-n 3 -k 'not b'")
    files = {"test_a.py": "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n"}
    check = cold(files, config=Config(pytest_args=("--deselect", "test_a.py::test_c", "-x")))
    assert list(check.cases) == ["test_a.py::test_a"]


def test_pytest_does_not_refuse_to_start_because_pytest_randomly_is_required(cold: Cold) -> None:
    """It is blocked by an option of ours; a blocked plug-in counts as missing."""
    files = {
        "pytest.ini": "[pytest]\nrequired_plugins = pytest-randomly>=3.0\n",
        "test_a.py": "def test_a(pytestconfig): assert pytestconfig.getini('required_plugins')\n",
    }
    assert statuses(cold(files)) == {"test_a.py::test_a": Status.PASSED}


def test_other_required_plugins_that_are_missing_are_an_error(cold: Cold) -> None:
    files = {"pytest.ini": "[pytest]\nrequired_plugins = pytest-no-such\n", "test_a.py": "def test_a(): pass\n"}
    with pytest.raises(CriticError, match="Missing required plugins: pytest-no-such"):
        cold(files)


FREEZES = """
import sys, time

def test_freezes():
    clocks = (time.time, time.perf_counter, time.monotonic)
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if any(value is clock for clock in clocks):
                setattr(module, name, lambda: 1e12)

def test_later(): pass
"""


def test_a_test_that_leaves_the_clock_replaced_takes_no_thousand_years(cold: Cold) -> None:
    """freezegun: `fix` ended with OverflowError, because durations of 1e9 seconds became time limits."""
    check = cold({"test_a.py": FREEZES})
    assert [0 <= case.seconds < 60 for case in check.cases.values()] == [True, True]


@pytest.mark.parametrize(
    ("source", "message"),
    every(
        3,
        [
            ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
            ("def f(:", "SyntaxError: invalid syntax"),
            ("import sys; sys.exit(3)", "SystemExit: 3"),
            ("import os; os._exit(0)", "the test process died while it was imported (exit code 0)"),
            ("import pytest; pytest.exit('no more')", "Exit: no more"),
            ("raise KeyboardInterrupt", "ended the whole test run while it was imported"),
            ("assert 1 == 2", "assert 1 == 2"),
            ("import lib", "ZeroDivisionError: division by zero"),
        ],
    ),
)
def test_a_module_that_cannot_be_collected_is_an_error_and_the_others_run(
    cold: Cold, source: str, message: str
) -> None:
    files = {"lib.py": "1 / 0\n", "test_a.py": source + "\n", "test_b.py": "def test_b(): pass\n"}
    check = cold(files)
    assert statuses(check) == {"test_a.py": Status.ERROR, "test_b.py::test_b": Status.PASSED}
    assert failure(check, "test_a.py").message.startswith(message)
    assert check.cases["test_a.py"].path == "test_a.py"
    if source == "import lib":
        assert [frame.path for frame in failure(check, "test_a.py").frames] == ["test_a.py", "lib.py"]


def test_a_conftest_that_cannot_be_imported_is_an_error_of_its_own(cold: Cold) -> None:
    check = cold({"lib.py": "1 / 0\n", "conftest.py": "import lib\n", "test_a.py": "def test_a(): pass\n"})
    assert statuses(check) == {"conftest.py": Status.ERROR}
    assert [frame.path for frame in failure(check, "conftest.py").frames] == ["conftest.py", "lib.py"]


@pytest.mark.parametrize(
    ("body", "message"),
    every(
        3,
        [
            ("import os; os._exit(0)", "the test process died while it ran (exit code 0)"),
            ("import os; os._exit(7)", "the test process died while it ran (exit code 7)"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "(killed by SIGKILL (out of memory?))"),
            ("import ctypes; ctypes.string_at(0)", "(killed by SIGSEGV): Segmentation fault"),
            ("import pytest; pytest.exit('done', returncode=0)", "ended the whole test run while it ran"),
            ("raise KeyboardInterrupt", "ended the whole test run while it ran"),
            ("import os; os.closerange(3, 4000)", ""),
        ],
    ),
)
def test_a_test_that_takes_the_process_down_is_named_and_the_others_run(cold: Cold, body: str, message: str) -> None:
    source = f"def test_a(): pass\ndef test_b():\n    {body}\ndef test_c(): pass\ndef test_d(): assert 0\n"
    check = cold({"test_x.py": source})
    got = statuses(check)
    assert got["test_x.py::test_a"] is Status.PASSED
    assert got["test_x.py::test_b"].bad or not message
    assert (got["test_x.py::test_c"], got["test_x.py::test_d"]) == (Status.PASSED, Status.FAILED)
    assert list(got) == [f"test_x.py::test_{name}" for name in "abcd"]
    if message:
        assert message in failure(check, "test_x.py::test_b").message
        assert check.cases["test_x.py::test_b"].line == 2


def test_a_hang_is_found_with_its_stack_and_the_others_run(cold: Cold) -> None:
    files = {
        "lib.py": "def spin():\n    while True:\n        pass\n",
        "test_x.py": "import lib, threading\ndef test_a(): pass\ndef test_b(): lib.spin()\n"
        "def test_c(): threading.Event().wait()\ndef test_d(): pass\n",
    }
    check = cold(files, limit=1.0)
    assert [case.status.value for case in check.cases.values()] == ["passed", "error", "error", "passed"]
    found = failure(check, "test_x.py::test_b")
    assert found.message.startswith("still running after 1 s: killed")
    assert [frame.path for frame in found.frames] == ["test_x.py", "lib.py"]
    assert failure(check, "test_x.py::test_c").frames[-1].path == "test_x.py"
    assert check.complete


COMPUTE = """
import time

def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
"""A module whose `compute` takes so many CPU seconds."""


@pytest.mark.parametrize("others", every(2, [[], [1.2]]), ids=["alone", "another stands where it stands"])
@pytest.mark.thorough
def test_a_test_that_only_computes_for_long_has_its_own_result_and_each_test_runs_to_its_end_once(
    cold: Cold, tmp_path: Path, others: list[float]
) -> None:
    slow = "".join(f"def test_slow{n}(): compute({s}); note({n})\n" for n, s in enumerate([1.5, *others]))
    test = f"from lib import compute\ndef note(n): open('ended', 'a').write(f'{{n}},')\n{slow}def test_z(): note('z')\n"
    check = cold({"lib.py": COMPUTE, "test_x.py": test}, Ask(timeout=60, computing=0.5))
    assert {case.status for case in check.cases.values()} == {Status.PASSED}
    assert check.complete
    assert sorted((tmp_path / "ended").read_text("utf-8").split(",")) == ["", "0", *("1" for _ in others), "z"]


@pytest.mark.thorough
def test_tests_in_the_function_where_another_one_hangs_are_ended_early(cold: Cold) -> None:
    test = "from lib import compute\ndef test_a(): compute(600)\ndef test_b(): compute(500)\ndef test_c(): pass\n"
    check = cold({"lib.py": COMPUTE, "test_x.py": test}, Ask(timeout=60, computing=0.5))
    assert [case.status.value for case in check.cases.values()] == ["error", "error", "passed"]
    first, second = (check.cases[f"test_x.py::test_{name}"] for name in "ab")
    assert {found.exception for case in (first, second) if (found := case.failure)} == {"Hang"}
    assert [frame.path for case in (first, second) for frame in failure(check, case.id).frames] == 2 * [
        "test_x.py",
        "lib.py",
    ]
    assert second.seconds < first.seconds / 3


def test_the_whole_check_has_a_limit(cold: Cold) -> None:
    began = time.monotonic()
    source = "import time\ndef test_a(): time.sleep(60)\ndef test_b(): pass\n"
    check = cold({"test_x.py": source}, Ask(timeout=2))
    assert time.monotonic() - began < 40
    assert statuses(check) == {"test_x.py::test_a": Status.ERROR}
    assert not check.complete
    assert check.notes == ("stopped after 2 s: 1 tests not run",)


@pytest.mark.thorough
def test_too_many_crashes_end_the_check(cold: Cold) -> None:
    source = "import os, pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_a(n): os._exit(1)\n"
    check = cold({"test_x.py": source})
    assert len(check.cases) == 9
    assert not check.complete
    assert "gave up after 9 crashes: 11 tests not run" in check.notes


@pytest.mark.parametrize(
    "body",
    every(
        3,
        [
            "print('x' * 400_000)",
            "import os; os.close(1); os.close(2)",
            "import os, tempfile; os.chdir(tempfile.mkdtemp())",
            "import os, sys; os.write(sys.__stdout__.fileno(), b'y' * 3_000_000)",
            "import sys; sys.modules.pop('json', None); sys.modules.pop('os', None)",
            "import sys; sys.path.clear(); sys.meta_path.clear()",
            "import builtins; builtins.open = builtins.print = None",
            "import os; os.environ.clear()",
            "import os, time\n    if not os.fork():\n        time.sleep(30)",
            "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()",
            "import signal; [signal.signal(s, signal.SIG_IGN) for s in (2, 15)]",
        ],
    ),
)
def test_the_run_survives_tests_that_end_or_break_their_process(cold: Cold, body: str) -> None:
    began = time.monotonic()
    check = cold({"test_x.py": f"def test_a():\n    {body}\ndef test_b():\n    y = 2\n    assert y == 3\n"})
    assert time.monotonic() - began < 25
    assert check.cases["test_x.py::test_b"].status is Status.FAILED
    assert failure(check, "test_x.py::test_b").message == "assert 2 == 3"


def test_long_output_is_cut_head_and_tail(cold: Cold) -> None:
    source = "def test_a():\n    print('HEAD' + 'x' * 400_000 + 'TAIL')\n    assert 0\n"
    output = failure(cold({"test_x.py": source}), "test_x.py::test_a").output
    assert len(output) < 4000
    assert "HEAD" in output
    assert output.endswith("TAIL")


def test_forged_results_are_refused(cold: Cold) -> None:
    """A test writes a frame of its own to every descriptor: the wire breaks, no result is believed."""
    source = (
        "import json, os, stat\ndef test_a():\n"
        "    body = json.dumps({'kind': 'end', 'code': 0, 'nonce': 'guess'}).encode()\n"
        "    for fd in range(3, 64):\n        try:\n"
        "            if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, len(body).to_bytes(4, 'big') + body)\n"
        "        except OSError: pass\n    assert 0\n"
    )
    with pytest.raises(RunnerError, match="forged"):
        cold({"test_x.py": source})


@pytest.mark.parametrize(
    ("files", "message"),
    every(
        3,
        [
            ({"pytest.ini": "[pytest]\naddopts = --no-such-option\n"}, "unrecognized arguments: --no-such-option"),
            ({"pytest.ini": "[pytest]\nmarkers = \nfilterwarnings = what:is:this:now:for:ever\n"}, "Too many fields"),
            ({"pytest.ini": "pytest\n"}, "pytest.ini"),
            ({"conftest.py": "import os; os._exit(0)\n"}, r"crashed before it had collected the tests \(exit code 0\)"),
            ({"conftest.py": "def pytest_collection_modifyitems(): 1 / 0\n"}, "ZeroDivisionError"),
            (
                {"conftest.py": "def pytest_collection_modifyitems(): raise ValueError('x\\nb')\n"},
                "inside: ValueError: x",
            ),
            ({"conftest.py": "def pytest_sessionstart(): import os; os._exit(0)\n"}, "crashed before"),
            ({"conftest.py": "def pytest_sessionfinish(): import os; os._exit(0)\n"}, "crashed after the last test"),
            ({"conftest.py": "import pytest\ndef pytest_collection_finish(): pytest.exit('x', returncode=0)\n"}, "x"),
        ],
    ),
)
def test_a_run_without_verdict_is_an_error_with_pytests_message(
    cold: Cold, files: dict[str, str], message: str
) -> None:
    with pytest.raises(CriticError, match=message):
        cold({"test_x.py": "def test_a(): pass\n", **files})


LATE = {"conftest.py": "def pytest_unconfigure(): raise ValueError('too late')\n"}


def test_pytest_crashing_after_passing_tests_gives_no_verdict(cold: Cold) -> None:
    with pytest.raises(CriticError, match=r"crashed after the last test \(exit code 1\): ValueError: too late"):
        cold({"test_x.py": "def test_a(): pass\n", **LATE})


def test_a_failing_exit_code_without_a_failing_test_gives_no_verdict(cold: Cold) -> None:
    conftest = "def pytest_sessionfinish(session): session.exitstatus = 1\n"
    with pytest.raises(CriticError, match="exited 1 although no test failed"):
        cold({"conftest.py": conftest, "test_x.py": "def test_a(): pass\n"})


def test_failures_count_although_pytest_crashes_after_them(cold: Cold) -> None:
    check = cold({"test_x.py": "def test_a(): pass\ndef test_b(): assert 1 == 2\n", **LATE})
    assert failure(check, "test_x.py::test_b").message == "assert 1 == 2"
    assert check.notes == ("pytest crashed after the last test (exit code 1): ValueError: too late",)


def test_modules_that_vanish_while_they_are_listed_cause_no_crash(cold: Cold) -> None:
    """As with jinja2's ModuleLoader, whose modules leave `sys.modules` whenever Python collects garbage."""
    growing = "lambda phase, info: sys.modules.setdefault(f'late{len(sys.modules)}', sys)"
    test = f"import gc, sys\ndef test_a():\n    gc.callbacks.append({growing})\n    gc.set_threshold(5)\n"
    assert cold({"test_x.py": test}).notes == ()


def test_a_failure_keeps_its_message_on_a_busy_machine(cold: Cold) -> None:
    """Describing it took a process that had to wait for a processor longer than the limit; then no result counted."""
    slow = "class Slow(Exception):\n    def __str__(self):\n        time.sleep(0.3)\n        return 'slowly told'\n"
    check = cold({"test_x.py": f"import time\n{slow}def test_a(): raise Slow\n"})
    assert failure(check, "test_x.py::test_a").message == "Slow: slowly told"


def test_vanished_modules_cause_no_crash(cold: Cold) -> None:
    """As with jinja2's ModuleLoader, which leaves weak references to its modules in `sys.modules`."""
    test = "import sys, types, weakref\ndef test_a(): sys.modules['late'] = weakref.proxy(types.ModuleType('late'))\n"
    assert cold({"test_x.py": test}).notes == ()


def test_no_tests_is_clean_with_a_note(cold: Cold) -> None:
    check = cold({"lib.py": ""})
    assert (check.cases, check.complete, check.notes) == ({}, True, ("no tests",))


TWO = {
    "test_a.py": "def test_1(): pass\ndef test_2(): assert 0\ndef test_3(): pass\n",
    "sub/test_b.py": "def test_4(): assert 0\ndef test_5(): pass\n",
    "test_c.py": "1 / 0",
}


def test_only_some_tests(cold: Cold) -> None:
    """The other modules are not even imported."""
    check = cold(TWO, Ask(tests=("test_a.py::test_3", "sub/test_b.py::test_4", "gone.py::test_x")))
    assert statuses(check) == {"sub/test_b.py::test_4": Status.FAILED, "test_a.py::test_3": Status.PASSED}
    assert not check.complete


def test_first_changes_the_order_and_nothing_else(cold: Cold, tmp_path: Path) -> None:
    log = {"conftest.py": "def pytest_runtest_logstart(nodeid):\n    open('order', 'a').write(nodeid + ' ')\n"}
    usual = cold({**TWO, **log})
    (tmp_path / "order").unlink()
    check = cold({}, Ask(first=("test_a.py::test_3",)))
    assert (tmp_path / "order").read_text().startswith("test_a.py::test_3 ")
    assert list(check.cases) == list(usual.cases)
    assert statuses(check) == statuses(usual)


def test_stop_early_ends_at_the_first_new_failure(cold: Cold) -> None:
    known = frozenset({"test_c.py", "sub/test_b.py::test_4"})
    check = cold(TWO, Ask(known=known, stop_early=True))
    assert "test_a.py::test_2" in check.failing
    assert "test_a.py::test_3" not in check.cases
    assert not check.complete
    broken = cold(TWO, Ask(stop_early=True))
    assert broken.failing == ("test_c.py",)
    assert not broken.complete


def test_coverage_by_test(cold: Cold) -> None:
    files = {
        "lib.py": "A = 1\ndef f(n):\n    if n:\n        return 1\n    return 2\n",
        "test_x.py": "from lib import f\ndef test_1():\n    f(0)\ndef test_2():\n    f(1)\ndef test_3():\n    f(1)\n",
    }
    check = cold(files, Ask(coverage=True))
    assert check.coverage is not None
    lines = {name: sorted(found.get("lib.py", ())) for name, found in check.coverage.items()}
    assert lines == {
        "": [1, 2],
        "test_x.py::test_1": [3, 5],
        "test_x.py::test_2": [3, 4],
        "test_x.py::test_3": [3, 4],
    }
    assert all(not Path(path).is_absolute() for found in check.coverage.values() for path in found)


@pytest.mark.parametrize("started", [("prog.py",), ("-m", "prog"), ("-c", "import prog")], ids=["path", "-m", "-c"])
def test_a_program_that_a_test_starts_runs_as_ever_and_is_covered(cold: Cold, started: tuple[str, ...]) -> None:
    """Started by its path it ended in "can't open file: Invalid argument", always with a line on stderr."""
    files = {
        "prog.py": "import sys\nprint(len(sys.argv))\n",
        "test_x.py": "import subprocess\nimport sys\ndef test_1():\n"
        f"    ended = subprocess.run([sys.executable, *{started}], capture_output=True, text=True)\n"
        "    assert (ended.stdout, ended.stderr) == ('1\\n', '')\n",
    }
    check = cold(files, Ask(coverage=True, follow=True))
    assert check.coverage is not None
    assert check.failing == ()
    assert check.coverage["test_x.py::test_1"]["prog.py"] == {1, 2}


@pytest.mark.parametrize(
    ("environ", "end"),
    [
        ("{**os.environ, 'PYTHONPATH': 'src'}", "communicate"),
        pytest.param("{}", "communicate", marks=pytest.mark.thorough),
        ("None", "kill"),
    ],
)
def test_a_program_with_its_own_environment_or_that_is_killed_is_covered(cold: Cold, environ: str, end: str) -> None:
    """Nothing was recorded: the variables were missing, or the program had to end by itself."""
    files = {
        "prog.py": "import sys\nprint(1, flush=True)\nsys.stdin.read()\n",
        "test_x.py": "import os\nimport subprocess\nimport sys\ndef test_1():\n"
        f"    if {environ}:\n"
        "        text = 'import os; print(sorted(os.environ), os.environ.get(\"PYTHONPATH\"))'\n"
        "        show = [sys.executable, '-c', text]\n"
        f"        shown = subprocess.run(show, env={environ}, capture_output=True, text=True).stdout\n"
        "        assert 'CODEREFINE_' not in shown and shown.endswith('src\\n')\n"
        "    pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE}\n"
        f"    with subprocess.Popen([sys.executable, 'prog.py'], env={environ}, **pipes) as it:\n"
        "        assert it.stdout.readline() == b'1\\n'\n"
        f"        it.{end}()\n",
    }
    check = cold(files, Ask(coverage=True, follow=True))
    assert check.coverage is not None
    assert check.failing == ()
    assert check.coverage["test_x.py::test_1"]["prog.py"] >= {1, 2}


def test_coverage_excludes_methods_that_only_describe_a_failure(cold: Cold) -> None:
    """Only failing tests execute `__repr__` to be described: it was the most suspicious code of a real project."""
    files = {
        "lib.py": "class A:\n    def __init__(self):\n        self.n = 1\n\n    def __repr__(self): return 'A'\n",
        "test_x.py": "import unittest\nfrom lib import A\n\n\ndef test_1():\n    a = A()\n    assert a == A()\n\n\n"
        "class T(unittest.TestCase):\n    def test_2(self):\n        self.assertEqual(A(), 1)\n\n\n"
        "def test_3():\n    assert repr(A()) == 'B'\n",
    }
    check = cold(files, Ask(coverage=True))
    assert check.coverage is not None
    lines = {name.split("::")[-1]: sorted(found.get("lib.py", ())) for name, found in check.coverage.items() if name}
    assert lines == {"test_1": [3], "test_2": [3], "test_3": [3, 5]}


def test_coverage_by_line_of_a_test(cold: Cold) -> None:
    files = {
        "lib.py": "def f(n):\n    if n:\n        return 1\n    return 2\n",
        "test_x.py": "from lib import f\ndef test_1():\n    assert f(0)\n    assert f(1) == 2\ndef test_2(): f(1)\n",
    }
    check = cold(files, Ask(coverage=True, stepped=(("test_x.py::test_1", "test_x.py"),)))
    steps = {test: {step.line: sorted(step.last) for step in found} for test, found in check.steps.items()}
    first, second = [("lib.py", 2), ("lib.py", 4)], [("lib.py", 2), ("lib.py", 3)]
    assert steps == {"test_x.py::test_1": {3: first, 4: second}}
    assert check.coverage is not None
    assert check.coverage["test_x.py::test_1"] == {"lib.py": {2, 3, 4}}


def test_an_expression_on_several_lines_is_executed_once(cold: Cold) -> None:
    """What a call on several lines executed counted as passed, because its first line begins again after the call."""
    files = {
        "lib.py": "def f(x, y):\n    z = x + y\n    return z\n",
        "test_x.py": (
            "from lib import f\ndef test_1():\n    for one in (1, 2):\n        assert (\n            f(\n"
            "                1,\n                one,\n            )\n            == 2\n        )\n"
        ),
    }
    check = cold(files, Ask(coverage=True, stepped=(("test_x.py::test_1", "test_x.py"),)))
    steps = [step for step in check.steps["test_x.py::test_1"] if step.last or step.before]
    lines = frozenset({("lib.py", 2), ("lib.py", 3)})
    assert {step.last for step in steps} == {lines}
    assert {step.before for step in steps} == {lines}


def test_the_seed_of_hashes(cold: Cold) -> None:
    source = {"test_x.py": "import os\ndef test_a(): assert os.environ['PYTHONHASHSEED'] == '7'\n"}
    assert cold(source, Ask(seed=7)).cases["test_x.py::test_a"].status is Status.PASSED


def test_progress_is_reported(cold: Cold) -> None:
    events: list[Event] = []
    cold(TWO, listen=events.append)
    assert events[-1] == Event("tests", done=5, total=5)


SHADOWS = {
    name: f"MARK = 'the project\\'s own {name}'\n"
    for name in ("json.py", "plugin.py", "wire.py", "evidence.py", "cold.py")
}


@pytest.mark.parametrize("name", sorted(SHADOWS))
def test_a_project_may_have_modules_named_like_ours_or_like_pythons(cold: Cold, name: str) -> None:
    """`json` is imported by pytest only where it has a cache, so without one the project's comes first, as it would."""
    module = name.removesuffix(".py")
    files = {
        name: SHADOWS[name],
        "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n",
        "test_x.py": f"import {module}\ndef test_a():\n    assert {module}.MARK\n",
    }
    check = cold(files)
    assert statuses(check) == {"test_x.py::test_a": Status.PASSED}


PLACE = """
import os, sys
def test_a():
    import __main__
    mine = [name for name in sys.modules if name.startswith('_coderefine')]
    facts = [os.getcwd(), sys.path[:3], sys.argv[0], __main__.__file__, __main__.__package__]
    open('facts', 'w').write(repr(facts))
"""


def test_working_folder_and_path_are_those_of_python_m_pytest(cold: Cold, tmp_path: Path) -> None:
    cold({"tests/test_x.py": PLACE})
    ours = (tmp_path / "facts").read_text()
    subprocess.run((sys.executable, "-m", "pytest"), cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert ours == (tmp_path / "facts").read_text()


def test_children_that_multiprocessing_spawns_work(cold: Cold) -> None:
    source = (
        "import multiprocessing, lib\ndef test_a():\n    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        assert pool.map(lib.f, [1]) == [2]\n"
    )
    check = cold({"lib.py": "def f(n): return n + 1\n", "test_x.py": source})
    assert statuses(check) == {"test_x.py::test_a": Status.PASSED}


def test_a_project_below_the_top_of_its_repository(cold: Cold) -> None:
    files = {
        "apps/one/lib.py": "def f():\n    raise ValueError('x')\n",
        "apps/one/pytest.ini": "[pytest]\n",
        "apps/one/tests/test_x.py": "import lib\ndef test_a(): lib.f()\n",
    }
    check = cold(files, root="apps/one")
    case: Case = check.cases["tests/test_x.py::test_a"]
    assert case.path == "apps/one/tests/test_x.py"
    assert [frame.path for frame in failure(check, case.id).frames] == ["apps/one/tests/test_x.py", "apps/one/lib.py"]


def test_only_files_of_pytest_itself_are_written(cold: Cold, tmp_path: Path) -> None:
    cold({"test_x.py": "def test_a(): pass\n", "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n"})
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"test_x.py", "pytest.ini"}


def test_a_project_whose_warnings_are_errors(cold: Cold) -> None:
    source = "import gc, sys\ndef test_a():\n    gc.collect()\n    assert sys.gettrace() is None\n"
    check = cold({"test_x.py": source, "pytest.ini": "[pytest]\nfilterwarnings = error\naddopts = --strict-config\n"})
    assert statuses(check) == {"test_x.py::test_a": Status.PASSED}


def test_benchmarks_are_brief_and_keep_their_statistics(cold: Cold) -> None:
    """Options as pytest-benchmark has them, whose own defaults cost every test more than a second."""
    options = (
        "from decimal import Decimal\n\ndef pytest_addoption(parser):\n"
        "    parser.addoption('--benchmark-max-time', type=Decimal, default=Decimal('1.0'))\n"
        "    parser.addoption('--benchmark-min-rounds', type=int, default=5)\n"
    )
    test = (
        "from decimal import Decimal\n\ndef test_it(request):\n    given = request.config.option\n"
        "    assert given.benchmark_min_rounds == 1\n    assert given.benchmark_max_time == Decimal('0.000001')\n"
        "    assert not hasattr(given, 'benchmark_warmup')\n"
    )
    check = cold({"conftest.py": options, "test_it.py": test})
    assert statuses(check) == {"test_it.py::test_it": Status.PASSED}
