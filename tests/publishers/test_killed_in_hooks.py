"""Killed while the commit's own hooks run: afterwards it is all old or all new, and nothing is locked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coderefine.errors import PublishError
from coderefine.git import Repository
from coderefine.journal import Journal
from coderefine.publishers import recover, undo
from tests.publishers.test_commit import hook
from tests.support.command import kill_all
from tests.support.publishing import state
from tests.support.repo import git, write

ROOT = Path(__file__).parents[2]
CHILD = """
import sys
from pathlib import Path
import git
from coderefine.publishers import Commit
from tests.support.publishing import stage
files = {"src/a.py": "one = 10\\ntwo = 2\\n", "src/b.py": None, "src/c.py": "new = 1\\n"}
prepared = stage(Path(sys.argv[1]), files, head=True)
Commit(prepared.snapshot).publish(prepared.outcome)
"""
FORMATS = "echo '# formatted' >> src/a.py; echo 1 >> src/c.py; git add src/a.py; touch '{reached}'; sleep {seconds}"


def begun(repo: Path, reached: Path) -> subprocess.Popen[bytes]:
    """A commit under way whose hook has come to `reached`."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TEST_MARK": str(reached)}
    child = subprocess.Popen((sys.executable, "-c", CHILD, str(repo)), cwd=ROOT, env=env, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not reached.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert reached.exists()
    return child


def end(child: subprocess.Popen[bytes], mark: str) -> None:
    """SIGKILL for it, git and the hooks that carry `mark` in their environment or command line."""
    child.kill()
    child.wait()
    kill_all(mark)


@pytest.fixture
def asleep(repo: Path) -> Path:
    """A repository whose commit was killed while a hook slept."""
    hook(repo, "pre-commit", "touch .git/reached; sleep 30")
    end(begun(repo, repo / ".git/reached"), f"TEST_MARK={repo / '.git/reached'}")
    assert (repo / "src/a.py").read_text() == "one = 10\ntwo = 2\n"
    return repo


def test_an_edit_made_after_the_kill_stays(asleep: Path) -> None:
    """It was taken for the work of a hook, and replaced by the content before the run."""
    with (asleep / "src/a.py").open("a") as file:
        file.write("# precious\n")
    result = recover(Repository.open(asleep))
    assert result
    assert "src/a.py was changed meanwhile: this change stays" in result
    assert (asleep / "src/a.py").read_text() == "one = 1\ntwo = 2\n# precious\n"
    assert git(asleep, "status", "--porcelain") == "M src/a.py"


@pytest.mark.parametrize("edit", ["", "# precious\n"], ids=["as it was written", "edited"])
def test_what_was_committed_after_the_kill_stays(asleep: Path, edit: str) -> None:
    """The user removed index.lock, as git advises, and committed; the files of this commit were reverted."""
    (asleep / ".git/index.lock").unlink()
    with (asleep / "src/a.py").open("a") as file:
        file.write(edit)
    git(asleep, "commit", "-q", "--no-verify", "-m", "my work", "src/a.py")
    result = recover(Repository.open(asleep))
    assert result
    assert "src/a.py stays as it is in HEAD" in result
    assert git(asleep, "diff", "HEAD", "--name-only") == ""
    assert git(asleep, "status", "--porcelain") == ""
    assert (asleep / "src/a.py").read_text() == f"one = 10\ntwo = 2\n{edit}"


def test_work_that_was_staged_after_the_kill_stays(asleep: Path) -> None:
    """Without the lock of the commit, what differs from the patch is the user's work, and is left alone."""
    (asleep / ".git/index.lock").unlink()
    write(asleep, {"src/a.py": "one = 10\ntwo = 2\n# precious\n"})
    git(asleep, "add", "src/a.py")
    result = recover(Repository.open(asleep))
    assert result
    assert "src/a.py was changed meanwhile" in result
    assert git(asleep, "status", "--porcelain") == "M  src/a.py"


def test_an_edit_made_before_the_commit_is_completed_is_not_undone(repo: Path) -> None:
    """Completing recorded the content of the tree as written by the run, so undo removed the edit."""
    hook(repo, "pre-commit", FORMATS.format(reached=repo / ".git/reached", seconds=2))
    child = begun(repo, repo / ".git/reached")
    child.kill()
    child.wait()
    with (repo / "src/a.py").open("a") as file:
        file.write("# precious\n")
    result = recover(Repository.open(repo))
    assert result
    assert "it is complete now" in result
    with pytest.raises(PublishError, match=r"src/a\.py was changed after run"):
        undo(Journal.load(Repository.open(repo)))
    assert (repo / "src/a.py").read_text() == "one = 10\ntwo = 2\n# formatted\n# precious\n"


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_killed_while_a_formatter_runs_what_is_known_as_its_work_is_taken_back(repo: Path, name: str) -> None:
    write(repo, {"notes.txt": "staged\n"})
    git(repo, "add", "notes.txt")
    before = state(repo)
    hook(repo, name, FORMATS.format(reached=repo / ".git/reached", seconds=30))
    end(begun(repo, repo / ".git/reached"), f"TEST_MARK={repo / '.git/reached'}")
    result = recover(Repository.open(repo))
    assert result
    assert "src/c.py was changed meanwhile, and it stays as it is" in result
    assert (repo / "src/c.py").read_text() == "new = 1\n1\n"
    (repo / "src/c.py").unlink()
    assert state(repo) == before
    kept = Path(result.partition(" is kept in ")[2].partition("; ")[0])
    assert kept.read_text() == "one = 10\ntwo = 2\n# formatted\n"
    assert recover(Repository.open(repo)) is None


def test_a_killed_commit_left_its_message_in_a_temporary_folder_for_a_day(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git read it from there, and might have outlived us, so that nothing could remove it sooner."""
    scratch, reached = tmp_path / "tmp", tmp_path / "reached"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    hook(repo, "pre-commit", FORMATS.format(reached=reached, seconds=60))
    end(begun(repo, reached), str(reached))
    assert not list(scratch.iterdir())


def test_a_hook_that_outlives_the_kill_completes_the_commit(repo: Path) -> None:
    hook(repo, "pre-commit", FORMATS.format(reached=repo / ".git/reached", seconds=2))
    hook(repo, "commit-msg", 'echo plain > "$1"')
    child = begun(repo, repo / ".git/reached")
    child.kill()
    child.wait()
    result = recover(Repository.open(repo))
    assert result
    assert "it is complete now" in result
    assert git(repo, "log", "-1", "--format=%B") == "plain"
    assert git(repo, "show", "HEAD:src/a.py") == "one = 10\ntwo = 2\n# formatted"
    assert not (repo / ".git/index.lock").exists()
    assert git(repo, "status", "--porcelain") == "M src/c.py"
    git(repo, "checkout", "-q", "--", "src/c.py")
    undo(Journal.load(Repository.open(repo)))
    assert (repo / "src/a.py").read_text() == "one = 1\ntwo = 2\n"


def test_a_kill_while_the_index_follows_the_hooks_leaves_no_lock(repo: Path) -> None:
    """Between the record of the newer index and its being put in place of the lock."""
    hook(repo, "pre-commit", "echo '# formatted' >> src/a.py; echo 1 > VERSION; git add src/a.py VERSION")
    script = CHILD.replace(
        "Commit(prepared",
        "import os, signal\nfrom coderefine.publishers import user_index\n"
        "user_index.UserIndex.replace_lock = lambda self: os.kill(os.getpid(), signal.SIGKILL)\nCommit(prepared",
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run((sys.executable, "-c", script, str(repo)), cwd=ROOT, env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    result = recover(Repository.open(repo))
    assert result
    assert "it is complete now" in result
    assert not (repo / ".git/index.lock").exists()
    assert git(repo, "status", "--porcelain") == ""
    undo(Journal.load(Repository.open(repo)))
    assert git(repo, "rev-list", "--count", "HEAD") == "1"


def test_hooks_that_format_and_drop_the_trailers_do_not_hide_the_commit(repo: Path) -> None:
    hook(repo, "pre-commit", "echo '# formatted' >> src/a.py; git add src/a.py")
    hook(repo, "commit-msg", 'echo "plain words" > "$1"')
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run((sys.executable, "-c", CHILD, str(repo)), cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert git(repo, "log", "--format=%s").split("\n") == ["plain words", "start"]
    assert git(repo, "status", "--porcelain") == ""
    undo(Journal.load(Repository.open(repo)))
    assert git(repo, "rev-list", "--count", "HEAD") == "1"
    assert git(repo, "status", "--porcelain") == ""


def test_files_staged_late_by_a_message_hook_do_not_hide_the_commit(repo: Path) -> None:
    """git has written the tree by then; what is staged after that is in its index and not in the commit."""
    hook(repo, "commit-msg", 'echo plain > "$1"; echo 1 > LATE; git add LATE')
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run((sys.executable, "-c", CHILD, str(repo)), cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert git(repo, "log", "--format=%s").split("\n") == ["plain", "start"]
    assert git(repo, "status", "--porcelain") == "?? LATE"
