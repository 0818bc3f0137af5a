"""Ctrl-C, SIGTERM and SIGKILL: the tree as it was, no process left running, and the run can go on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import every, few
from tests.support.command import DEFINED, GREEN, ORDER, RIGHT, TESTS, UNDEFINED, coderefine, descendants, end, start
from tests.support.llm_server import LlmServer, Reply
from tests.support.publishing import state
from tests.support.repo import make_repo

ASLEEP = TESTS + "\n\ndef test_sleeps():\n    import os, time\n\n    time.sleep(60)\n"


def wait(done: Callable[[], object], process: subprocess.Popen[str], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not done():
        if process.poll() is not None:
            pytest.fail("".join(process.communicate()))
        assert time.monotonic() < until, "never happened"
        time.sleep(0.02)


def gone(mark: str) -> bool:
    """Return whether no process with `mark` in its environment is alive, within half a minute."""
    until = time.monotonic() + 30.0
    while descendants(mark) and time.monotonic() < until:
        time.sleep(0.02)
    return not descendants(mark)


@pytest.mark.parametrize(
    "case",
    few(
        (f"{name}, {view}" for name in ("SIGINT", "SIGTERM", "SIGHUP") for view in ("overlay", "copy")),
        "SIGINT, overlay",
    ),
)
def test_a_sleeping_baseline_is_interrupted_at_once(tmp_path: Path, case: str) -> None:
    name, _, view = case.partition(", ")
    number = signal.Signals[name]
    mark = f"mark-{os.getpid()}-{number}-{view}"
    top = make_repo(tmp_path / "asleep", {"order.py": ORDER, "test_order.py": ASLEEP})
    before = state(top)
    process = start("fix", "--no-model", "--view", view, cwd=top, env={"MARK": mark})
    wait(lambda: [line for line in descendants(mark) if "pytest" in line or "cold" in line], process)
    wait(lambda: list((top / ".git/coderefine/runs").glob("*/run.json")), process)  # the probe names pytest, too
    time.sleep(1.0)
    began = time.monotonic()
    process.send_signal(number)
    result = end(process)
    assert result.code == 130, result
    assert time.monotonic() - began < 30.0, "two seconds on a machine that does nothing else; the test sleeps for sixty"
    (line,) = result.lines
    assert re.fullmatch(r"coderefine: interrupted; nothing was written; coderefine resume [\w-]+ continues it", line)
    assert "Traceback" not in result.err
    assert gone(mark), descendants(mark)
    assert state(top) == before


DESTROYED = """
import signal, sys, time, weakref
from coderefine.quick.ending import interrupt_on_signals

interrupt_on_signals()
class Thing: ...
def callback(_):
    print("inside", flush=True)
    time.sleep(0.5)
    print("left", flush=True)
thing = Thing()
watched = weakref.ref(thing, callback)
try:
    del thing
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_that_python_ignores_in_a_callback_is_not_lost(name: str) -> None:
    """Each import runs such a callback: an MCP worker went on after its call had been cancelled."""
    argv = (sys.executable, "-c", DESTROYED)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "inside\n"
        process.send_signal(signal.Signals[name])
        out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)


@pytest.mark.parametrize("number", every(2, [signal.SIGKILL, signal.SIGINT]))
def test_a_run_cut_short_is_finished_without_paying_twice(repo: Path, number: int) -> None:
    """The gate is ruff alone, with a finding that only a model repairs: each run of tests is a start of Python."""
    mark = f"mark-{os.getpid()}-resume-{number}"
    (repo / "order.py").write_text(UNDEFINED)
    before = state(repo)
    with LlmServer([DEFINED.replace("total -", "totle -"), Reply(DEFINED, delay=60), DEFINED]) as server:
        flags = ("--no-search", "--gate", "ruff", "--model", "m", "--base-url", server.url)
        process = start("fix", *flags, cwd=repo, env={"MARK": mark})
        wait(lambda: len(server.requests) == 2, process)
        process.send_signal(number)
        result = end(process)
        assert result.code in (-9, 130), result
        assert "Traceback" not in result.err
        assert gone(mark), descendants(mark)
        assert state(repo) == before
        assert ("killed" if number == signal.SIGKILL else "interrupted") in coderefine("log", cwd=repo).out
        resumed = coderefine("resume", cwd=repo)
    assert resumed.code == 0, resumed
    assert (repo / "order.py").read_text() == GREEN
    # Three in all: the first answer was journalled and is not asked for again, the second never arrived.
    assert len(server.requests) == 3
    assert server.requests[0].body != server.requests[1].body == server.requests[2].body
    again = coderefine("resume", cwd=repo)
    assert again.code == 2
    assert "has ended" in again.lines[0]


def test_an_edit_between_interrupt_and_resume_is_not_part_of_the_patch(repo: Path) -> None:
    """`show --diff` had the edit, too, and listed the attempts of the killed part after those of the resumed one."""
    (repo / "order.py").write_text(UNDEFINED)
    wrong = [DEFINED.replace("total -", f"{name} -") for name in ("totle", "tootal")]
    with LlmServer([*wrong, Reply(DEFINED, delay=60), DEFINED]) as server:
        flags = ("--no-search", "--gate", "ruff", "--model", "m", "--base-url", server.url)
        process = start("fix", *flags, cwd=repo)
        wait(lambda: len(server.requests) == 3, process)
        process.send_signal(signal.SIGKILL)
        end(process)
        (repo / "order.py").write_text(f"{UNDEFINED}\n\nEDITED = 1\n")
        resumed = coderefine("resume", cwd=repo)
    assert resumed.code == 0, resumed
    assert (repo / "order.py").read_text() == f"{GREEN}\n\nEDITED = 1\n"
    diff = coderefine("show", "--diff", cwd=repo).out
    assert "+    return total -" in diff
    assert "+EDITED" not in diff
    shown = coderefine("show", cwd=repo).out
    assert re.findall(r"^.\s*(\d+)  ", shown, re.MULTILINE) == ["0", "1"], shown


@pytest.mark.thorough
def test_a_proved_patch_is_offered_when_interrupted_after_it(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "late", {"order.py": f"import os\n\n{ORDER}", "test_order.py": TESTS})
    before = state(top)
    with LlmServer([Reply(RIGHT, delay=60)]) as server:
        process = start("fix", "--no-search", "--model", "m", "--base-url", server.url, cwd=top)
        wait(lambda: len(server.requests) == 1, process)
        process.send_signal(signal.SIGINT)
        result = end(process)
    assert result.code == 130, result
    assert "coderefine resume" in result.out
    assert state(top) == before
    assert "-import os" in coderefine("show", "--diff", cwd=top).out


@pytest.mark.thorough
def test_a_second_run_in_the_same_tree_is_refused(repo: Path) -> None:
    with LlmServer([Reply(RIGHT, delay=60)]) as server:
        process = start("fix", "--no-search", "--model", "m", "--base-url", server.url, cwd=repo)
        wait(lambda: len(server.requests) == 1, process)
        second = coderefine("fix", "--no-model", cwd=repo)
        process.send_signal(signal.SIGINT)
        end(process)
    assert second.code == 2, second
    assert f"process {process.pid}" in second.lines[0]


@pytest.mark.thorough
def test_a_run_resumed_elsewhere_writes_its_patch_to_the_requested_file(repo: Path) -> None:
    (repo / "sub").mkdir()
    with LlmServer([Reply(RIGHT, delay=60), RIGHT]) as server:
        asked = ("fix", "--no-search", "--model", "m", "--base-url", server.url, "--patch", "out.patch", str(repo))
        process = start(*asked, cwd=repo)
        wait(lambda: len(server.requests) == 1, process)
        process.send_signal(signal.SIGINT)
        end(process)
        resumed = coderefine("resume", cwd=repo / "sub")
    assert resumed.code == 0, resumed
    assert (repo / "out.patch").is_file()
    assert not (repo / "sub/out.patch").exists()


def test_a_run_whose_server_has_moved_is_resumed_there(repo: Path) -> None:
    """`resume` had no --base-url: the run could only ask the recorded server."""
    with LlmServer([Reply(RIGHT, delay=60)]) as server:
        process = start("fix", "--no-search", "--model", "m", "--base-url", server.url, cwd=repo)
        wait(lambda: len(server.requests) == 1, process)
        process.send_signal(signal.SIGINT)
        end(process)
    with LlmServer([RIGHT]) as other:
        resumed = coderefine("resume", "--base-url", other.url, cwd=repo)
        assert len(other.requests) == 1
    assert resumed.code == 0, resumed


@pytest.mark.thorough
def test_the_password_of_a_server_is_neither_recorded_nor_printed(repo: Path) -> None:
    with LlmServer([Reply(RIGHT, delay=60), RIGHT]) as server:
        secret = server.url.replace("://", "://me:hunter22@")
        process = start("fix", "--no-search", "--model", "m", "--base-url", secret, cwd=repo)
        wait(lambda: len(server.requests) == 1, process)
        process.send_signal(signal.SIGINT)
        result = end(process)
        files = [path for path in (repo / ".git/coderefine").rglob("*") if path.is_file()]
        assert not [path for path in files if b"hunter22" in path.read_bytes()]
        asked = coderefine("resume", cwd=repo)
        resumed = coderefine("resume", cwd=repo, env={"CODEREFINE_BASE_URL": secret})
    assert "coderefine resume --base-url URL" in asked.lines[0]
    assert resumed.code == 0, resumed
    assert "hunter22" not in f"{result}{asked}{resumed}"


def test_an_unreachable_server_is_named_without_its_password(repo: Path) -> None:
    url = "http://me:hunter22@127.0.0.1:9/v1"
    result = coderefine("fix", "--no-search", "--model", "m", "--base-url", url, "--max-requests", "1", cwd=repo)
    assert result.code == 2, result
    assert "127.0.0.1:9" in result.out
    assert "hunter22" not in f"{result}"


def test_what_a_killed_run_left_stayed_until_the_next_repair(repo: Path) -> None:
    """Its private indexes stayed for a day and more: only commands that open views removed any."""
    folder = repo.parent / "tmp" / "coderefine-git-killed"
    (folder / "files").mkdir(parents=True)
    os.utime(folder, (1, time.time() - 60))
    result = end(start("log", cwd=repo, env={"TMPDIR": str(folder.parent)}))
    assert result.code == 0, result
    assert not folder.exists()
