"""The hook judges the tree that the commit, or the push, will hold: nothing untracked, nothing of another branch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.hooks.test_commits import EDITED, FILES, WRONG, commit
from tests.support.command import coderefine
from tests.support.repo import git, make_repo, write

USES_HELPER = "from helper import plus\n\n\ndef add(a, b):\n    return plus(a, b)\n"
HELPER = "def plus(a, b):\n    return a + b\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = make_repo(tmp_path / "my project", FILES)
    assert coderefine("hook", "install", "--push", cwd=top).code == 0
    return top


def staged(top: Path, files: Mapping[str, str]) -> None:
    write(top, files)
    git(top, "add", *files)


def test_a_commit_that_needs_an_untracked_file_is_refused(repo: Path) -> None:
    write(repo, {"helper.py": HELPER})
    staged(repo, {"pkg/a.py": USES_HELPER})
    done = commit(repo)
    assert done.returncode == 1, done.stderr
    assert (repo / "helper.py").read_text() == HELPER
    git(repo, "add", "helper.py")
    done = commit(repo)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "quick", [pytest.param(False, marks=pytest.mark.thorough), True], ids=["first run", "quick run"]
)
def test_a_commit_that_needs_untracked_data_is_refused(repo: Path, quick: bool) -> None:
    """Data is no Python: the quick way must not take the tests' word on it either."""
    if quick:
        staged(repo, {"pkg/a.py": EDITED})
        assert commit(repo).returncode == 0
        assert (repo / ".git/coderefine/hook/ticket").exists()
    reads = "from pathlib import Path\n\n\ndef add(a, b):\n    return a + b + int(Path('zero.txt').read_text())\n"
    write(repo, {"zero.txt": "0"})
    staged(repo, {"pkg/a.py": reads})
    assert commit(repo).returncode == 1
    git(repo, "add", "zero.txt")
    done = commit(repo)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_an_untracked_package_leaves_no_empty_package_behind(repo: Path) -> None:
    """A folder without files would still be importable, as a namespace."""
    write(repo, {"extra/__init__.py": "", "extra/__pycache__/x.cpython-311.pyc": ""})
    staged(
        repo, {"pkg/a.py": f'"""Adding."""\n\nimport extra\n\nNAME = extra.__name__\n{EDITED.partition(chr(10))[2]}'}
    )
    done = commit(repo)
    assert done.returncode == 1, done.stderr


def test_an_untracked_test_is_not_run(repo: Path) -> None:
    write(repo, {"tests/test_mine.py": "from pkg.a import add\n\n\ndef test_mine():\n    assert add(1, 1) == 5\n"})
    staged(repo, {"pkg/a.py": EDITED})
    done = commit(repo)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_test_whose_import_is_only_staged_is_run(repo: Path) -> None:
    """What a test imports is read from what is staged, not from what lies in the tree."""
    staged(repo, {"pkg/a.py": WRONG, "tests/test_b.py": FILES["tests/test_a.py"]})
    git(repo, "rm", "-q", "--cached", "tests/test_a.py")
    write(repo, {"tests/test_b.py": FILES["tests/test_b.py"]})
    assert commit(repo).returncode == 1


def test_ignored_build_products_and_environments_stay(repo: Path) -> None:
    products = {
        "pkg/_version.py": "version = '1'\n",
        "env/pyvenv.cfg": "",
        "env/lib.txt": "1",
        "pkg.egg-info/PKG-INFO": "1",
    }
    write(repo, {".gitignore": FILES[".gitignore"] + "_version.py\n", **products})
    git(repo, "add", ".gitignore")
    git(repo, "commit", "-qm", "ignore", "--no-verify")
    needs = "from pathlib import Path\n\nfrom pkg._version import version\n\n\ndef add(a, b):\n    " + (
        "assert version == Path('env/lib.txt').read_text() == Path('pkg.egg-info/PKG-INFO').read_text()\n"
        "    return a + b\n"
    )
    staged(repo, {"pkg/a.py": needs})
    done = commit(repo)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_a_staged_file_is_judged_as_a_checkout_would_have_it(repo: Path) -> None:
    """Line ends are converted on the way out of the index, so the test that counts bytes counts those."""
    git(repo, "config", "core.autocrlf", "true")
    counts = "from pathlib import Path\n\nfrom pkg.a import add\n\n\ndef test_size():\n    assert add(1, 2) == 3\n" + (
        "    assert Path('data.txt').read_bytes() == b'a\\r\\nb\\r\\n'\n"
    )
    git(repo, "config", "core.safecrlf", "false")
    staged(repo, {"data.txt": "a\r\nb\r\n", "tests/test_a.py": counts, "pkg/a.py": EDITED})
    write(repo, {"data.txt": "dirty\r\n"})
    done = commit(repo)
    assert done.returncode == 0, done.stdout + done.stderr


# -- what is pushed ---------------------------------------------------------------------------------------


@pytest.fixture
def pushed(repo: Path, tmp_path: Path) -> Path:
    """With a remote that has main, a branch `feature` that is wrong, and main checked out."""
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    git(repo, "push", "-q", "--no-verify", "origin", "main")
    git(repo, "checkout", "-q", "-b", "feature")
    write(repo, {"pkg/a.py": WRONG})
    git(repo, "commit", "-qam", "wrong", "--no-verify")
    git(repo, "checkout", "-q", "main")
    return repo


def push(top: Path, *what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(("git", "push", "-q", "origin", *what), cwd=top, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.usefixtures("searching")
def test_a_branch_that_is_not_checked_out_is_judged_when_it_is_pushed(pushed: Path) -> None:
    done = push(pushed, "feature")
    assert done.returncode != 0, done.stderr
    kept = next(line for line in done.stdout.splitlines() if "is not checked out; the patch for it is kept" in line)
    assert (pushed / "pkg/a.py").read_text() == FILES["pkg/a.py"]
    assert git(pushed, "status", "--porcelain") == ""
    git(pushed, "checkout", "-q", "feature")
    git(pushed, "apply", kept.rsplit(" ", 1)[1])
    assert (pushed / "pkg/a.py").read_text() == FILES["pkg/a.py"]


@pytest.mark.thorough
def test_the_second_ref_of_a_push_is_judged_too(pushed: Path) -> None:
    write(pushed, {"pkg/a.py": EDITED})
    git(pushed, "commit", "-qam", "fine", "--no-verify")
    assert push(pushed, "main", "feature").returncode != 0
    assert push(pushed, "main").returncode == 0


def test_wrong_here_and_right_there_is_let_through(pushed: Path) -> None:
    write(pushed, {"pkg/a.py": WRONG})
    git(pushed, "commit", "-qam", "wrong", "--no-verify")
    git(pushed, "branch", "-f", "feature", "HEAD~1")
    git(pushed, "checkout", "-q", "feature")
    write(pushed, {"pkg/a.py": EDITED})
    git(pushed, "commit", "-qam", "fine", "--no-verify")
    git(pushed, "checkout", "-q", "main")
    done = push(pushed, "feature")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_a_new_branch_of_several_commits_is_judged_from_its_base(pushed: Path) -> None:
    """The newest commit alone is harmless: the wrong one below it was never pushed."""
    git(pushed, "checkout", "-q", "feature")
    write(pushed, {"README.md": "x\n"})
    git(pushed, "add", "README.md")
    git(pushed, "commit", "-qm", "harmless", "--no-verify")
    assert push(pushed, "feature").returncode != 0


def test_a_deleted_branch_and_a_tag_of_something_pushed_cost_nothing(pushed: Path) -> None:
    git(pushed, "push", "-q", "--no-verify", "origin", "feature")
    git(pushed, "tag", "v1", "main")
    done = push(pushed, "v1", ":feature")
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_named_by_pre_commit_are_judged(pushed: Path) -> None:
    refs = {"PRE_COMMIT_FROM_REF": git(pushed, "rev-parse", "main"), "PRE_COMMIT_TO_REF": "feature"}
    argv = (sys.executable, "-m", "coderefine", "hook", "run", "--push", "--no-fix")
    done = subprocess.run(argv, cwd=pushed, env={**os.environ, **refs}, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr


FLAGS = ("assume-unchanged", "skip-worktree")


@pytest.mark.parametrize("flag", FLAGS)
def test_an_edited_file_that_git_takes_for_unchanged_does_not_block_commits(repo: Path, flag: str) -> None:
    """With skip-worktree, git refused to write the file's staged content, and the hook ended with exit code 2."""
    git(repo, "update-index", f"--{flag}", "pkg/b.py")
    write(repo, {"pkg/b.py": FILES["pkg/b.py"] + "\n\nLOCAL = 1\n"})
    staged(repo, {"pkg/a.py": EDITED})
    done = commit(repo)
    assert done.returncode == 0, done.stderr
    assert "LOCAL" in (repo / "pkg/b.py").read_text()
