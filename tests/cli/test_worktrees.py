"""Linked worktrees of one repository share the recorded runs; each command means the runs of its own working tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coderefine.publishers import Files
from tests.cli.test_interrupts import wait
from tests.support.command import DEFINED, GREEN, UNDEFINED, coderefine, end, kill_all, start
from tests.support.llm_server import LlmServer, Reply
from tests.support.publishing import stage
from tests.support.repo import git, make_repo


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two working trees of one repository, at the same commit."""
    top = make_repo(tmp_path / "order", {"order.py": UNDEFINED, "spare.py": "x = 1\n"})
    linked = tmp_path / "linked"
    git(top, "worktree", "add", "-q", "-b", "side", str(linked))
    return top, linked


def test_resume_continued_the_run_of_another_worktree(pair: tuple[Path, Path]) -> None:
    """It wrote the repair of the linked worktree into the main one; `log` called the live run killed."""
    top, linked = pair
    mark = f"mark-{os.getpid()}-worktrees"
    with LlmServer([Reply(DEFINED, delay=60), DEFINED]) as server:
        flags = ("--no-search", "--gate", "ruff", "--model", "m", "--base-url", server.url)
        process = start("fix", *flags, cwd=linked, env={"MARK": mark})
        wait(lambda: server.requests, process)
        alive = coderefine("log", cwd=top).out
        process.kill()
        end(process)
        kill_all(mark)
        dead = coderefine("log", cwd=top).out
        refused = [coderefine("resume", *name, cwd=top) for name in ((), (dead.split()[0],))]
        resumed = coderefine("resume", cwd=linked)
    assert "  running  " in alive
    assert "killed" not in alive
    assert f"killed or interrupted: coderefine resume continues it  0 attempts  in {linked}" in dead
    for result in refused:
        assert result.code == 2, result
        assert f"began in the working tree {linked}: run resume there" in result.lines[0]
    assert (top / "order.py").read_text() == UNDEFINED
    assert resumed.code == 0, resumed
    assert (linked / "order.py").read_text() == GREEN


def test_undo_stopped_at_a_newer_run_of_another_worktree(pair: tuple[Path, Path]) -> None:
    """`coderefine undo`, as the report of the run had advised, named the other worktree and undid nothing."""
    for place in pair:
        prepared = stage(place, {"spare.py": "x = 2\n"})
        Files(prepared.snapshot).publish(prepared.outcome)
    top, linked = pair
    result = coderefine("undo", cwd=top)
    assert result.code == 0, result
    assert (top / "spare.py").read_text() == "x = 1\n"
    assert (linked / "spare.py").read_text() == "x = 2\n"
    again = coderefine("undo", cwd=top)
    assert again.code == 1, again
    assert f"wrote to the working tree {linked}: run undo there" in again.lines[0]
