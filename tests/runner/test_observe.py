"""What the pool learns of the unchanged tree before it judges candidates."""

from __future__ import annotations

import ast
import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from coderefine.config import Config
from coderefine.core import Status
from coderefine.errors import RunnerError
from coderefine.project import interpreter, locate
from coderefine.proposers.search.enumeration import Proposed, Scored
from coderefine.proposers.search.ingredients import FunctionContext, ProjectContext
from coderefine.proposers.search.operators import TABLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Module
from coderefine.proposers.search.validate import Clock, Trial
from coderefine.runner.candidates import Judged
from coderefine.runner.pool import Candidate, Plan, Pool, open_pool
from coderefine.workspace import open_views
from tests.support.repo import make_repo, write

FILES = {
    "m.py": "def f(n):\n    if n:\n        return 1\n    return 2\n",
    "test_a.py": "import os\nfrom m import f\n\n\ndef test_fails():\n    assert f(1) == 3\n\n\n"
    "def test_dies():\n    os._exit(3 if f(0) else 0)\n\n\ndef test_near():\n    assert f(0) == 2\n",
    "test_b.py": "from m import f\n\n\ndef test_far():\n    assert f(5) == 1\n",
}
FAILS, DIES, NEAR, FAR = "test_a.py::test_fails", "test_a.py::test_dies", "test_a.py::test_near", "test_b.py::test_far"
EXPECTED = {FAILS: Status.FAILED, DIES: Status.ERROR, NEAR: Status.PASSED, FAR: Status.PASSED}


def test_a_test_that_dies_while_it_is_watched_costs_itself_only(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", FILES)
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, expected=EXPECTED, workers=2) as pool:
        coverage = pool.observe([FAILS, DIES], [NEAR, FAR])
        assert coverage[FAILS]["m.py"] >= {2, 3}
        assert coverage[NEAR]["m.py"] >= {2, 4}
        assert set(coverage) == {FAILS, NEAR, FAR}
        assert pool.unfit == frozenset()
        right = FILES["m.py"].replace("return 1", "return 3").encode()
        (judged,) = pool.judge([Candidate(1, {"m.py": right})], Plan(first=(FAILS,), known=frozenset({DIES})))
        assert judged.statuses[FAILS] is Status.PASSED
        assert not judged.plausible, "test_far needs the 1"


def test_the_code_of_a_project_that_is_a_plug_in_of_pytest_is_traced_and_judged_by_forks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest-mock: its code was taken for tests, so nothing of it was traced, and a nonsensical patch was written."""
    installed = tmp_path / "installed"
    entry = {
        "METADATA": "Metadata-Version: 2.1\nName: plug\nVersion: 1\n",
        "entry_points.txt": "[pytest11]\nplug = plug\n",
    }
    write(installed, {f"plug-1.dist-info/{name}": text for name, text in entry.items()})
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    files = {
        "pytest.ini": "[pytest]\naddopts = -p plug -p no:legacypath\n",
        "plug/__init__.py": "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n",
        "plug/m.py": FILES["m.py"],
        "test_a.py": "from plug.m import f\n\n\ndef test_fails(three):\n    assert f(1) == three\n",
    }
    top = make_repo(tmp_path / "p", files)
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, expected={FAILS: Status.FAILED}) as pool:
        coverage = pool.observe([FAILS], [])
        right = FILES["m.py"].replace("return 1", "return 3").encode()
        (judged,) = pool.judge([Candidate(1, {"plug/m.py": right})], Plan(first=(FAILS,)))
    assert coverage[FAILS]["plug/m.py"] >= {2, 3}
    assert (judged.plausible, judged.speed) == (True, "hot"), judged.reason


def test_a_server_in_which_pytest_ends_is_an_error_of_the_runner(tmp_path: Path) -> None:
    """It was a KeyError. Signals reach the server, but not the processes that it forks."""
    ends = "import signal\n\n\ndef pytest_collection_finish():\n    signal.setitimer(signal.ITIMER_REAL, 2.0)\n\n\n"
    ends += "def end(*_):\n    raise KeyboardInterrupt\n\n\nsignal.signal(signal.SIGALRM, end)\n"
    top = make_repo(tmp_path / "p", {**FILES, "conftest.py": ends})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, workers=1, expected=EXPECTED) as pool:
        time.sleep(2.5)
        with pytest.raises(RunnerError, match="pytest ended in the hot test server: exit 2"):
            pool.probe([Candidate(1, {"m.py": FILES["m.py"].encode()})], [NEAR], 1.0)


def test_only_the_files_that_are_named_are_loaded(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", {**FILES, "test_c.py": "raise SystemExit\n"})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, workers=1, files=["test_b.py"]) as pool:
        assert pool.tests == (FAR,)
        assert not pool.broken


def test_a_test_that_was_not_observed_is_not_run(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", FILES)
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, workers=1, expected=EXPECTED) as pool:
        pool.observe([FAILS], [])
        right = FILES["m.py"].replace("return 1", "return 3").encode()
        (judged,) = pool.judge([Candidate(1, {"m.py": right})], Plan(first=(FAILS,)))
        assert judged.plausible
        assert set(judged.statuses) == {FAILS}


def test_the_tests_that_were_not_observed_can_be_run_untraced(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", FILES)
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, workers=2, expected=EXPECTED) as pool:
        pool.observe([FAILS, DIES], [])
        assert list(pool.observe_rest([FAILS, DIES], 5.0)) == [NEAR, FAR]
        assert not pool.observe_rest([FAILS, DIES], 5.0)
        assert pool.unfit == frozenset()
        right = FILES["m.py"].replace("return 1", "return 3").encode()
        (judged,) = pool.judge([Candidate(1, {"m.py": right})], Plan(first=(FAILS,), known=frozenset({DIES})))
        assert not judged.plausible, "test_far needs the 1"


def test_repairs_that_break_a_test_which_was_not_observed_are_dropped(tmp_path: Path) -> None:
    """markdown-it-py: twelve such repairs, of which the proof refused two; the right one was never reached."""
    top = make_repo(tmp_path / "p", FILES)
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    module = Module.of("m.py", FILES["m.py"].encode())
    assert module is not None
    local = FunctionContext(module, None, ProjectContext({"m.py": module}))
    site = Site(local, module.by_line[3])
    texts = [
        FILES["m.py"].replace("    if n:", f"    if n == 1:\n        return 3\n    if n:{more}") for more in ("", "  #")
    ]
    wrong = FILES["m.py"].replace("return 1", "return 3")
    proposals = (Proposed(Scored(0.0, Edit(()), TABLE[0], site), text) for text in (wrong, *texts))
    with open_views(place) as views, open_pool(views, place, python, config, workers=1, expected=EXPECTED) as pool:
        pool.observe([FAILS], [])
        trial = Trial(pool, [FAILS], Clock(60.0), lambda *_: None, lambda _: frozenset({FAILS}))
        trial.run(proposals)
    assert sorted(repair.proposed.text for repair in trial.repairs) == sorted(texts)


@dataclass
class ScriptedPool:
    """Refuses all candidates; those that change `g` take a second, because it ran while the project was imported."""

    judged: list[str] = field(default_factory=list)
    tests: tuple[str, ...] = (FAILS,)
    broken: tuple[str, ...] = ()
    unfit: frozenset[str] = frozenset()
    costly: Mapping[str, float] = field(default_factory=dict)

    def judge(self, candidates: Iterable[Candidate], _: Plan) -> Iterator[Judged]:
        for candidate in candidates:
            text = (candidate.files["m.py"] or b"").decode()
            slow = "" if "n + 1" in text else "g ran while the project was imported"
            self.judged.append("g" if slow else "f")
            seconds = 1.0 if slow else 0.01
            yield Judged(candidate, {FAILS: Status.FAILED}, "hot", plausible=False, seconds=seconds, slow=slow)


def test_candidates_of_functions_that_ran_at_import_do_not_take_all_the_time() -> None:
    """boltons: 24 of them took 26 seconds, a hundred times as long as others, and the right one was never reached."""
    text = "def g(n):\n    return n + 1\n\n\n" + FILES["m.py"]
    module = Module.of("m.py", text.encode())
    assert module is not None
    world = ProjectContext({"m.py": module})
    first, second = (node for node in module.tree.body if isinstance(node, ast.FunctionDef))
    g, f = (Site(FunctionContext(module, one, world), one.body[0]) for one in (first, second))
    slow = [Proposed(Scored(0.0, Edit(()), TABLE[0], g), text.replace("n + 1", f"n + {n}")) for n in range(2, 6)]
    quick = [Proposed(Scored(0.0, Edit(()), TABLE[0], f), text.replace("return 2", f"return {n}")) for n in range(3, 6)]
    pool = ScriptedPool()
    trial = Trial(cast("Pool", pool), [FAILS], Clock(60.0), lambda *_: None, lambda _: frozenset({FAILS}))
    trial.run(iter([*slow, *quick]))
    assert "".join(pool.judged) == "gfffggg"


class HangingPool(ScriptedPool):
    """The first candidate passes; all others hang, and their verdicts come at the end of the plan, as in the pool."""

    def __init__(self, seconds: float = 0.02) -> None:
        """Create a pool in which a candidate hangs for `seconds`."""
        super().__init__()
        self._seconds = seconds

    def observe_rest(self, _failing: object, _seconds: float) -> dict[str, float]:
        return {}

    def judge(self, candidates: Iterable[Candidate], _: Plan) -> Iterator[Judged]:
        hung = []
        for candidate in candidates:
            self.judged.append(str(candidate.number))
            if candidate.number == 1:
                yield Judged(candidate, {FAILS: Status.PASSED}, "hot", plausible=True)
            else:
                time.sleep(self._seconds)
                hung.append(Judged(candidate, {}, "hot", plausible=False, hung=True))
        yield from hung


def endless() -> Iterator[Proposed]:
    """Proposals for one line, without end."""
    module = Module.of("m.py", FILES["m.py"].encode())
    assert module is not None
    site = Site(FunctionContext(module, None, ProjectContext({"m.py": module})), module.by_line[3])
    texts = (FILES["m.py"].replace("return 1", f"return {n}") for n in itertools.count(3))
    return (Proposed(Scored(0.0, Edit(()), TABLE[0], site), text) for text in texts)


def test_candidates_that_hang_count_as_judged_after_the_first_repair() -> None:
    """A loop that never ended was repaired after 36 s, 17 of which passed because no hanging candidate was counted."""
    pool = HangingPool()
    trial = Trial(cast("Pool", pool), [FAILS], Clock(60.0), lambda *_: None, lambda _: frozenset({FAILS}))
    trial.run(endless())
    assert len(trial.repairs) == 1
    assert len(pool.judged) in range(40, 120), "2 s, not LONGEST_GRACE"


def test_after_the_first_repair_time_is_left_to_measure_its_tests() -> None:
    """num2words: the right repair was only offered, because no time was left to judge mutants of it."""
    clock = Clock(3.0)
    trial = Trial(cast("Pool", HangingPool(0.1)), [FAILS], clock, lambda *_: None, lambda _: frozenset({FAILS}))
    trial.run(endless())
    assert len(trial.repairs) == 1
    assert 0 < clock.left < 1


def test_a_file_named_pytest_ini_at_the_top_does_not_keep_the_pool_from_starting(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", {**FILES, "pytest.ini": "[pytest]\n"})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, workers=1, files=["test_b.py"]) as pool:
        assert pool.tests == (FAR,)


@pytest.mark.thorough
def test_records_count_even_if_the_time_ends_in_a_slow_test(tmp_path: Path) -> None:
    slow = "\n\ndef test_slow():\n    for n in range(10**8):\n        f(n)\n    assert f(1) == 3\n"
    top = make_repo(tmp_path / "p", {**FILES, "test_a.py": FILES["test_a.py"] + slow})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    expected = {**EXPECTED, "test_a.py::test_slow": Status.FAILED}
    with open_views(place) as views, open_pool(views, place, python, config, expected=expected) as pool:
        coverage = pool.observe([FAILS, "test_a.py::test_slow"], [NEAR], 1.0)
    assert coverage[FAILS]["m.py"] >= {2, 3}
    assert coverage[NEAR]["m.py"] >= {2, 4}


@pytest.mark.thorough
def test_passing_tests_count_although_another_is_slow_to_watch(tmp_path: Path) -> None:
    """The whole process was killed: with no passing test to compare with, a line of 1,265 suspicious ones was 728th."""
    slow = "\n\ndef test_slow():\n    for n in range(10**8):\n        f(n)\n"
    top = make_repo(tmp_path / "p", {**FILES, "test_b.py": FILES["test_b.py"] + slow})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    late = "test_b.py::test_slow"
    expected = {**EXPECTED, late: Status.PASSED}
    with open_views(place) as views, open_pool(views, place, python, config, expected=expected, workers=1) as pool:
        coverage = pool.observe([FAILS], [FAR, late], 1.0)
    assert coverage[FAR]["m.py"] >= {2, 3}


@pytest.mark.thorough
def test_candidates_that_get_further_than_the_unchanged_program_do_not_count_as_hanging(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", FILES)
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    long = "import time\nuntil = time.process_time() + 0.4\nwhile time.process_time() < until: pass\n"
    body = "".join(f"        {line}\n" for line in long.splitlines())
    right = FILES["m.py"].replace("        return 1", f"{body}        return 3")
    candidates = [Candidate(number, {"m.py": f"{right}# {number}\n".encode()}) for number in range(1, 9)]
    plan = Plan(first=(FAILS,), then=(), known=frozenset({DIES}))
    with open_views(place) as views, open_pool(views, place, python, config, expected=EXPECTED, workers=2) as pool:
        pool.observe([FAILS], [NEAR])
        judged = list(pool.judge(candidates, plan))
    assert [one.reason for one in judged] == [""] * 8


def test_a_slow_fixture_that_tests_share_does_not_make_all_candidates_hang(tmp_path: Path) -> None:
    """pytest-django: each child sets up the database, whose duration the cold run counts for the first test only."""
    slow = "import pytest, time\n\n\n@pytest.fixture(autouse=True, scope='session')\ndef database():\n"
    slow += "    until = time.process_time() + 1.6\n    while time.process_time() < until: pass\n"
    tests = "from m import f\n\n\ndef test_near():\n    assert f(0) == 2\n\n\n"
    tests += "def test_fails():\n    assert f(1) == 3\n\n\ndef test_other():\n    assert f(0) == 2\n"
    top = make_repo(tmp_path / "p", {"m.py": FILES["m.py"], "conftest.py": slow, "test_a.py": tests})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    other = "test_a.py::test_other"
    expected = {FAILS: Status.FAILED, NEAR: Status.PASSED, other: Status.PASSED}
    right = FILES["m.py"].replace("return 1", "return 3").encode()
    with (
        open_views(place) as views,
        open_pool(
            views, place, python, config, expected=expected, seconds={NEAR: 1.6, FAILS: 0.0, other: 0.0}, workers=1
        ) as pool,
    ):
        pool.observe([FAILS], [other])
        (judged,) = pool.judge([Candidate(1, {"m.py": right})], Plan(first=(FAILS,)))
    assert (judged.reason, set(judged.statuses)) == ("", {FAILS, other})


def test_a_passing_test_for_which_the_time_of_watching_does_not_suffice_is_not_unfit(tmp_path: Path) -> None:
    slow = "import time\nfrom m import f\n\n\ndef test_far():\n    f(5)\n    until = time.process_time() + 2.5\n"
    slow += "    while time.process_time() < until: pass\n"
    top = make_repo(tmp_path / "p", {**FILES, "test_b.py": slow})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    with open_views(place) as views, open_pool(views, place, python, config, expected=EXPECTED, workers=1) as pool:
        pool.observe([], [FAR], 0.1)
        assert FAR not in pool.unfit


@pytest.mark.parametrize(
    ("work", "workers"), [("time.sleep(0.5)", 4), ("sum(range(10**7))", 1)], ids=["waits", "computes"]
)
def test_failing_tests_that_wait_do_not_leave_the_processors_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str, workers: int
) -> None:
    """decorator: one failing test sleeps for 5.8 s, so two workers judged only 35 candidates in 20 s."""
    monkeypatch.setenv("PYTHON_CPU_COUNT", "1")
    tests = f"import time\nfrom m import f\n\n\ndef test_fails():\n    {work}\n    assert f(1) == 3\n"
    top = make_repo(tmp_path / "p", {**FILES, "test_a.py": tests})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, {})
    expected, seconds = {FAILS: Status.FAILED}, {FAILS: 0.5}
    with (
        open_views(place) as views,
        open_pool(views, place, python, config, expected=expected, seconds=seconds) as pool,
    ):
        pool.observe([FAILS], [])
        assert pool.workers == workers
        candidates = [Candidate(n, {"m.py": FILES["m.py"].replace("1", str(n)).encode()}) for n in range(4)]
        judged = list(pool.judge(candidates, Plan(first=(FAILS,))))
    assert {one.candidate.number for one in judged if one.plausible} == {3}
