"""Whatever a candidate does to its child, the verdict is no, and the next one is judged as if nothing had been."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Status
from coderefine.project import interpreter, locate
from coderefine.runner.pool import Candidate, Judged, Plan, Pool, open_pool
from coderefine.workspace import open_views
from tests.support.cases import few
from tests.support.repo import make_repo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")

MODULE = (
    "import os, sys, signal, subprocess, threading, time\n"
    "DATA = os.path.dirname(__file__)\n\n\ndef f():\n    return 1\n"
)
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n',
    "mod.py": MODULE,
    "data.txt": "data",
    "test_mod.py": (
        "import os\nimport mod\n\n\ndef test_f():\n    assert mod.f() == 1\n\n\n"
        "def test_data():\n    with open('data.txt') as stream:\n        assert stream.read() == 'data'\n\n\n"
        "def test_write(tmp_path):\n    (tmp_path / 'x').write_text('x')\n    assert os.getcwd() == mod.DATA\n"
    ),
}

ATTACKS = {
    "endless loop": "while True: pass",
    "endless sleep": "time.sleep(1000)",
    "exit 0": "os._exit(0)",
    "sys.exit": "sys.exit(0)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "segfault": "os.kill(os.getpid(), signal.SIGSEGV)",
    "killed with its session": "os.killpg(0, signal.SIGTERM)",
    "ignored signals": "[signal.signal(s, signal.SIG_IGN) for s in (2, 15, 14, 24, 27)]\n    while True: pass",
    "memory": "x = []\n    while True: x.append(bytearray(50_000_000))",
    "recursion": "return f()",
    "fork bomb": "pids = [os.fork() for _ in range(6)]\n    time.sleep(1000)",
    "hidden grandchild": (
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'], start_new_session=True)\n"
        "    os._exit(0)"
    ),
    "thread": "threading.Thread(target=time.sleep, args=(1000,)).start()\n    return 2",
    "flood": "[print('x' * 1_000_000) for _ in range(100)]\n    return 2",
    "endless flood": "while True: os.write(1, b'x' * 1_000_000)",
    "full disk": "open(os.environ['TMPDIR'] + '/big', 'wb').truncate(1 << 40)",
    "closed streams": "sys.stdout.close(); os.close(1); os.close(2)\n    return 2",
    "closed everything": "os.closerange(0, 1000)\n    return 1",
    "changed folder": "os.chdir('/')\n    return 2",
    "deleted data": "os.unlink(os.path.join(DATA, 'data.txt'))\n    return 2",
    "changed data": "open(os.path.join(DATA, 'data.txt'), 'w').write('other')\n    return 2",
    "deleted tests": "[os.unlink(os.path.join(DATA, n)) for n in os.listdir(DATA) if n.endswith('.py')]\n    return 2",
    "new file": "open(os.path.join(DATA, 'conftest.py'), 'w').write('1 / 0')\n    return 2",
    "pytest disarmed": "import _pytest.runner as r\n    r.CallInfo.from_call = None\n    return 2",
    "frozen clock": "time.monotonic = time.perf_counter = lambda: 0.0\n    return 2",
    "killed server": "os.kill(os.getppid(), signal.SIGKILL)\n    return 2",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    top = make_repo(tmp_path_factory.mktemp("attacks") / "project", FILES)
    place = locate([top], top)
    python = interpreter(place, Config(python=sys.executable), os.environ)
    with pytest.MonkeyPatch.context() as patch, open_views(place) as views:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        with open_pool(views, place, python, Config(), workers=1) as pool:
            assert set(pool.baseline().values()) == {Status.PASSED}
            yield pool


def judge(pool: Pool, body: str, **plan: object) -> Judged:
    source = MODULE.replace("return 1", body)
    (judged,) = pool.judge([Candidate(1, {"mod.py": source.encode()})], Plan(retry=0.0, **plan))  # type: ignore[arg-type]
    return judged


@pytest.mark.parametrize(
    "case",
    few(
        (f"{name}, {fastest}" for name in ATTACKS for fastest in ("hot", "warm")),
        *(f"{name}, hot" for name in list(ATTACKS)[::2]),
        *(f"{name}, warm" for name in ("exit 0", "killed server", "deleted tests")),
    ),
)
def test_attack_is_refused_and_leaves_nothing(opened: Pool, case: str) -> None:
    name, _, fastest = case.rpartition(", ")
    body = ATTACKS[name]
    began = time.monotonic()
    judged = judge(opened, body, fastest=fastest)
    assert not judged.plausible
    assert judged.reason
    assert time.monotonic() - began < 60
    after = judge(opened, "return abs(-1)", fastest=fastest)
    assert after.plausible, after.reason
    assert set(after.statuses.values()) == {Status.PASSED}


@pytest.mark.thorough
def test_slow_but_right_is_found_by_the_longer_try(opened: Pool) -> None:
    source = MODULE.replace(
        "return 1", "end = time.process_time() + 0.6\n    while time.process_time() < end: pass\n    return 1"
    )
    candidate = Candidate(1, {"mod.py": source.encode()})
    (refused,) = opened.judge([candidate], Plan(retry=0.0))
    assert refused.hung
    assert not refused.plausible
    (judged,) = opened.judge([candidate], Plan(retry=1e6))
    assert judged.plausible, judged.reason


@pytest.mark.thorough
def test_longer_tries_are_counted_over_all_plans(opened: Pool) -> None:
    """A search of many short plans gave each one a longer try of its own: it waited for hanging candidates most of
    the time."""
    source = MODULE.replace("return 1", "while True: pass")
    tries = [next(opened.judge([Candidate(1, {"mod.py": source.encode()})], Plan(retry=0.01))) for _ in range(3)]
    assert all(judged.hung for judged in tries)
    assert sum(judged.limit > 10 * opened.least for judged in tries) <= 1


def test_candidates_are_pulled_only_when_a_worker_is_free(opened: Pool) -> None:
    pulled = []

    def source() -> Iterator[Candidate]:
        for number in range(100):
            pulled.append(number)
            yield Candidate(number, {"mod.py": MODULE.replace("return 1", f"return {number}").encode()})

    verdicts = opened.judge(source(), Plan())
    assert [next(verdicts).plausible for _ in range(2)] == [False, True]
    assert len(pulled) <= 3
    assert isinstance(verdicts, Generator)
    verdicts.close()
    assert judge(opened, "return 1 * 1").plausible


def test_a_plan_whose_time_is_over_gives_up_running_candidates(opened: Pool) -> None:
    endless = Candidate(1, {"mod.py": MODULE.replace("return 1", "while True: pass").encode()})
    assert list(opened.judge([endless], Plan(ends=time.monotonic() + 0.2))) == []
    assert judge(opened, "return 1 * 1").plausible


def test_a_plan_ends_with_its_last_verdict(opened: Pool) -> None:
    took = []
    for number in range(2, 12):
        began = time.monotonic()
        assert not judge(opened, f"return {number}").plausible
        took.append(time.monotonic() - began)
    assert min(took) < 1, "each plan waited a second for nothing"


def test_threads_alive_after_the_import_are_not_forked(tmp_path: Path) -> None:
    files = {**FILES, "mod.py": MODULE + "\n\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"}
    top = make_repo(tmp_path / "project", files)
    place = locate([top], top)
    python = interpreter(place, Config(python=sys.executable), os.environ)
    with open_views(place) as views, open_pool(views, place, python, Config(), workers=1) as pool:
        edits = [files["mod.py"].replace("return 1", text).encode() for text in ("return 2", "return 2 - 1")]
        verdicts = list(pool.judge([Candidate(n, {"mod.py": edit}) for n, edit in enumerate(edits)], Plan()))
    assert [(judged.plausible, judged.speed) for judged in verdicts] == [(False, "warm"), (True, "warm")]


def test_tests_too_slow_to_be_watched_line_by_line_do_not_cost_the_others_their_lines(tmp_path: Path) -> None:
    files = {
        "m.py": "def f(n):\n    for _ in range(n):\n        n -= 1\n    return n\n",
        "test_m.py": "from m import f\nimport time\ndef test_a():\n    assert f(3) == 1\n"
        "def test_b():\n    assert f(9) == 1\n    time.sleep(99)\n",
    }
    top = make_repo(tmp_path / "p", files)
    place = locate([top], top)
    config = Config(python=sys.executable)
    python = interpreter(place, config, os.environ)
    with open_views(place) as views, open_pool(views, place, python, config, workers=1) as pool:
        coverage = pool.observe(["test_m.py::test_a", "test_m.py::test_b"], ())
        assert {name.split("::")[1] for name in coverage} == {"test_a", "test_b"}


@pytest.mark.thorough
def test_a_baseline_that_hangs_is_given_up_on_test_by_test(tmp_path: Path) -> None:
    files = {
        "m.py": "def f(n):\n    while n:\n        pass\n    return 1\n",
        "test_m.py": "import os\nfrom m import f\ndef test_a():\n    assert f(0) == 1\n"
        "def test_b():\n    assert f(1) == 1\n"
        "def test_c():\n    os._exit(3)\ndef test_d():\n    assert f(0) == 1\n",
    }
    top = make_repo(tmp_path / "p", files)
    place = locate([top], top)
    config = Config(python=sys.executable)
    with (
        open_views(place) as views,
        open_pool(views, place, interpreter(place, config, os.environ), config, workers=1) as pool,
    ):
        statuses = {name.split("::")[1]: status for name, status in pool.baseline().items()}
        assert statuses == {
            "test_a": Status.PASSED,
            "test_b": Status.ERROR,
            "test_c": Status.ERROR,
            "test_d": Status.PASSED,
        }
        right = files["m.py"].replace("pass", "n = 0").encode()
        plan = Plan(first=("test_m.py::test_b",), then=("test_m.py::test_a", "test_m.py::test_d"))
        (judged,) = pool.judge([Candidate(1, {"m.py": right})], plan)
        assert judged.plausible
