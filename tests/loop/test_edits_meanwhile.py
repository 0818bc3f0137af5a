"""The user edits files while a run proves a patch: the proof is about the tree as it is then, or nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from coderefine import Event, Outcome, refine
from coderefine.core import Status
from coderefine.errors import PublishError
from coderefine.workspace.originals import Originals
from tests.support.command import GREEN, LINT, ROOT, TESTS, coderefine
from tests.support.repo import make_repo, write

RATE = "def rate():\n    return 3\n"
OTHER = "def rate():\n    return 4\n"
RATE_TESTS = "from rate import rate\n\n\ndef test_rate():\n    assert rate() == 3\n"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A lint finding in `order.py`, and another module, which is tested."""
    files = {"order.py": LINT, "test_order.py": TESTS, "rate.py": RATE, "test_rate.py": RATE_TESTS}
    return make_repo(tmp_path / "two", {**files, ".gitignore": "__pycache__/\n"})


def at(stage: str, act: Callable[[], object]) -> Callable[[Event], None]:
    """Call `act` once, when `stage` begins for the first time."""
    todo = [act]

    def listen(event: Event) -> None:
        if todo and event.text == stage:
            todo.pop()()

    return listen


def fixed(top: Path, listen: Callable[[Event], None]) -> Outcome:
    return refine(write=True, listen=listen, cwd=top)


def left(outcome: Outcome) -> list[str | None]:
    return [finding.symbol for finding in outcome.remaining]


def test_a_test_broken_by_an_edit_during_the_proof_was_called_flaky(two: Path) -> None:
    """The run ended with "all checks pass", and exit code 0."""
    outcome = fixed(two, at("proof", lambda: write(two, {"rate.py": OTHER})))
    assert outcome.evidence.flaky == ()
    assert left(outcome) == ["test_rate.py::test_rate"]
    assert outcome.baseline.cases["test_rate.py::test_rate"].status is Status.FAILED
    assert (two / "order.py").read_text() == GREEN, "the repair is as good as before"


def test_an_edit_after_the_proof_was_not_noticed(two: Path) -> None:
    """While the strength was measured: the patch was written, and the run ended with "all checks pass"."""
    outcome = fixed(two, at("strength", lambda: write(two, {"rate.py": OTHER})))
    assert left(outcome) == ["test_rate.py::test_rate"]
    assert (two / "order.py").read_text() == GREEN


def test_a_tree_that_is_edited_after_each_proof_is_not_written(two: Path) -> None:
    def listen(event: Event) -> None:
        if event.text == "strength":
            write(two, {"rate.py": OTHER})

    with pytest.raises(PublishError, match=r"rate\.py changed after the checks began, so nothing was written"):
        fixed(two, listen)
    assert (two / "order.py").read_text() == LINT
    assert "-import os" in coderefine("show", "--diff", cwd=two).out


def test_a_report_that_goes_to_a_file_in_the_tree_was_an_edit(two: Path) -> None:
    """Start and patch were checked once more each time: "log.txt changed meanwhile"."""
    argv = (sys.executable, "-m", "coderefine", "fix", "--no-model")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (two / "out.txt").open("w") as out, (two / "log.txt").open("w") as err:
        done = subprocess.run(argv, cwd=two, env=env, stdout=out, stderr=err, check=False)
    assert done.returncode == 0
    assert "changed meanwhile" not in (two / "log.txt").read_text()
    assert (two / "order.py").read_text() == GREEN


def test_a_deleted_file_was_no_edit(two: Path) -> None:
    originals = Originals(two)
    time.sleep(0.05)  # the clock of a file system is some milliseconds late
    since = time.time_ns() - 2 * 10**7
    (two / "rate.py").unlink()
    assert originals.edited(since) == ("rate.py",)
    assert originals.edited(time.time_ns()) == ()


def test_a_file_deleted_before_the_run_was_an_edit_when_its_folder_changed(two: Path) -> None:
    """The folder's time was taken for that of the removal: a server's log file was enough, and nothing was written."""
    (two / "rate.py").unlink()
    originals = Originals(two)
    time.sleep(0.05)
    since = time.time_ns() - 2 * 10**7
    write(two, {"server.log": "started\n"})
    assert originals.edited(since) == ("server.log",)
    write(two, {"rate.py": RATE})
    assert set(originals.edited(since)) == {"rate.py", "server.log"}
    (two / "rate.py").unlink()
    assert set(originals.edited(since)) == {"rate.py", "server.log"}, "it was there, and is removed again"
