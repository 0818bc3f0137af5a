"""What counts as an answer of the workers, and which job a worker gets next."""

from __future__ import annotations

import platform
import sys
import time
from pathlib import Path

import dask
import pytest

from coderefine.cluster import worker
from coderefine.cluster.client import Cluster, connect
from coderefine.cluster.environments import Environment
from coderefine.cluster.suite_run import confirmed
from coderefine.cluster.trees import TreeStore
from coderefine.cluster.worker import Job
from coderefine.cluster.workers import LATE, Batch, Running, Workers
from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Patch, Status
from coderefine.project import Interpreter
from coderefine.runner.cold import RunOptions
from tests.support.repo import make_repo

OWN_FILE = "def test_one():\n    open(__file__, 'a').write('# more')\n"
FAILED = Check("pytest", cases={"a.py::test": Case("a.py::test", Status.FAILED, path="a.py")})
PASSED = Check("pytest", cases={"a.py::test": Case("a.py::test", Status.PASSED, path="a.py")})
STOPPED = Check("pytest", cases=FAILED.cases, complete=False)


@pytest.mark.parametrize(("text", "changed"), [(OWN_FILE, True), ("def test_one():\n    pass\n", False)])
def test_a_run_whose_tests_change_their_files_gives_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, changed: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = TreeStore().add(make_repo(tmp_path / "project", {"test_own.py": text}), "project")
    python = Interpreter(Path(sys.executable), platform.python_version(), "ours", pytest.__version__, Path(sys.prefix))
    ask = Ask(rich=False, timeout=200.0)
    job = Job(tree, Patch(), ".", python, Config(), ask, RunOptions(canary=False))
    answer = worker.run(job)
    assert answer == "the tests changed test_own.py" if changed else isinstance(answer, Check)


def test_for_a_run_ended_by_its_first_failure_the_result_here_counts() -> None:
    early = Ask(stop_early=True)
    assert confirmed(STOPPED, early, lambda _: FAILED) is FAILED
    assert confirmed(STOPPED, early, lambda _: PASSED) is None
    assert confirmed(STOPPED, Ask(stop_early=True, known=frozenset(FAILED.cases)), lambda _: FAILED) is None
    assert confirmed(STOPPED, Ask(), lambda _: FAILED) is None


@pytest.mark.thorough
def test_workers_that_are_started_here_are_not_profiled() -> None:
    with connect("local:1") as client:
        (enabled,) = client.run(dask.config.get, "distributed.worker.profile.enabled").values()
    assert enabled is False


def test_a_straggler_is_started_once_more() -> None:
    now = time.monotonic()
    late, usual, long = (Running(index, f"w{index}", now - 2 * LATE) for index in range(3))
    batch = Batch(Workers(None), (), (), expected=(1.0, 1.0, 10 * LATE))
    batch.running = {"long": long}
    assert batch._next() is None
    batch.running = {"late": late, "long": long}
    assert batch._next() == 0
    batch.running = {"late": late, "again": Running(0, "w3", now)}
    assert batch._next() is None
    batch.running = {"new": Running(1, "w1", now)}
    assert batch._next() is None
    batch.running, batch.found = {"usual": usual}, {1: "answered"}
    assert batch._next() is None


def test_a_strict_sandbox_leaves_out_the_workers_that_lack_a_part_of_it() -> None:
    whole, lacking = (
        Environment("cpython 3.11.7", "linux"),
        Environment("cpython 3.11.7", "linux", lacking=("landlock",)),
    )
    cluster, strict = (Cluster(Workers(None), whole, "python", None, one, lambda _: None) for one in (False, True))
    assert [cluster.unfit(one) for one in (whole, lacking)] == ["", ""]
    assert [strict.unfit(one) for one in (whole, lacking)] == ["", 'lacks landlock for sandbox = "strict"']
