"""Linked worktrees of one repository share the recorded runs; each command means the runs of its own working tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coderefine.mcp.folders import find_run
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
        alive, shown = (coderefine(name, cwd=top).out for name in ("log", "show"))
        assert coderefine("show", "--html", "page.html", cwd=top).code == 0
        process.kill()
        end(process)
        kill_all(mark)
        dead = coderefine("log", cwd=top).out
        refused = [coderefine("resume", *name, cwd=top) for name in ((), (dead.split()[0],))]
        resumed = coderefine("resume", cwd=linked)
    assert "  running  " in alive
    page = top / "page.html"
    assert "ended     still running\n" in shown
    assert "still running" in page.read_text()
    assert "killed" not in alive + shown + page.read_text()
    page.unlink()
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


def test_what_was_written_before_a_move_could_not_be_undone(pair: tuple[Path, Path]) -> None:
    """`undo` named the earlier place, MCP found no run; a second `undo` said that nothing had been written."""
    prepared = stage(pair[0], {"spare.py": "x = 2\n"})
    Files(prepared.snapshot).publish(prepared.outcome)
    top = pair[0].rename(pair[0].with_name("moved"))
    git(top, "worktree", "repair", str(pair[1]))
    assert find_run((top,), "", written=True).run == find_run((top,), prepared.run).run == prepared.run
    result = coderefine("undo", cwd=top)
    assert result.code == 0, result
    assert (top / "spare.py").read_text() == "x = 1\n"
    again = coderefine("undo", prepared.run, cwd=top)
    assert (again.code, again.lines) == (1, [f"coderefine: run {prepared.run} is undone already"])


def test_what_was_written_to_a_removed_worktree_could_not_be_undone(pair: tuple[Path, Path]) -> None:
    """It is in the main working tree, because the user moved it there before the linked one was removed."""
    top, linked = pair
    prepared = stage(linked, {"spare.py": "x = 2\n"})
    Files(prepared.snapshot).publish(prepared.outcome)
    git(top, "worktree", "remove", "--force", str(linked))
    different = coderefine("undo", cwd=top)
    assert different.code == 1, different
    assert "spare.py was changed after run" in different.lines[0]
    (top / "spare.py").write_text("x = 2\n")
    result = coderefine("undo", cwd=top)
    assert result.code == 0, result
    assert (top / "spare.py").read_text() == "x = 1\n"


def test_the_names_of_written_files_were_printed_as_commands_to_the_terminal(pair: tuple[Path, Path]) -> None:
    names = ["a\nb.py", "c\x1b[31m.py", "d\u202e.py", "e.py", "f.py"]
    prepared = stage(pair[0], dict.fromkeys(names, "x = 1\n"), f"{names[0]}: new")
    for attempt in prepared.outcome.attempts:
        prepared.journal.attempt(attempt)
    prepared.journal.finish(prepared.outcome)
    Files(prepared.snapshot).publish(prepared.outcome)
    log, shown = (coderefine(command, cwd=pair[0]).out for command in ("log", "show"))
    written = r"wrote a\nb.py, c\x1b[31m.py, d\u202e.py and 2 more"
    assert log.endswith(f"  {written}\n"), log
    assert log.count("\n") == 1
    assert f"result    {written}" in shown
    assert r"search: a\nb.py: new" in shown
    assert "\x1b" not in log + shown
