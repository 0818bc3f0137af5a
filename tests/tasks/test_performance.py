"""`fix --task performance`: what is surely faster is written, nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.performance.cases import CASES
from tests.support.command import Said, block, coderefine
from tests.support.llm_server import LlmServer
from tests.support.repo import make_repo

CASE = CASES[0]
SETTINGS = '[tool.coderefine.performance]\ncommand = "python bench.py"\n'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "work", {**CASE.files(), "pyproject.toml": SETTINGS})


def offered(repo: Path, reply: str) -> tuple[Said, list[str]]:
    """What becomes of one reply, and the prompts."""
    args = ("fix", "--task", "performance", "--no-search", "--max-iterations", "1", "--model", "scripted")
    with LlmServer([reply]) as server:
        said = coderefine(*args, "--base-url", server.url, cwd=repo)
    return said, [seen.prompt for seen in server.requests]


def lines(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines()).rstrip()


def test_a_faster_version_is_accepted_with_its_interval(repo: Path) -> None:
    said, prompts = offered(repo, "A dict.\n\n" + block("work.py", lines(CASE.slow), lines(CASE.fast)))
    assert said.code == 0, said
    assert (repo / "work.py").read_text() == CASE.module(CASE.fast)
    assert "× as fast (99%: " in said.out
    assert "of the time, in 1 calls" in prompts[0]
    assert len(prompts) == 1


def test_a_no_op_is_refused_and_nothing_written(repo: Path) -> None:
    said, _ = offered(repo, "Names.\n\n" + block("work.py", lines(CASE.slow), lines(CASE.slow.replace("out", "seen"))))
    assert "not surely above 1.05×" in said.out
    assert (repo / "work.py").read_text() == CASE.module(CASE.slow)


def test_the_benchmark_itself_is_not_made_easier(repo: Path) -> None:
    easier = block("bench.py", "distinct(list(range(2500)) * 2)", "distinct([])")
    said, _ = offered(repo, f"Less to do.\n\n{easier}")
    assert CASE.call in (repo / "bench.py").read_text()
    assert "bench.py" in said.out + said.err


def test_a_benchmark_that_fails_at_the_start_is_an_error(repo: Path) -> None:
    (repo / "bench.py").write_text("raise SystemExit(3)\n")
    said, prompts = offered(repo, "nothing")
    assert said.code == 2, said
    assert "the start cannot be measured" in said.lines[0]
    assert not prompts
