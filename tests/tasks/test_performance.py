"""`fix --task performance`: what is surely faster is written, nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.bench.performance.cases import CASES
from tests.support.command import Ended, block, coderefine
from tests.support.llm_server import LlmServer
from tests.support.repo import make_repo

CASE = CASES[0]
SETTINGS = '[tool.coderefine.performance]\nrun = "python bench.py"\n'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "work", {**CASE.files(), "pyproject.toml": SETTINGS})


def offered(repo: Path, reply: str) -> tuple[Ended, list[str]]:
    """What becomes of one reply, and the prompts."""
    args = ("fix", "--task", "performance", "--no-search", "--max-iterations", "1", "--model", "scripted")
    with LlmServer([reply]) as server:
        result = coderefine(*args, "--base-url", server.url, cwd=repo)
    return result, [seen.prompt for seen in server.requests]


def lines(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines()).rstrip()


@pytest.mark.thorough
def test_a_faster_version_is_accepted_with_its_interval(repo: Path) -> None:
    result, prompts = offered(repo, "A dict.\n\n" + block("work.py", lines(CASE.slow), lines(CASE.fast)))
    assert result.code == 0, result
    assert (repo / "work.py").read_text() == CASE.module(CASE.fast)
    assert "× as fast (99%: " in result.out
    assert "of the time, in 1 calls" in prompts[0]
    assert len(prompts) == 1


@pytest.mark.thorough
def test_a_no_op_is_refused_and_nothing_written(repo: Path) -> None:
    result, _ = offered(
        repo, "Names.\n\n" + block("work.py", lines(CASE.slow), lines(CASE.slow.replace("out", "seen")))
    )
    assert "not certainly above 1.05×" in result.out
    assert (repo / "work.py").read_text() == CASE.module(CASE.slow)


@pytest.mark.thorough
def test_the_benchmark_itself_is_not_made_easier(repo: Path) -> None:
    easier = block("bench.py", "distinct(list(range(2500)) * 2)", "distinct([])")
    result, _ = offered(repo, f"Less to do.\n\n{easier}")
    assert CASE.call in (repo / "bench.py").read_text()
    assert "bench.py" in result.out + result.err


def test_a_benchmark_that_fails_at_the_start_is_an_error(repo: Path) -> None:
    (repo / "bench.py").write_text("raise SystemExit(3)\n")
    result, prompts = offered(repo, "nothing")
    assert result.code == 2, result
    assert "the start cannot be measured" in result.lines[0]
    assert not prompts


BENCHMARKS = """\
import pytest

from work import distinct, total


def test_distinct(benchmark):
    assert benchmark(distinct, list(range(700)) * 2) == list(range(700))


@pytest.mark.parametrize("count", [20_000])
def test_total(benchmark, count):
    assert benchmark(total, range(count)) == count * (count - 1) // 2
"""
TOTAL = "    return sum(xs)"
SLOW_TOTAL = "    return sum(x for x in list(xs) for _ in range(3)) // 3"


@pytest.fixture
def benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that says nothing of coderefine, and whose benchmarks are pytest-benchmark's."""
    if importlib.util.find_spec("pytest_benchmark") is None:
        pytest.skip("pytest-benchmark is not installed")
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    work = f"{CASE.module(CASE.slow)}\n\ndef total(xs):\n{TOTAL}\n"
    files = {"work.py": work, "test_work.py": CASE.files()["test_work.py"], "test_bench.py": BENCHMARKS}
    return make_repo(tmp_path / "work", files)


@pytest.mark.slow
def test_benchmarks_of_pytest_benchmark_are_the_measure(benchmarks: Path) -> None:
    result, prompts = offered(benchmarks, "A dict.\n\n" + block("work.py", lines(CASE.slow), lines(CASE.fast)))
    assert result.code == 0, result
    assert "dict.fromkeys" in (benchmarks / "work.py").read_text()
    assert "pairs) by the pytest-benchmark tests" in result.out
    assert "distinct takes 100% of the time" in prompts[0]
    assert not (benchmarks / ".benchmarks").exists()


@pytest.mark.slow
@pytest.mark.thorough
def test_one_benchmark_that_becomes_slower_is_refused(benchmarks: Path) -> None:
    reply = block("work.py", lines(CASE.slow), lines(CASE.fast)) + block("work.py", TOTAL, SLOW_TOTAL)
    result, _ = offered(benchmarks, f"Both.\n\n{reply}")
    assert "slower in test_bench.py::test_total[20000]" in result.out
    assert SLOW_TOTAL not in (benchmarks / "work.py").read_text()
